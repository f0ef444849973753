import BridgeCore
import BridgeService
import RelayRules
import Vocabulary
import Worlds

/// Outcomes of messages, by index.
extension LiveWorld {
    func play(seconds: Int64 = 300, atLeast: Duration = .zero) {
        start()
        run(seconds: seconds, atLeast: atLeast)
    }

    private func bubbles(_ index: Int) -> [PhoneMessage] {
        guard self.sent.indices.contains(index) else { return [] }
        return self.relay.sessions.flatMap(\.messages).filter {
            $0.role == .agent && $0.interaction == self.sent[index].interaction
        }
    }

    /// Text of the bubble that answers the message, once it has ended.
    func ends(_ index: Int = 0) -> [String] { bubbles(index).filter(\.isFinal).map(\.text) }
    func streamed(_ index: Int = 0) -> [String] { bubbles(index).map(\.streamed) }

    func outcome(_ index: Int = 0) -> TurnOutcome? {
        for case .turnEnded(_, let turn, let outcome) in events where turn.text == self.sent[index].interaction {
            return outcome
        }
        return nil
    }

    var tasks: [PhoneTask] { self.relay.sessions.flatMap(\.tasks) }
    var asked: Int { self.relay.tally.calls["requestApproval", default: 0] }
    func run(_ index: Int = 0) -> RunID { RunID("sophon-\(self.sent[index].interaction)") }
    func count(_ method: String) -> Int { self.gateway.calls.count { $0 == method } }
    var decisions: Int { count("exec.approval.resolve") + count("approval.resolve") }
    var notes: [String] { events.compactMap { if case .note(_, let words) = $0 { words } else { nil } } }
}
