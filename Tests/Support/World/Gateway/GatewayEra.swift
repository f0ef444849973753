/// The four eras of OpenClaw gateways and their differences (openclaw.md#eras,
/// openclaw.md#version-drift-in-one-table).
package enum GatewayEra: String, Sendable, Hashable, CaseIterable {
    case e1, e2, e3, e4

    package var protocolVersion: Int { isNew ? 4 : 3 }
    /// Whether the era speaks protocol 4.
    var isNew: Bool { self == .e3 || self == .e4 }

    package var version: String {
        switch self {
        case .e1: "2026.3.2"
        case .e2: "2026.4.22"
        case .e3: "2026.7.2"
        case .e4: "2026.10.3"
        }
    }

    /// `features.methods`, which does not list every method (openclaw.md#hello-ok).
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

    /// openclaw.md#which-events-reach-whom, openclaw.md#agent: the streams `item` and `approval` came with E2.
    var hasItems: Bool { self != .e1 }
    /// openclaw.md#agent: results are stripped unless the session is verbose.
    var showsToolResults: Bool { isNew }
    /// openclaw.md#approvals: the run ends, and a follow-up has the rest.
    package var detachesApprovals: Bool { !isNew }
    var approvalLifeMilliseconds: Int { self == .e1 ? 120_000 : 1_800_000 }
    var tickMilliseconds: Int { self == .e4 ? 15_000 : 30_000 }
    /// openclaw.md#seen-on-running-gateways: the gateway drops other files in silence.
    var dropsOtherFiles: Bool { !isNew }
    /// The gateway joins texts of frames that come faster than the pace.
    var coalescesSpeech: Bool { isNew }
    /// Number of runs at work at once. Others wait without a frame.
    var lane: Int { 4 }
    /// A message in a chat with rows is an event when the gateway accepts it, and another when its run begins.
    var tellsAcceptance: Bool { self == .e2 }
    /// openclaw.md#disconnects: key of the row of the message that began the run.
    func key(ofQuestion run: String) -> String? {
        switch self {
        case .e1, .e2: nil
        case .e3: "\(run):user"
        case .e4: run
        }
    }
    /// openclaw.md#chathistory: the history names the running run and its text so far.
    var tellsWhatRuns: Bool { isNew }
    /// openclaw.md#four-different-counters: one counter for all clients, with holes for clients that lack the scope
    /// of an event.
    var countsForAll: Bool { !isNew }
    /// openclaw.md#chathistory: the request chooses the length of rows, and rows have ids.
    var choosesLength: Bool { self != .e1 }
    /// openclaw.md#chathistory: the row of a chat's first question reaches the disk with the first answer.
    var writesFirstQuestionLate: Bool { !isNew }
    /// openclaw.md#device-identity-and-signature: every era knows v2; v3 came with about E2.
    var knowsNewerProof: Bool { self != .e1 }
    /// openclaw.md#chatsend: a text equal to one that runs already starts no second run.
    var joinsEqualTexts: Bool { isNew }
    /// openclaw.md#chat: a delta's text covers the whole run.
    var tellsWholeRun: Bool { self != .e1 }
}
