import Vocabulary

/// Faults of `PlantedFault` on the way between the bridge and one agent's far side, where a frame decides by what was said before it.
/// Whatever carries frames passes them through here; without a fault each one stays as it is.
final class AgentEdge {
    #if PLANTED_FAULTS
        /// The text of our newest prompt in each session; `""`: the session is not named.
        private var prompts: [String: String] = [:]
        /// The session that our newest prompt names.
        private var promptedSession: String?
        /// The values of options, by their labels.
        private var values: [String: String] = [:]
        /// The newest word of the scheduler that a job begins.
        private var jobBegins: [UInt8]?
        /// Codex's turns that our requests began, and how many requests are not answered.
        private var ownTurns: Set<String> = []
        private var openTurnRequests: Set<String> = []
        /// Programs that have not taken their prompt.
        private var untaken: Set<Int> = []
    #endif

    /// A frame of the agent's on its way to the bridge, and what the bridge hears in its place.
    func toBridge(_ frame: [UInt8], on line: DoubleLine? = nil) -> [[UInt8]] {
        #if PLANTED_FAULTS
            guard let fault = PlantedFault.planted else { return [frame] }
            let text = String(decoding: frame, as: UTF8.self)
            switch fault {
            case .foreignRunAdopted: return [bytes(asOurs(text))]
            case .privateRunTaken: return scheduled(text).map { bytes($0) }
            case .strangersPermission: return [bytes(asOfOurSession(text))]
            case .summaryShown: return [bytes(Self.showingSummary(text))]
            case .busyThreadSteered: return isOfForeignTurn(text) ? [] : [frame]
            case .answeredByValue: learnOptions(text)
            case .compactingKilled:
                if let line, text.contains(#""command":"prompt""#) { untaken.remove(line.number) }
            default: break
            }
        #endif
        return [EdgeFaults.fromAgent(frame)]
    }

    /// A frame of the bridge's on its way to the agent, and what the agent hears in its place.
    func toAgent(_ frame: [UInt8]) -> [[UInt8]] {
        #if PLANTED_FAULTS
            guard let fault = PlantedFault.planted else { return [frame] }
            let text = String(decoding: frame, as: UTF8.self)
            switch fault {
            case .foreignRunAdopted where text.contains(#""chat.send""#):
                prompts[text.member("sessionKey") ?? ""] = text.member("message")
            case .strangersPermission where text.contains(#""type":"prompt""#):
                promptedSession = text.member("sessionId")
            case .busyThreadSteered where text.contains(#""turn/start""#):
                if let id = text.number("id") { openTurnRequests.insert(id) }
            case .answeredByValue where text.contains(#""extension_ui_response""#):
                var text = text
                for (label, value) in values { text.replace(label, with: value) }
                return [bytes(text)]
            default: break
            }
        #endif
        return [EdgeFaults.toAgent(frame)]
    }

    /// A prompt of pi's leaves, which its program has not taken.
    func asksToRun(_ frame: [UInt8], on line: DoubleLine) -> Bool {
        #if PLANTED_FAULTS
            let isPrompt = String(decoding: frame, as: UTF8.self).contains(#""type":"prompt""#)
            if isPrompt { untaken.insert(line.number) }
            return isPrompt
        #else
            return false
        #endif
    }

    func isUntaken(on line: DoubleLine) -> Bool {
        #if PLANTED_FAULTS
            untaken.contains(line.number)
        #else
            false
        #endif
    }

    #if PLANTED_FAULTS
        private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

        /// A user's row without a key of ours takes the words of our newest prompt.
        private func asOurs(_ text: String) -> String {
            guard text.contains(#""event":"session.message""#), text.contains(#""role":"user""#),
                let ours = prompts[text.member("sessionKey") ?? ""],
                let theirs = text.member("content") ?? text.member("text")
            else { return text }
            var text = text
            text.replace("\"\(theirs)\"", with: "\"\(ours)\"")
            return text
        }

        /// Before each run of the job's session, the scheduler says that the job begins.
        private func scheduled(_ text: String) -> [String] {
            if text.contains(#""event":"cron""#) {
                jobBegins = text.contains(#""action":"started""#) ? bytes(text) : nil
                return [text]
            }
            guard let jobBegins, text.contains(#""phase":"start""#), text.contains(":cron:") else { return [text] }
            return [String(decoding: jobBegins, as: UTF8.self), text]
        }

        /// A server asks in our session what it asks of the owner of any other.
        private func asOfOurSession(_ text: String) -> String {
            guard text.contains(#""permission_request""#), let session = promptedSession,
                let named = text.member("sessionId")
            else { return text }
            var text = text
            text.replace("\"sessionId\":\"\(named)\"", with: "\"sessionId\":\"\(session)\"")
            return text
        }

        /// All that an ask would give its tool is the server's summary.
        static func showingSummary(_ text: String) -> String {
            let type = #""type":"permission_request""#
            var asks = text.split(separator: type, omittingEmptySubsequences: false).map { String($0) }
            for index in asks.indices.dropFirst() {
                guard let summary = asks[index].member("displaySummary"),
                    let begin = asks[index].firstRange(of: #""input":"#)?.upperBound,
                    let end = asks[index].firstRange(of: #","displaySummary""#)?.lowerBound, begin < end
                else { continue }
                asks[index].replaceSubrange(begin..<end, with: "{\"command\":\"\(summary)\"}")
            }
            return asks.joined(separator: type)
        }

        private func learnOptions(_ text: String) {
            for option in text.split(separator: "{") {
                guard let value = option.member("value"), let label = option.member("label") else { continue }
                values[label] = value
            }
        }

        /// A turn in the thread that no request of ours began is never heard.
        private func isOfForeignTurn(_ text: String) -> Bool {
            if let id = text.number("id"), !text.contains(#""method":"#), openTurnRequests.remove(id) != nil,
                let turn = text.firstRange(of: #""turn":"#).flatMap({ text[$0.upperBound...].member("id") })
            {
                ownTurns.insert(turn)
                return false
            }
            guard text.contains(#""method":"turn/"#) || text.contains(#""method":"item/"#), openTurnRequests.isEmpty
            else { return false }
            let turn =
                text.member("turnId")
                ?? text.firstRange(of: #""turn":"#).flatMap { text[$0.upperBound...].member("id") }
            return turn.map { !ownTurns.contains($0) } ?? false
        }
    #endif
}

#if PLANTED_FAULTS
    extension StringProtocol {
        /// The first member of that name whose value is a text, as it is written.
        func member(_ name: String) -> String? {
            guard let begin = firstRange(of: "\"\(name)\":\"")?.upperBound else { return nil }
            var isEscaped = false
            let end = self[begin...].firstIndex { character in
                defer { isEscaped = character == "\\" && !isEscaped }
                return character == "\"" && !isEscaped
            }
            return end.map { String(self[begin..<$0]) }
        }

        /// The first member of that name whose value is a number.
        func number(_ name: String) -> String? {
            guard let begin = firstRange(of: "\"\(name)\":")?.upperBound else { return nil }
            let digits = self[begin...].prefix { $0.isNumber }
            return digits.isEmpty ? nil : String(digits)
        }
    }
#endif
