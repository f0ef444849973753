import AgentKit
import Vocabulary

/// Faults of `PlantedFault` made at the world's edges: an edge reports something other than the outside said, or
/// passes it on changed.
enum EdgeFaults {
    /// Returns what the bridge hears instead of a frame of the agent.
    static func fromAgent(_ frame: [UInt8]) -> [UInt8] {
        #if PLANTED_FAULTS
            switch PlantedFault.planted {
            case .textFromChat:
                return changed(frame) { $0.replace(#""stream":"assistant""#, with: #""stream":"thinking""#) }
            case .answerNotFound: return changed(frame) { $0.replace(#":user""#, with: #":asked""#) }
            case .errorTakenForEnd:
                return changed(frame) { text in
                    if text.contains(#""event":"sessions.changed""#) {
                        text.replace(#""phase":"error""#, with: #""phase":"end""#)
                    }
                    text.replace(#""stopReason":"error""#, with: #""stopReason":"stop""#)
                }
            // Without the uptime of the gateway's process, the bridge cannot tell which runs belong to it.
            case .livingRunGivenUp: return changed(frame) { $0.replace(#""uptimeMs""#, with: #""uptime""#) }
            // The bridge waits as long as a gateway says that limits attempts.
            case .pairingGivenUp:
                return changed(frame) { text in
                    text.replace(#""PAIRING_REQUIRED""#, with: #""AUTH_RATE_LIMITED""#)
                    text.replace(#""NOT_PAIRED""#, with: #""AUTH_RATE_LIMITED""#)
                    text.replace(#""pairing required"#, with: #""too many failed authentication attempts"#)
                }
            case .helpersAskInTheTurn: return changed(frame) { $0.replace(#""agent_id""#, with: #""helper""#) }
            case .programDropped: return changed(frame) { dropProgram(of: &$0) }
            default: break
            }
        #endif
        return frame
    }

    /// Returns what the agent hears instead of a frame of the bridge.
    static func toAgent(_ frame: [UInt8]) -> [UInt8] {
        #if PLANTED_FAULTS
            // The phone's word for the highest effort of the scripted models.
            if PlantedFault.effortVerbatim.isPlanted {
                return changed(frame) { $0.replace(#""effort":"xhigh""#, with: #""effort":"max""#) }
            }
        #endif
        return frame
    }

    /// Returns what the bridge hears instead of a frame of the relay. `isOfJob` tells chats made for the agent's
    /// scheduler.
    static func fromRelay(_ frame: [UInt8], isOfJob: (String) -> Bool = { _ in false }) -> [UInt8] {
        #if PLANTED_FAULTS
            switch PlantedFault.planted {
            case .reasonIgnored:
                return changed(frame) { text in
                    for reason in WorldPlan.otherReasons { text.replace("\"\(reason)\"", with: #""user_aborted""#) }
                }
            case .scopeWidened: return changed(frame) { $0.replace(#""scope":"#, with: #""extent":"#) }
            case .deletedChatKept:
                return changed(frame) { text in
                    guard let chat = text.member("session_id"), isOfJob(chat) else { return }
                    text.replace(#""session.ended""#, with: #""session.unheard""#)
                }
            case .toolGoesOn:
                return changed(frame) { text in
                    for type in ["cancelled", "timeout"] { text.replace("\"task.\(type)\"", with: #""task.unheard""#) }
                }
            default: break
            }
        #endif
        return frame
    }

    /// Answer of an agent's server to an HTTP request.
    static func fromServer(_ result: WorkResult) -> WorkResult {
        #if PLANTED_FAULTS
            guard PlantedFault.summaryShown.isPlanted, case .answered(var response) = result else { return result }
            response.body = changed(response.body) { $0 = AgentEdge.showingSummary($0) }
            return .answered(response)
        #else
            return result
        #endif
    }

    /// Loses the request that makes room at an agent's server.
    static func isLost(_ request: HTTPRequest) -> Bool {
        #if PLANTED_FAULTS
            PlantedFault.placeKept.isPlanted && request.method == "POST" && request.url.hasSuffix("/stop")
        #else
            false
        #endif
    }

    /// Holds back a call under any token but the one its process began with.
    static func holdsBack(_ request: HTTPRequest, besides token: String) -> Bool {
        #if PLANTED_FAULTS
            PlantedFault.newTokenWithoutLanes.isPlanted
                && request.headers.contains { $0.name == "Authorization" && !$0.value.hasSuffix(token) }
        #else
            false
        #endif
    }

    /// A setting of the connection: every announced device gets keys.
    static var trustsAllDevices: Bool {
        #if PLANTED_FAULTS
            PlantedFault.unpinnedGranted.isPlanted
        #else
            false
        #endif
    }

    /// How long a program may take to accept a prompt, or nil without a limit.
    static var promptLimit: Duration? {
        #if PLANTED_FAULTS
            PlantedFault.compactingKilled.isPlanted ? .seconds(30) : nil
        #else
            nil
        #endif
    }

    /// The relay's answer to a call. `date` is this machine's clock.
    static func answer(_ status: Int, _ headers: [HTTPHeader], _ body: [UInt8], date: HTTPHeader) -> HTTPResponse {
        #if PLANTED_FAULTS
            func word(_ status: Int, _ code: String) -> HTTPResponse {
                let body = #"{"ok":false,"error":{"code":"\#(code)","message":""}}"#
                return HTTPResponse(status: status, headers: headers, body: Array(body.utf8))
            }
            switch PlantedFault.planted {
            case .clockIgnored:
                let others = headers.filter { $0.name.lowercased() != "date" }
                return HTTPResponse(status: status, headers: others + [date], body: body)
            // `invalid_token` stops a connection but ends nothing at the agent.
            case .removalUnheard:
                return HTTPResponse(
                    status: status, headers: headers,
                    body: changed(body) { $0.replace(#""installation_revoked""#, with: #""invalid_token""#) })
            case .pageBelieved where (400..<500).contains(status) && !isRelaysWord(body):
                return word(status, "page")
            default: break
            }
        #endif
        return HTTPResponse(status: status, headers: headers, body: body)
    }

    /// The journal reports a message as durable before it is written.
    static var acknowledgesEarly: Bool {
        #if PLANTED_FAULTS
            PlantedFault.acknowledgedEarly.isPlanted
        #else
            false
        #endif
    }

    /// The journal reports a second message of a turn as already known.
    static var losesSecondMessages: Bool {
        #if PLANTED_FAULTS
            PlantedFault.secondMessageLost.isPlanted
        #else
            false
        #endif
    }

    /// The journal loses this setting.
    static func forgets(_ setting: String) -> Bool {
        #if PLANTED_FAULTS
            PlantedFault.choiceForgotten.isPlanted && setting.hasPrefix("model:")
                || PlantedFault.abortForgotten.isPlanted && setting.hasPrefix("owed:")
        #else
            false
        #endif
    }

    /// A turn's record as the next process reads it.
    static func kept(_ record: [UInt8]) -> [UInt8] {
        #if PLANTED_FAULTS
            if PlantedFault.abortForgotten.isPlanted {
                return changed(record) { $0.replace(#""stopping":true"#, with: #""stopping":false"#) }
            }
        #endif
        return record
    }

    /// The disk keeps files that the bridge drops.
    static var keepsFiles: Bool {
        #if PLANTED_FAULTS
            PlantedFault.filesLeftBehind.isPlanted
        #else
            false
        #endif
    }

    #if PLANTED_FAULTS
        /// Whether the body has the members of the relay's envelope.
        private static func isRelaysWord(_ body: [UInt8]) -> Bool {
            let text = String(decoding: body, as: UTF8.self)
            return text.contains(#""ok":true"#) || text.contains(#""ok":false"#) && text.member("code") != nil
        }

        private static func changed(_ frame: [UInt8], _ change: (inout String) -> Void) -> [UInt8] {
            var text = String(decoding: frame, as: UTF8.self)
            change(&text)
            return Array(text.utf8)
        }

        /// Leaves only the shell's script of each command.
        private static func dropProgram(of text: inout String) {
            let member = #""command":""#
            var pieces = text.split(separator: member, omittingEmptySubsequences: false)
            for index in pieces.indices.dropFirst() {
                let value = pieces[index].prefix { $0 != "\"" }
                guard let script = value.firstRange(of: " -lc ") else { continue }
                pieces[index] = pieces[index][script.upperBound...]
            }
            text = pieces.joined(separator: member)
        }
    #endif
}

#if PLANTED_FAULTS
    extension String {
        mutating func replace(_ words: String, with others: String) {
            self = split(separator: words, omittingEmptySubsequences: false).joined(separator: others)
        }
    }
#endif
