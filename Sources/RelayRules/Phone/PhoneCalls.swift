// What the phone sees and does (relay sheet, section 9).
extension Relay {
    // MARK: Events

    /// The events of the ring after an id; nil, unknown or evicted: the whole ring (relay sheet 16.1).
    package func phoneEvents(after id: UInt64?) -> [PhoneEvent] {
        guard let id, id < nextEvent, let first = ring.first, id + 1 >= first.id else {
            return id == lastPhoneEventID ? [] : ring
        }
        return Array(ring.drop { $0.id <= id })
    }

    mutating func publish(_ type: String, at now: Moment, _ fields: (inout JSONWriter) -> Void) {
        publish(type, JSONWriter.object(fields), at: now)
    }

    mutating func publish(_ type: String, _ data: [UInt8], at now: Moment) {
        ring.append(PhoneEvent(id: nextEvent, type: type, data: data, at: now))
        nextEvent += 1
        if ring.count > options.ringEvents { ring.removeFirst(ring.count - options.ringEvents) }
    }

    /// Expires what the time has passed over. Every request does it; a server calls it between requests.
    package mutating func tick(at now: Moment) {
        while let first = ring.first, now.milliseconds(since: first.at) > options.ringMilliseconds {
            ring.removeFirst()
        }
        for id in approvalOrder {
            guard let approval = approvals[id], approval.decision == nil,
                now.milliseconds(since: approval.askedAt) > options.approvalLifetimeMilliseconds
            else { continue }
            settle(id, "deny", reason: "expired", at: now)
        }
        expireUpdates(at: now)
        tickSockets(at: now)
    }

    // MARK: What the user does

    /// What `POST /v1/me/sessions/:id/send` does; a session that does not exist is made.
    package mutating func userSends(
        text: String, session wanted: String?, at now: Moment
    ) -> (session: String, interaction: String, message: String) {
        let session = wanted.flatMap { sessionStates[$0] == nil ? nil : $0 } ?? openSession(source: nil, at: now)
        let interaction = identifiers.identifier("int_")
        let message = identifiers.identifier("msg_")
        interactions[interaction] = Interaction(session: session, since: now)
        add(
            PhoneMessage(
                id: message, role: .user, interaction: interaction, text: text, sealedText: nil, isFinal: true,
                usage: nil,
                at: now), to: session)
        publish("message_added", at: now) { data in
            data.field("message_id", message)
            data.field("session_id", session)
            data.field("role", "user")
            data.field("interaction_id", interaction)
            data.field("text", text)
            data.field("ts", now.milliseconds)
        }
        queueUpdate("session.message", session: session, interaction: interaction, at: now) { payload in
            payload.object("session") { $0.field("id", session) }
            payload.object("message") { field in
                field.field("id", message)
                field.field("text", text)
            }
        }
        return (session, interaction, message)
    }

    package mutating func userStops(session: String, interaction: String?, at now: Moment) {
        queueUpdate("session.cancelled", session: session, interaction: interaction, at: now) { payload in
            payload.object("session") { $0.field("id", session) }
            payload.field("interaction_id", interaction)
            payload.field("reason", "user_aborted")
        }
    }

    /// False when there is no such approval, or it is decided.
    package mutating func userDecides(approval: String, _ decision: String, at now: Moment) -> Bool {
        guard let known = approvals[approval], known.decision == nil else { return false }
        settle(approval, decision, reason: nil, at: now)
        return true
    }

    private mutating func settle(_ id: String, _ decision: String, reason: String?, at now: Moment) {
        guard let approval = approvals[id] else { return }
        approvals[id]?.decision = decision
        publish("approval_resolved", at: now) { data in
            data.field("approval_id", id)
            data.field("decision", decision)
            data.field("session_id", approval.session)
            data.field("interaction_id", approval.interaction)
        }
        queueUpdate("approval.resolved", session: approval.session, interaction: approval.interaction, at: now) {
            payload in
            payload.field("approval_id", id)
            payload.field("decision", decision)
            payload.field("interaction_id", approval.interaction)
            payload.field("reason", reason)
        }
    }

    // MARK: Routes

