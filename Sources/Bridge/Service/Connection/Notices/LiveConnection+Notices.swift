import AgentKit
package import BridgeCore
import RelayProtocol
package import Vocabulary

// The second channel to the person (`Notices`).
extension LiveConnection {
    /// Applies other settings from the configuration, to waiting notices too.
    package func use(_ settings: NoticeSettings, _ recipient: NoticeRecipient?) {
        notices?.use(settings, recipient, ask { $0.openings } ?? [])
    }

    /// Entries that are stored in one job with the end of the turn.
    func lastEntries(of turn: TurnID, _ outcome: TurnOutcome) -> [JournalEntry] {
        notices?.entries(endingWith: turn, outcome) { chat in ask { $0.workspace(of: chat) } ?? nil } ?? []
    }

    /// The run of this turn gives no sign of life.
    func isStuck(_ turn: TurnID) {
        tell(.stuck(name, turn))
        notices?.isStuck(turn) { chat in ask { $0.workspace(of: chat) } ?? nil }
    }

    /// Notes a Stop or a decision as an act of the person. A message counts when its turn begins.
    func noteAct(_ update: RelayUpdate, made: RelayMoment?) {
        guard let notices, notices.isOn else { return }
        let chat: SessionID?
        switch update.payload {
        case .stop(.userAborted):
            chat = update.session ?? update.interaction.flatMap { name in ask { $0.chat(of: name) } ?? nil }
        case .approval(let approval, _, let details):
            // A decision with a reason is the relay's.
            guard details.reason == nil else { return }
            chat = ask { $0.chat(ofCard: approval) } ?? nil
        default: return
        }
        if let chat { notices.personActed(in: chat, at: made?.instant ?? update.receivedAt) }
    }
}

extension LiveNotices {
    /// Nil if the parts have no notices.
    convenience init?(
        _ parts: LiveConnection.Parts, _ keys: LiveKeys?, _ tell: @escaping @Sendable (LiveEvent) -> Void,
        runner: @escaping @Sendable () -> BridgeRunner?
    ) {
        guard let notices = parts.notices else { return nil }
        let sources = Sources(
            journal: parts.journal, clock: parts.runner.clock,
            matters: { runner()?.ask { $0.waitingMatters() } ?? [] },
            isSealed: { keys?.hidesWords(of: $0) ?? false }, tell: tell)
        self.init(notices, of: parts.name, sources)
    }
}

extension Observation {
    /// True if something may have begun or ceased to wait for a person.
    var concernsAsks: Bool {
        guard case .signal(let signal) = self else { return false }
        return switch signal.event {
        case .approvalRequested, .approvalSettled, .asked, .questionSettled: true
        case .started, .text, .tool, .paused, .retrying, .alive, .finished, .failed: false
        }
    }
}
