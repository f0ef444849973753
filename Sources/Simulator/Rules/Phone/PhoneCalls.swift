// Events and actions of the phone (relay.md#what-the-phone-sees-v1me).
extension Relay {
    // MARK: Events

    /// The events of the ring after an id, or the whole ring if the id is nil, unknown or evicted.
    package func phoneEvents(after id: UInt64?) -> [PhoneEvent] { phones.events(after: id) }

    /// Events since the last call, if the options keep them.
    package mutating func takeAllPhoneEvents() -> [PhoneEvent] { phones.takeAll() }

    mutating func publish(_ type: String, at now: Moment, _ fields: (inout JSONWriter) -> Void) {
        publish(type, JSONWriter.object(fields), at: now)
    }

    mutating func publish(_ type: String, _ data: [UInt8], at now: Moment) { phones.publish(type, data, at: now) }

    /// Expires everything that is due. Every request calls it, and a server calls it between requests.
    package mutating func tick(at now: Moment) {
        phones.expire(at: now, after: options.ringMilliseconds)
        for (id, reason) in approvals.overdue(at: now) { settle(id, "deny", reason: reason, at: now) }
        forgetDeletedSessions(at: now)
        expireUpdates(at: now)
        tickSockets(at: now)
        tellStanding(at: now)
    }

    // MARK: Actions of the user

    /// The effect of `POST /v1/me/sessions/:id/send`. A missing session is made.
    @discardableResult
    package mutating func userSends(
        text: String, session wanted: String?, thoughtLevel: String? = nil, at now: Moment
    ) -> (session: String, interaction: String, message: String) {
        userSends(UserDraft(text: text, thoughtLevel: thoughtLevel), session: wanted, at: now)
    }

    /// Sends an envelope in base64, with any content, in an existing session: its key must be
    /// there first. `attachments` is a JSON array as in updates.
    @discardableResult
    package mutating func userSends(
        sealedText: String, session: String, under interaction: String? = nil, attachments: String? = nil,
        at now: Moment
    ) -> (session: String, interaction: String, message: String) {
        let draft = UserDraft(sealedText: sealedText, attachments: attachments)
        return userSends(draft, session: session, under: interaction, at: now)
    }

    /// The effect of `POST /v1/me/sessions`.
    package mutating func userStartsSession(title: String? = nil, at now: Moment) -> String {
        startSession(title: title, model: nil, at: now)
    }

    /// Sends a second message under an open interaction, like a relay that puts a quick follow-up into the turn.
    package mutating func userSends(text: String, session: String, under interaction: String, at now: Moment) {
        userSends(UserDraft(text: text), session: session, under: interaction, at: now)
    }

    @discardableResult
    mutating func userSends(
        _ draft: UserDraft, session wanted: String?, under known: String? = nil, at now: Moment
    ) -> (session: String, interaction: String, message: String) {
        let session = wanted.flatMap { chats[$0] == nil ? nil : $0 } ?? openSession(source: nil, at: now)
        let interaction = known ?? identifiers.identifier("int_")
        let message = identifiers.identifier("msg_")
        if known == nil { chats.begin(interaction, in: session, at: now) }
        let content = Pair(plain: draft.text, sealed: draft.sealedText)
        chats.add(
            PhoneMessage(
                id: message, role: .user, interaction: interaction, text: draft.text ?? "",
                sealedText: draft.sealedText, isFinal: true, usage: nil, at: now, attachments: draft.attachments,
                replyTo: draft.replyTo), to: session)
        publish("message_added", at: now) { data in
            data.field("message_id", message)
            data.field("session_id", session)
            data.field("role", "user")
            data.field("interaction_id", interaction)
            content.write("text", to: &data)
            data.field("attachments", json: draft.attachments)
            data.field("reply_to", draft.replyTo)
            data.field("ts", now.milliseconds)
        }
        let model = chats[session]?.model
        queueUpdate("session.message", session: session, interaction: interaction, at: now) { payload in
            payload.object("session") { Self.write(session, model, to: &$0) }
            payload.object("message") { field in
                field.field("id", message)
                content.write("text", to: &field)
                field.field("attachments", json: draft.attachments)
                field.field("thought_level", draft.thoughtLevel)
                field.field("reply_to", draft.replyTo)
            }
        }
        return (session, interaction, message)
    }

    /// Each message names the session's model, with null for the agent's own (relay.md#sessionmessage-the-user-wrote).
    static func write(_ session: String, _ model: String?, to writer: inout JSONWriter) {
        writer.field("id", session)
        if let model { writer.field("model", model) } else { writer.nullField("model") }
    }

    /// `reason` may be one of the relay's own (relay.md#sessioncancelled-the-user-pressed-stop-or-the-session-went).
    package mutating func userStops(
        session: String, interaction: String?, reason: String = "user_aborted", at now: Moment
    ) {
        queueUpdate("session.cancelled", session: session, interaction: interaction, at: now) { payload in
            payload.object("session") { $0.field("id", session) }
            payload.field("interaction_id", interaction)
            payload.field("reason", reason)
        }
    }

    /// False if there is no such approval, or it is decided.
    package mutating func userDecides(approval: String, _ decision: String, at now: Moment) -> Bool {
        userDecides(approval: approval, decision, scope: ApprovalScope(), at: now)
    }

    package mutating func userDecides(
        approval: String, _ decision: String, scope: ApprovalScope, at now: Moment
    ) -> Bool {
        guard let known = approvals[approval], known.decision == nil else { return false }
        settle(approval, decision, scope: scope, reason: nil, at: now)
        return true
    }

    /// Expires the approval: the relay denies it by itself. False if no open approval has this id.
    @discardableResult
    package mutating func endApproval(_ id: String, reason: String? = nil, at now: Moment) -> Bool {
        guard let known = approvals[id], known.decision == nil else { return false }
        settle(id, "deny", reason: reason ?? known.expiryReason, at: now)
        return true
    }

    /// `isOnPhone` is false if the phone never saw the card.
    mutating func settle(
        _ id: String, _ decision: String, scope: ApprovalScope = ApprovalScope(), reason: String?,
        isOnPhone: Bool = true, at now: Moment
    ) {
        guard let approval = approvals.settle(id, decision, reason: reason) else { return }
        if isOnPhone {
            publish("approval_resolved", at: now) { data in
                data.field("approval_id", id)
                data.field("decision", decision)
                data.field("session_id", approval.session)
                data.field("interaction_id", approval.interaction)
                data.field("reason", reason)
            }
        }
        queueUpdate("approval.resolved", session: approval.session, interaction: approval.interaction, at: now) {
            payload in
            payload.field("approval_id", id)
            payload.field("decision", decision)
            payload.field("interaction_id", approval.interaction)
            payload.field("scope", scope.kind)
            payload.field("scope_value", scope.value)
            payload.field("reason", reason)
        }
    }
}