    mutating func phoneCall(_ target: RequestTarget, _ request: RawRequest, headers: [RawHeader], at now: Moment)
        -> Exchange
    {
        let status: Int
        let body: [UInt8]
        do throws(Refusal) {
            body = Array(#"{"ok":true,"result":"#.utf8) + (try phoneResult(target, request, at: now)) + Array("}".utf8)
            status = 200
        } catch {
            body = error.body
            status = error.status
        }
        return Exchange(response: RawResponse(status: status, headers: headers, body: body), delivery: .normal)
    }

    private mutating func phoneResult(_ target: RequestTarget, _ request: RawRequest, at now: Moment) throws(Refusal)
        -> [UInt8]
    {
        let path = target.segments.dropFirst(2)
        switch (request.method, path.first, path.count) {
        case ("GET", "sessions", 1):
            return JSONWriter.object {
                $0.array("sessions") { list in sessions.forEach { list.element(json: Self.json($0)) } }
            }
        case ("GET", "snapshot", 1):
            return JSONWriter.object { snapshot in
                snapshot.field("ts", now.milliseconds)
                snapshot.array("pending_approvals") { list in pendingApprovals.forEach { list.element(json: $0.data) } }
            }
        case ("GET", "sessions", 3) where path.last == "messages":
            let session = try session(path)
            return JSONWriter.object {
                $0.array("messages") { list in session.messages.forEach { list.element(json: Self.json($0)) } }
            }
        case ("POST", "sessions", 3) where path.last == "send":
            let session = try session(path)
            var fields = try self.fields(of: request)
            let text = fields.required("text", atMost: Fields.textLimit)
            try fields.check()
            let sent = userSends(text: text, session: session.id, at: now)
            return JSONWriter.object { result in
                result.field("interaction_id", sent.interaction)
                result.field("message_id", sent.message)
            }
        case ("POST", "sessions", 3) where path.last == "stop":
            let session = try session(path)
            var fields = try self.fields(of: request)
            let interaction = fields.optional("interaction_id")
            try fields.check()
            userStops(session: session.id, interaction: interaction, at: now)
            return Array("{}".utf8)
        case ("POST", "approvals", 2):
            var fields = try self.fields(of: request)
            let decision = fields.enumeration("decision", ["approve", "approve_always", "deny"], required: true)
            try fields.check()
            guard userDecides(approval: path.last ?? "", decision ?? "deny", at: now) else {
                throw .notFound("approval_not_found", "An open approval of this name", breach: nil)
            }
            return Array("{}".utf8)
        case (_, "sessions", _), (_, "snapshot", _), (_, "approvals", _):
            throw Refusal(
                status: 405, code: "method_not_allowed", message: "This address does not take \(request.method).")
        default: throw Refusal(status: 404, code: "not_found", message: "There is nothing at this address.")
        }
    }

    private func session(_ path: ArraySlice<String>) throws(Refusal) -> PhoneSession {
        guard let session = sessionStates[path[path.startIndex + 1]] else {
            throw .notFound("session_not_found", "The session", breach: nil)
        }
        return session
    }

    private func fields(of request: RawRequest) throws(Refusal) -> Fields {
        if request.body.isEmpty { return Fields(.object([])) }
        do throws(JSONFault) { return Fields(try JSONParser.parse(request.body)) } catch {
            throw Refusal(status: 400, code: "invalid_request", message: "The body is no JSON: \(error).")
        }
    }

    private static func json(_ session: PhoneSession) -> [UInt8] {
        JSONWriter.object { writer in
            writer.field("session_id", session.id)
            writer.field("source", session.source)
            writer.field("created_at", session.createdAt.milliseconds)
            writer.field("messages", Int64(session.messages.count))
        }
    }

    /// A stored message (relay sheet 16.8). Plain text that is not final yet is what was streamed.
    private static func json(_ message: PhoneMessage) -> [UInt8] {
        JSONWriter.object { writer in
            writer.field("message_id", message.id)
            writer.field("role", message.role.rawValue)
            writer.field("interaction_id", message.interaction)
            let text = message.isFinal || message.deltas == 0 ? message.text : message.streamed
            Pair(plain: message.sealedText == nil ? text : nil, sealed: message.sealedText).write("text", to: &writer)
            writer.field("ts", message.at.milliseconds)
            writer.field("usage", json: message.usage)
            writer.field("finish_reason", message.finishReason)
            writer.field("final", message.isFinal)
        }
    }
}
