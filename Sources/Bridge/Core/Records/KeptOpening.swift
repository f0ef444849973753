package import Vocabulary

extension TurnOpening: Kept {
    package static let blank = Self(
        id: TurnID(""), session: SessionID(""), interaction: nil, agentSession: AgentSession(""), run: RunID(""),
        message: nil, receivedAt: .zero, windowEnds: .zero)
    package static let fields: [Field<Self>] = [
        Field(always: "turn", \.id), Field(always: "session", \.session), Field("interaction", \.interaction),
        Field(always: "agent_session", \.agentSession), Field(always: "run", \.run), Field("message", \.message),
        Field(always: "received_at", \.receivedAt), Field(always: "window_ends", \.windowEnds),
        Field("sealing", \.sealing, absent: .open), Field("text_ct", \.sealedText), Field("refusal", \.refusal),
        Field("made", \.made), Field("marked", \.isMarked, absent: false),
    ]

    /// The opening for an unsealed record: a sealed message stays in its sealed form alone.
    package var unread: Self {
        var opening = self
        if sealedText != nil { opening.message?.text = "" }
        return opening
    }
}

extension MessageRefusal: KeptWord {
    package var word: String {
        switch self {
        case .unreadable: "unreadable"
        case .cameOpen: "came_open"
        case .cameSealed: "came_sealed"
        }
    }
}

extension RelayMoment: Kept {
    package static let blank = Self(wallMilliseconds: 0, instant: .zero)
    package static let fields: [Field<Self>] = [
        Field(always: "wall_ms", \.wallMilliseconds), Field(always: "instant", \.instant),
    ]
}

/// An unsealed turn has no such object.
extension TurnSealing: Kept {
    package static let blank = Self.sealed(nil)
    package static let fields: [Field<Self>] = [
        Field("key") {
            $0.key
        } read: {
            $0 = .sealed($1)
        },
        Field("key_is_gone") {
            if case .keyGone = $0 { true } else { nil }
        } read: {
            if $1 == true, let key = $0.key { $0 = .keyGone(key) }
        },
    ]
}

extension UserMessage: Kept {
    package static let blank = Self(id: MessageID(""), session: SessionID(""), interaction: nil, text: "")
    package static let fields: [Field<Self>] = [
        Field(always: "message", \.id), Field(always: "session", \.session), Field("interaction", \.interaction),
        Field(always: "text", \.text), Field("attachments", \.attachments, absent: []), Field("model", \.model),
        Field("thought_level", \.thoughtLevel),
    ]
}

extension Attachment: Kept {
    package static let blank = Self()
    package static let fields: [Field<Self>] = [
        Field("url", \.url), Field("key", \.key), Field("mime_type", \.mimeType), Field("name", \.name),
    ]
}

extension MissingFile: Kept {
    package static let blank = Self("", "")
    package static let fields: [Field<Self>] = [Field(always: "name", \.name), Field(always: "problem", \.problem)]
}

extension Usage: Kept {
    package static let blank = Self(inputTokens: 0, outputTokens: 0)
    package static let fields: [Field<Self>] = [
        Field(always: "input_tokens", \.inputTokens), Field(always: "output_tokens", \.outputTokens),
        Field("cost_usd", \.estimatedCostUSD), Field("model", \.model), Field("provider", \.provider),
    ]
}
