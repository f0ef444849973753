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
        case .e3: "2026.7.1"
        case .e4: "2026.10.3"
        }
    }

    /// The content of `features.methods`; cautious, so that not every method is listed (openclaw.md#hello-ok).
    package var methods: [String] {
        let common = [
            "chat.send", "chat.abort", "chat.history", "agent.wait", "sessions.subscribe",
            "sessions.messages.subscribe", "exec.approval.resolve",
        ]
        switch self {
        case .e1: return common
        case .e2: return common + ["exec.approval.list"]
        case .e3: return common + ["exec.approval.list", "plugin.approval.list", "plugin.approval.resolve"]
        case .e4:
            return common + [
                "exec.approval.list", "plugin.approval.list", "plugin.approval.resolve", "approval.resolve",
                "chat.message.get",
            ]
        }
    }

    /// openclaw.md#which-events-reach-whom, openclaw.md#agent: `item` and `approval` streams came with E2.
    var hasItems: Bool { self != .e1 }
    /// openclaw.md#agent: stripped unless the session is verbose.
    var showsToolResults: Bool { isNew }
    /// openclaw.md#approvals: the run ends, and a follow-up has the rest.
    package var detachesApprovals: Bool { !isNew }
    var approvalLifeMilliseconds: Int { self == .e1 ? 120_000 : 1_800_000 }
    var tickMilliseconds: Int { isNew ? 15_000 : 30_000 }
    /// openclaw.md#disconnects: the key is in the row "where present".
    var keepsKeysWithRows: Bool { isNew }
    /// openclaw.md#device-identity-and-signature: v2 is known everywhere, v3 since about E2.
    var knowsNewerProof: Bool { self != .e1 }
    /// openclaw.md#chatsend: the same text that runs already is not begun again.
    var joinsEqualTexts: Bool { isNew }
    /// openclaw.md#chat: what a delta's text covers.
    var tellsWholeRun: Bool { self != .e1 }
}
