import BridgeModel

/// What a turn begins with, as the journal holds it.
package struct StoredOpening: StoredForm {
    var id: TurnID
    var session: SessionID
    var interaction: InteractionID?
    var agentSession: AgentSession
    var run: RunID
    var message: StoredMessage?
    var receivedAt: Instant
    var windowEnds: Instant
    var sealing: StoredSealing?
    var sealedText: String?
    var refusal: StoredRefusal?
    var made: StoredMoment?
    var isMarked: Bool?

    enum CodingKeys: String, CodingKey {
        case id = "turn"
        case session = "session"
        case interaction = "interaction"
        case agentSession = "agent_session"
        case run = "run"
        case message = "message"
        case receivedAt = "received_at"
        case windowEnds = "window_ends"
        case sealing = "sealing"
        case sealedText = "text_ct"
        case refusal = "refusal"
        case made = "made"
        case isMarked = "marked"
    }
}

extension StoredOpening {
    package init(_ opening: TurnOpening) {
        id = opening.id
        session = opening.session
        interaction = opening.interaction
        agentSession = opening.agentSession
        run = opening.run
        message = opening.message.map { StoredMessage($0) }
        receivedAt = opening.receivedAt
        windowEnds = opening.windowEnds
        sealing = opening.sealing.isSealed ? StoredSealing(opening.sealing) : nil
        sealedText = opening.sealedText
        refusal = opening.refusal.map { StoredRefusal($0) }
        made = opening.made.map { StoredMoment($0) }
        isMarked = opening.isMarked ? true : nil
    }

    /// In its readable form: of a sealed message, the sealed form.
    package init(unread opening: TurnOpening) {
        self.init(opening)
        if opening.sealedText != nil { message?.text = "" }
    }

    package var value: TurnOpening {
        var opening = TurnOpening(
            id: id, session: session, interaction: interaction, agentSession: agentSession, run: run,
            message: message?.value, receivedAt: receivedAt, windowEnds: windowEnds, sealing: sealing?.value ?? .open,
            sealedText: sealedText, refusal: refusal?.value, made: made?.value)
        opening.isMarked = isMarked ?? false
        return opening
    }
}

struct StoredMoment: StoredForm {
    var wallMilliseconds: Int64
    var instant: Instant

    enum CodingKeys: String, CodingKey {
        case wallMilliseconds = "wall_ms"
        case instant = "instant"
    }
}

extension StoredMoment {
    init(_ moment: RelayMoment) {
        wallMilliseconds = moment.wallMilliseconds
        instant = moment.instant
    }

    var value: RelayMoment { RelayMoment(wallMilliseconds: wallMilliseconds, instant: instant) }
}

/// Not written for what goes out in the open.
struct StoredSealing: StoredForm {
    /// Nil: it has not come.
    var key: KeyName?
    var keyIsGone: Bool?

    enum CodingKeys: String, CodingKey {
        case key = "key"
        case keyIsGone = "key_is_gone"
    }
}

extension StoredSealing {
    init(_ sealing: TurnSealing) {
        key = sealing.key
        if case .keyGone = sealing { keyIsGone = true }
    }

    var value: TurnSealing {
        if keyIsGone == true, let key { return .keyGone(key) }
        return .sealed(key)
    }
}

struct StoredMessage: StoredForm {
    var id: MessageID
    var session: SessionID
    var interaction: InteractionID?
    var text: String
    var attachments: [StoredAttachment]?
    var model: String?
    var thoughtLevel: String?

    enum CodingKeys: String, CodingKey {
        case id = "message"
        case session = "session"
        case interaction = "interaction"
        case text = "text"
        case attachments = "attachments"
        case model = "model"
        case thoughtLevel = "thought_level"
    }
}

extension StoredMessage {
    init(_ message: UserMessage) {
        id = message.id
        session = message.session
        interaction = message.interaction
        text = message.text
        attachments = message.attachments.isEmpty ? nil : message.attachments.map { StoredAttachment($0) }
        model = message.model
        thoughtLevel = message.thoughtLevel
    }

    var value: UserMessage {
        UserMessage(
            id: id, session: session, interaction: interaction, text: text,
            attachments: attachments?.map(\.value) ?? [], model: model, thoughtLevel: thoughtLevel)
    }
}

struct StoredAttachment: StoredForm {
    var url: String?
    var key: String?
    var mimeType: String?
    var name: String?

    enum CodingKeys: String, CodingKey {
        case url = "url"
        case key = "key"
        case mimeType = "mime_type"
        case name = "name"
    }
}

extension StoredAttachment {
    init(_ attachment: Attachment) {
        url = attachment.url
        key = attachment.key
        mimeType = attachment.mimeType
        name = attachment.name
    }

    var value: Attachment { Attachment(url: url, key: key, mimeType: mimeType, name: name) }
}

struct StoredUsage: StoredForm {
    var inputTokens: Int
    var outputTokens: Int
    var estimatedCostUSD: Double?
    var model: String?
    var provider: String?

    enum CodingKeys: String, CodingKey {
        case inputTokens = "input_tokens"
        case outputTokens = "output_tokens"
        case estimatedCostUSD = "cost_usd"
        case model = "model"
        case provider = "provider"
    }
}

extension StoredUsage {
    init(_ usage: Usage) {
        inputTokens = usage.inputTokens
        outputTokens = usage.outputTokens
        estimatedCostUSD = usage.estimatedCostUSD
        model = usage.model
        provider = usage.provider
    }

    var value: Usage {
        Usage(
            inputTokens: inputTokens, outputTokens: outputTokens, estimatedCostUSD: estimatedCostUSD, model: model,
            provider: provider)
    }
}
