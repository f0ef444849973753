/// An opaque identifier, in the words of its maker: text to compare and pass on, never to parse.
///
/// `Kind` keeps the compiler from mixing, say, sessions with messages; it has no value of its own.
package struct Identifier<Kind>: Hashable, Sendable, Comparable, CustomStringConvertible {
    package let text: String

    package init(_ text: String) { self.text = text }

    package var description: String { text }

    package static func < (left: Self, right: Self) -> Bool { left.text < right.text }
}

extension Identifier: Codable {
    package init(from decoder: any Decoder) throws { text = try decoder.singleValueContainer().decode(String.self) }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

/// Ids of the relay. They reach terminals, logs, files and sentences that a person may paste into a shell.
package enum RelayName {
    /// 1 to 256 bytes of printable ASCII without spaces and without characters that a shell or a quotation interprets.
    package static func isTaken(_ text: String) -> Bool {
        (1...256).contains(text.utf8.count)
            && text.utf8.allSatisfy { (0x21...0x7E).contains($0) && !refused.contains($0) }
    }

    private static let refused = Set("\"'`$;|&<>\\".utf8)
}

// The kinds are empty on purpose: only the compiler uses them.
package enum RelaySessionKind: Sendable {}
package enum InteractionKind: Sendable {}
package enum MessageKind: Sendable {}
package enum TurnKind: Sendable {}
package enum TaskKind: Sendable {}
package enum ApprovalKind: Sendable {}
package enum QuestionKind: Sendable {}
package enum RunKind: Sendable {}
package enum ToolCallKind: Sendable {}
package enum AgentSessionKind: Sendable {}
package enum RequestKind: Sendable {}
package enum ConnectionKind: Sendable {}
package enum KeyKind: Sendable {}
package enum UpdateKind: Sendable {}
package enum DeviceKind: Sendable {}
package enum SessionKeyKind: Sendable {}

/// A chat on the phone, as the relay names it (`ses_…`).
package typealias SessionID = Identifier<RelaySessionKind>
/// One question and its answer, as the relay names it (`int_…`).
package typealias InteractionID = Identifier<InteractionKind>
/// A bubble, as the relay names it (`msg_…`).
package typealias MessageID = Identifier<MessageKind>
/// One turn of this bridge: the interaction, or a hash where there is none (DESIGN.md#a-runs-journey).
package typealias TurnID = Identifier<TurnKind>
/// A tool card on the phone: the provider's tool-call id, made unique among the turns of the journal.
package typealias TaskID = Identifier<TaskKind>
/// An approval, as the agent names it.
package typealias ApprovalID = Identifier<ApprovalKind>
/// A question that a text or a choice answers, as the agent names it; unique within its agent session.
package typealias QuestionID = Identifier<QuestionKind>
/// One run of the agent, as the agent names it.
package typealias RunID = Identifier<RunKind>
/// One tool call inside a run, as the provider names it.
package typealias ToolCallID = Identifier<ToolCallKind>
/// The agent's own session: OpenClaw's session key, Oppi's session id, pi's one process.
package typealias AgentSession = Identifier<AgentSessionKind>
/// The relay's name for a request, in `X-Request-ID`.
package typealias RequestID = Identifier<RequestKind>
/// A named connection of the configuration: an installation token and an agent.
package typealias ConnectionName = Identifier<ConnectionKind>
/// Key of a call that makes its repetition recognisable: 1 to 64 characters of `[A-Za-z0-9_-]` (relay.md#rules).
package typealias IdempotencyKey = Identifier<KeyKind>
/// An update's id, as the relay names it. Never compared across sockets: relay nodes count apart (relay.md#where-the-sources-disagree).
package typealias UpdateID = Identifier<UpdateKind>
/// A phone, or this bridge, as the relay names it among those that may hold keys (relay.md#devices).
package typealias DeviceID = Identifier<DeviceKind>
/// Distinguishes the keys of a session without revealing them: records may contain it.
package typealias KeyName = Identifier<SessionKeyKind>
