/// The four eras of OpenClaw gateways, and what differs between them (openclaw.md#eras, openclaw.md#version-drift-in-one-table).
package enum GatewayEra: String, Sendable, Hashable, CaseIterable {
    case e1, e2, e3, e4

    package var protocolVersion: Int { isNew ? 4 : 3 }
    /// Protocol 4.
    var isNew: Bool { self == .e3 || self == .e4 }

    package var version: String {
        switch self {
        case .e1: "2026.3.2"
        case .e2: "2026.4.22"
        case .e3: "2026.7.2"
        case .e4: "2026.10.3"
        }
    }

    /// The content of `features.methods`; cautious, so that not every method is listed (openclaw.md#hello-ok).
    package var methods: [String] {
        let first = ["chat.send", "chat.abort", "chat.history", "agent.wait", "exec.approval.resolve"]
        let second =
            first + [
                "sessions.subscribe", "sessions.messages.subscribe", "exec.approval.list", "plugin.approval.list",
                "plugin.approval.resolve",
            ]
        switch self {
        case .e1: return first
        case .e2: return second
        case .e3, .e4:
            return second + ["approval.resolve", "chat.message.get"]
        }
    }

    /// openclaw.md#which-events-reach-whom, openclaw.md#agent: `item` and `approval` streams came with E2.
    var hasItems: Bool { self != .e1 }
    /// openclaw.md#agent: stripped unless the session is verbose.
    var showsToolResults: Bool { isNew }
    /// openclaw.md#approvals: the run ends, and a follow-up has the rest.
    package var detachesApprovals: Bool { !isNew }
    var approvalLifeMilliseconds: Int { self == .e1 ? 120_000 : 1_800_000 }
    var tickMilliseconds: Int { self == .e4 ? 15_000 : 30_000 }
    /// openclaw.md#seen-on-running-gateways: other files are dropped, and nothing says so.
    var dropsOtherFiles: Bool { !isNew }
    /// Texts of frames closer than the pace are put together.
    var coalescesSpeech: Bool { isNew }
    /// Runs at work at once; others wait without a frame.
    var lane: Int { 4 }
    /// A message in a chat that has rows is an event when it is taken, and another when its run begins.
    var tellsAcceptance: Bool { self == .e2 }
    /// openclaw.md#disconnects: with the row of the message that began the run.
    func key(ofQuestion run: String) -> String? {
        switch self {
        case .e1, .e2: nil
        case .e3: "\(run):user"
        case .e4: run
        }
    }
    /// openclaw.md#chathistory: what runs, and what it said so far.
    var tellsWhatRuns: Bool { isNew }
    /// openclaw.md#four-different-counters: one counter for all clients, with holes for those without the scope of an event.
    var countsForAll: Bool { !isNew }
    /// openclaw.md#chathistory: where the length of rows can be chosen, and rows have ids.
    var choosesLength: Bool { self != .e1 }
    /// openclaw.md#chathistory: the row of a chat's first question is on disk with the first answer.
    var writesFirstQuestionLate: Bool { !isNew }
    /// openclaw.md#device-identity-and-signature: v2 is known everywhere, v3 since about E2.
    var knowsNewerProof: Bool { self != .e1 }
    /// openclaw.md#chatsend: the same text that runs already is not begun again.
    var joinsEqualTexts: Bool { isNew }
    /// openclaw.md#chat: what a delta's text covers.
    var tellsWholeRun: Bool { self != .e1 }
}
