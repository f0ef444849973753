import Vocabulary

/// Faults of `PlantedFault` between the bridge and one agent, for frames whose change depends on earlier ones.
/// Everything that carries frames passes them through here; without a fault they stay as they are.
final class AgentEdge {
    #if PLANTED_FAULTS
        /// Text of the bridge's newest prompt by session, under `""` if it names no session.
        private var prompts: [String: String] = [:]
        /// Session of the bridge's newest prompt.
        private var promptedSession: String?
        /// Values of options, by label.
        private var values: [String: String] = [:]
        /// The scheduler's newest event about the start of a job.
        private var jobBegins: [UInt8]?
        /// Codex's turns that the bridge's requests began, and requests without an answer so far.
        private var ownTurns: Set<String> = []
        private var openTurnRequests: Set<String> = []
        /// Programs that have not accepted their prompt.
        private var untaken: Set<Int> = []
    #endif

    /// Returns what the bridge hears instead of a frame of the agent.
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

    /// Returns what the agent hears instead of a frame of the bridge.
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

    /// Notes a prompt for pi, which its program has not accepted yet. True if the frame is one.
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

        /// Gives a user's row without one of our keys the words of our newest prompt.
        private func asOurs(_ text: String) -> String {
            guard text.contains(#""event":"session.message""#), text.contains(#""role":"user""#),
                let ours = prompts[text.member("sessionKey") ?? ""],
                let theirs = text.member("content") ?? text.member("text")
            else { return text }
            var text = text
            text.replace("\"\(theirs)\"", with: "\"\(ours)\"")
            return text
        }

        /// Announces the job before each run of its session.
        private func scheduled(_ text: String) -> [String] {
            if text.contains(#""event":"cron""#) {
                jobBegins = text.contains(#""action":"started""#) ? bytes(text) : nil
                return [text]
            }
            guard let jobBegins, text.contains(#""phase":"start""#), text.contains(":cron:") else { return [text] }
            return [String(decoding: jobBegins, as: UTF8.self), text]
        }

        /// Moves a permission request of another session into ours.
        private func asOfOurSession(_ text: String) -> String {
            guard text.contains(#""permission_request""#), let session = promptedSession,
                let named = text.member("sessionId")
            else { return text }
            var text = text
            text.replace("\"sessionId\":\"\(named)\"", with: "\"sessionId\":\"\(session)\"")
            return text
        }

        /// Reduces an ask's input to the server's summary.
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

        /// Whether the frame is of a turn that no request of the bridge began. Such frames get lost.
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
        /// The first member of that name with a text value, escapes included.
        func member(_ name: String) -> String? {
            guard let begin = firstRange(of: "\"\(name)\":\"")?.upperBound else { return nil }
            var isEscaped = false
            let end = self[begin...].firstIndex { character in
                defer { isEscaped = character == "\\" && !isEscaped }
                return character == "\"" && !isEscaped
            }
            return end.map { String(self[begin..<$0]) }
        }

        /// The first member of that name with a number value.
        func number(_ name: String) -> String? {
            guard let begin = firstRange(of: "\"\(name)\":")?.upperBound else { return nil }
            let digits = self[begin...].prefix { $0.isNumber }
            return digits.isEmpty ? nil : String(digits)
        }
    }
#endif
