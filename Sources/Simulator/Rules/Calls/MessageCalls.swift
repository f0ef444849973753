// The messages of `/v1/bridge` (relay.md#sendmessage-whole-reply-or-the-placeholder-of-a-streamed-one, relay.md#sendmessageend).
extension Relay {
    mutating func sendMessage(_ fields: inout Fields, _ body: [UInt8], at now: Moment) throws(Refusal)
        -> [UInt8]
    {
        let session = fields.required("session_id")
        let interaction = fields.optional("interaction_id")
        let text = fields.pair("text", required: true)
        if text.plain == "" {
            fields.mind(.emptyPlaceholder, "text", .tooSmall, "must not be empty", .malformedRequest)
        }
        let attachments = fields.attachments()
        let replyTo = fields.optional("reply_to")
        let usage = fields.json("usage")
        let key = fields.key(required: true)
        try fields.check()
        if let known = try replay(key, "sendMessage", body, at: now) { return known }
        try checkSession(session)
        try checkInteraction(interaction, in: session, at: now)
        if let interaction, chats.interaction(interaction)?.placeholder != nil {
            throw Refusal(
                status: 409, code: "invalid_request", message: "The interaction has a message already.",
                breach: .secondPlaceholder)
        }
        let id = identifiers.identifier("msg_")
        chats.add(
            PhoneMessage(
                id: id, role: .agent, interaction: interaction, text: text.plain ?? "", sealedText: text.sealed,
                isFinal: false, usage: usage, at: now, attachments: attachments, replyTo: replyTo), to: session)
        if let interaction { chats.opened(interaction, by: id) }
        publish("message_added", at: now) { data in
            data.field("message_id", id)
            data.field("session_id", session)
            data.field("role", "agent")
            data.field("interaction_id", interaction)
            text.write("text", to: &data)
            data.field("attachments", json: attachments)
            data.field("reply_to", replyTo)
            data.field("ts", now.milliseconds)
        }
        let result = JSONWriter.object { $0.field("message_id", id) }
        remember(key, "sendMessage", body, result, at: now)
        return result
    }

    mutating func sendMessageDelta(_ fields: inout Fields, _ body: [UInt8], at now: Moment) throws(Refusal)
        -> [UInt8]
    {
        let message = fields.required("message_id")
        let delta = fields.pair("delta", required: true)
        let key = fields.key(required: true)
        try fields.check()
        if let known = try replay(key, "sendMessageDelta", body, at: now) { return known }
        let (place, known) = try openMessage(message, "The delta", at: now)
        chats.stream(delta.plain ?? "", to: place)
        let interaction = known.interaction
        publish("message_delta", at: now) { data in
            data.field("message_id", message)
            data.field("session_id", place.session)
            data.field("interaction_id", interaction)
            delta.write("delta", to: &data)
        }
        remember(key, "sendMessageDelta", body, Array("{}".utf8), at: now)
        return Array("{}".utf8)
    }

    mutating func sendMessageEnd(
        _ fields: inout Fields, _ root: JSONValue, _ body: [UInt8], at now: Moment
    ) throws(Refusal) -> [UInt8] {
        let message = fields.required("message_id")
        let text = fields.pair("text", required: false)
        let usage = fields.json("usage")
        let reason = fields.finishReason()
        let key = fields.key(required: true)
        try fields.check()
        if let known = try replay(key, "sendMessageEnd", body, at: now) { return known }
        var (place, state) = try openMessage(message, "The end", at: now)
        if text.plain == nil, text.sealed == nil {
            note(
                Breach(
                    code: .textMissingAtEnd, sentence: "The end carries no text.", method: "sendMessageEnd",
                    request: "", at: now))
        }
        let interaction = state.interaction
        if let interaction, chats.hasOpenTasks(of: interaction, in: place.session) {
            note(
                Breach(
                    code: .endWithOpenTasks, sentence: "The end of \(interaction) leaves tasks running.",
                    method: "sendMessageEnd", request: "", at: now))
        }
        state.text = text.plain ?? (text.sealed == nil ? state.streamed : "")
        state.sealedText = text.sealed
        state.isFinal = true
        state.usage = usage ?? state.usage
        state.finishReason = reason
        chats.finish(state, at: place, at: now)
        if let interaction { chats.ended(interaction) }
        publish("message_finalized", at: now) { data in
            data.field("message_id", message)
            data.field("session_id", place.session)
            data.field("interaction_id", interaction)
            Pair(plain: state.sealedText == nil ? state.text : nil, sealed: state.sealedText).write("text", to: &data)
            data.field("usage", json: usage)
            data.field("finish_reason", reason)
        }
        remember(key, "sendMessageEnd", body, Array("{}".utf8), at: now)
        return Array("{}".utf8)
    }

    private func openMessage(_ id: String, _ what: String, at now: Moment) throws(Refusal) -> (
        place: Chats.MessagePlace, message: PhoneMessage
    ) {
        guard let place = chats.place(ofMessage: id), let message = chats.message(at: place),
            message.role == .agent
        else { throw .notFound("message_not_found", "The message", breach: .unknownMessage) }
        if let session = chats[place.session] { try checkNotDeleted(session) }
        if message.isFinal {
            throw Refusal(
                status: 409, code: "message_finalized", message: "\(what) came after the end of the message.",
                breach: .messageFinalized)
        }
        if let interaction = message.interaction, let known = chats.interaction(interaction) {
            try checkWindow(known, at: now)
        }
        return (place, message)
    }
}
