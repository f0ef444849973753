// The phone's own routes (relay.md#rest). The app can stop, make a session and choose a
// model, but the documents name no routes for it: those here are ours.
extension Relay {
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
        let path = Array(target.segments.dropFirst(2))
        switch (request.method, path.first, path.count) {
        case ("GET", nil, _): return account()
        case ("GET", "snapshot", 1):
            return JSONWriter.object { snapshot in
                snapshot.field("ts", now.milliseconds)
                snapshot.array("pending_approvals") { list in pendingApprovals.forEach { list.element(json: $0.data) } }
            }
        case (_, "sessions", 1): return try sessionsCall(request, at: now)
        case (_, "sessions", 2): return try sessionCall(try session(path[1]), request, at: now)
        case (_, "sessions", 3): return try sessionCall(try session(path[1]), path[2], request, at: now)
        case ("POST", "approvals", 2): return try decide(path[1], try Fields(body: request.body), at: now)
        case (_, "devices", 1...): return try devicesCall(Array(path.dropFirst()), request, at: now)
        case ("POST", "pairing", 2) where path[1] == "claim":
            return try claimPairing(try Fields(body: request.body), at: now)
        case ("PATCH", "installations", 2):
            return try renameInstallation(path[1], try Fields(body: request.body), at: now)
        case (_, "snapshot", 1), (_, "approvals", 2), (_, "installations", 2), (_, "pairing", 2), (_, nil, _):
            throw Self.notTaken(request)
        default: throw Refusal(status: 404, code: "not_found", message: "There is nothing at this address.")
        }
    }

    static func notTaken(_ request: RawRequest) -> Refusal {
        Refusal(status: 405, code: "method_not_allowed", message: "This address does not take \(request.method).")
    }

    private func session(_ id: String) throws(Refusal) -> PhoneSession {
        guard let session = chats[id] else {
            throw .notFound("session_not_found", "The session", breach: nil)
        }
        guard !session.isDeleted else {
            throw Refusal(status: 410, code: "session_deleted", message: "The session was deleted.")
        }
        return session
    }

    // MARK: Sessions

    private mutating func sessionsCall(_ request: RawRequest, at now: Moment) throws(Refusal) -> [UInt8] {
        switch request.method {
        case "GET":
            return JSONWriter.object { $0.array("sessions") { list in writeSessions(to: &list) } }
        case "POST":
            var fields = try Fields(body: request.body)
            let model = fields.optional("model")
            let title = fields.nullable("title", atMost: 1_024)?.text
            try fields.check()
            let id = startSession(title: title, model: model, at: now)
            return JSONWriter.object { $0.field("session_id", id) }
        default: throw Self.notTaken(request)
        }
    }

    private mutating func sessionCall(_ session: PhoneSession, _ request: RawRequest, at now: Moment) throws(Refusal)
        -> [UInt8]
    {
        switch request.method {
        case "PATCH": try change(session, try Fields(body: request.body), at: now)
        case "DELETE": delete(session, at: now)
        default: throw Self.notTaken(request)
        }
        return Array("{}".utf8)
    }

    private mutating func sessionCall(
        _ session: PhoneSession, _ verb: String, _ request: RawRequest, at now: Moment
    ) throws(Refusal) -> [UInt8] {
        switch (request.method, verb) {
        case ("GET", "messages"):
            return JSONWriter.object {
                $0.array("messages") { list in
                    for message in session.messages {
                        list.element(json: Self.json(message, tasks: session.tasks(of: message)))
                    }
                }
            }
        case ("GET", "files"):
            return JSONWriter.object {
                $0.array("files") { list in
                    for file in chats.files(of: session.id) { list.objectElement(file.describe) }
                }
            }
        case ("POST", "send"):
            let host = request.headers.value(of: "host") ?? ""
            let sent = userSends(
                try Self.draft(try Fields(body: request.body), host: host), session: session.id, at: now)
            return JSONWriter.object { result in
                result.field("interaction_id", sent.interaction)
                result.field("message_id", sent.message)
            }
        case ("POST", "stop"):
            var fields = try Fields(body: request.body)
            let interaction = fields.optional("interaction_id")
            try fields.check()
            userStops(session: session.id, interaction: interaction, at: now)
        case ("POST", "recipients"):
            var fields = try Fields(body: request.body)
            try take(try recipients(&fields, areJudged: false), for: session.id, breach: nil, at: now)
        case ("POST", "archive"): setArchived(session, true, at: now)
        case ("POST", "unarchive"): setArchived(session, false, at: now)
        default: throw Self.notTaken(request)
        }
        return Array("{}".utf8)
    }

    mutating func startSession(title: String?, model: String?, at now: Moment) -> String {
        let id = openSession(source: nil, title: title, at: now)
        chats.choose(model: model, for: id)
        let (installation, user) = (options.installation, options.user)
        queueUpdate("session.started", session: id, interaction: nil, at: now) { payload in
            payload.object("session") { Self.write(id, model, to: &$0) }
            payload.object("installation") { $0.field("id", installation) }
            payload.object("user") { $0.field("id", user) }
        }
        return id
    }

    private mutating func change(_ session: PhoneSession, _ body: Fields, at now: Moment) throws(Refusal) {
        var body = body
        let title = body.nullable("title", atMost: 1_024)
        let model = body.nullable("model", atMost: 256)
        try body.check()
        if let title { chats.name(session.id, title.text, at: now) }
        if let model { userChooses(model: model.text, session: session.id, at: now) }
    }

    /// Chooses a model, or nil for the agent's own.
    package mutating func userChooses(model: String?, session: String, at now: Moment) {
        guard let known = chats[session], model != known.model else { return }
        chats.choose(model: model, for: session)
        queueUpdate("session.model.changed", session: session, interaction: nil, at: now) { payload in
            payload.object("session") { $0.field("id", session) }
            if let model { payload.field("model", model) } else { payload.nullField("model") }
        }
    }

    private mutating func setArchived(_ session: PhoneSession, _ isArchived: Bool, at now: Moment) {
        guard session.isArchived != isArchived else { return }
        chats.setArchived(session.id, isArchived)
        if isArchived { tellEnded(session, at: now) }
    }

    /// Cancels runs, denies open approvals, and answers later writes with 410
    /// (relay.md#sessioncancelled-the-user-pressed-stop-or-the-session-went, relay.md#others,
    /// relay.md#codes).
    private mutating func delete(_ session: PhoneSession, at now: Moment) {
        chats.delete(session.id, at: now)
        for approval in pendingApprovals where approval.session == session.id {
            settle(approval.id, "deny", reason: "session_deleted", at: now)
        }
        queueUpdate("session.cancelled", session: session.id, interaction: nil, at: now) { payload in
            payload.object("session") { $0.field("id", session.id) }
            payload.field("reason", "session_deleted")
        }
        tellEnded(session, at: now)
    }

    private mutating func tellEnded(_ session: PhoneSession, at now: Moment) {
        queueUpdate("session.ended", session: session.id, interaction: nil, at: now) { payload in
            payload.object("session") { $0.field("id", session.id) }
        }
    }

    // MARK: A message

    private static func draft(_ body: Fields, host: String) throws(Refusal) -> UserDraft {
        var body = body
        let text = body.pair("text", required: false, isJudged: false)
        let attachments = attachments(&body, host: host)
        let replyTo = body.nullable("reply_to", atMost: 256)?.text
        let level = body.nullable("thought_level", atMost: 64)?.text
        if let level, !["default", "extended", "max"].contains(level) {
            body.complain("thought_level", .invalidEnumValue, "expected default, extended or max", .malformedRequest)
        }
        if text.plain ?? "" == "", text.sealed == nil, attachments == nil {
            body.complain("text", .tooSmall, "must not be empty without attachments", .malformedRequest)
        }
        try body.check()
        return UserDraft(
            text: text.plain ?? (text.sealed == nil ? "" : nil), sealedText: text.sealed, attachments: attachments,
            replyTo: replyTo, thoughtLevel: level)
    }

    /// The phone names `key`, `mime`, `size` and `name`; the bridge gets a link instead of the size
    /// (relay.md#sessionmessage-the-user-wrote, D16). A `url` in the call is ours: a tester points it at any server of the
    /// bytes.
    private static func attachments(_ body: inout Fields, host: String) -> String? {
        guard let member = body.member("attachments") else { return nil }
        guard case .array(let list) = member, list.count <= 32 else {
            body.complain("attachments", .invalidType, "expected a list of at most 32", .malformedRequest)
            return nil
        }
        var writer = JSONWriter()
        for (index, attachment) in list.enumerated() {
            guard let key = attachment["key"]?.string, let mime = attachment["mime"]?.string,
                let size = attachment["size"]?.integer
            else {
                body.complain("attachments.\(index)", .invalidType, "needs key, mime and size", .malformedRequest)
                continue
            }
            if !(0...26_214_400).contains(size) {
                body.complain("attachments.\(index).size", .tooBig, "at most 25 MB", .oversized)
            }
            writer.objectElement { item in
                item.field("key", key)
                item.field("url", attachment["url"]?.string ?? "http://\(host)/v1/files/\(key)")
                item.field("mime", mime)
                item.field("name", attachment["name"]?.string)
            }
        }
        return list.isEmpty ? nil : "[" + String(decoding: writer.bytes, as: UTF8.self) + "]"
    }

    // MARK: Approvals and the installation

    private mutating func decide(_ approval: String, _ body: Fields, at now: Moment) throws(Refusal) -> [UInt8] {
        var body = body
        let decision = body.enumeration("decision", ["approve", "approve_always", "deny"], required: true)
        let scope = body.enumeration("scope", ["session", "domain", "tool", "all"], required: false)
        let value = body.optional("scope_value")
        try body.check()
        let reach = ApprovalScope(kind: scope, value: value)
        guard let known = approvals[approval] else {
            throw .notFound("approval_not_found", "The approval", breach: nil)
        }
        guard userDecides(approval: approval, decision ?? "deny", scope: reach, at: now) else {
            let end = known.reason.map { "has ended by itself (\($0))" } ?? "is decided"
            throw Refusal(status: 409, code: "approval_resolved", message: "The approval \(end).")
        }
        return Array("{}".utf8)
    }

    private mutating func renameInstallation(_ id: String, _ body: Fields, at now: Moment) throws(Refusal) -> [UInt8] {
        guard id == options.installation else {
            throw .notFound("installation_not_found", "The installation", breach: nil)
        }
        var body = body
        let name = body.nullable("custom_display_name", atMost: 256)
        let emoji = body.nullable("custom_emoji", atMost: 64)
        try body.check()
        if let name { installation.rename(displayName: name.text) }
        if let emoji { installation.rename(emoji: emoji.text) }
        publishInstallation(at: now)
        return Array("{}".utf8)
    }

    private func account() -> [UInt8] {
        JSONWriter.object { account in
            account.object("user") { $0.field("id", options.user) }
            account.array("installations") { list in
                list.objectElement { item in
                    let standing = bridgeStanding
                    item.field("id", options.installation)
                    item.field("installation_id", options.installation)
                    item.field("state", standing.state.rawValue)
                    item.field("is_connected", standing.sockets > 0)
                    item.field("bridge_version", standing.version)
                    item.field("is_revoked", installation.isRevoked)
                    item.field("custom_display_name", installation.names.displayName)
                    item.field("custom_emoji", installation.names.emoji)
                    item.field("connector", installation.connector)
                }
            }
            account.array("sessions") { writeSessions(to: &$0) }
        }
    }

    private func writeSessions(to list: inout JSONWriter) {
        for session in sessions where !session.isDeleted { list.element(json: Self.json(session)) }
    }

    private static func json(_ session: PhoneSession) -> [UInt8] {
        JSONWriter.object { writer in
            writer.field("session_id", session.id)
            writer.field("source", session.source)
            writer.field("title", session.title)
            writer.field("model", session.model)
            writer.field("is_archived", session.isArchived)
            writer.field("archived", session.isArchived)
            writer.field("created_at", session.createdAt.milliseconds)
            writer.field("updated_at", session.updatedAt.milliseconds)
            writer.field("messages", Int64(session.messages.count))
        }
    }

    /// A stored message (relay.md#gaps-and-what-the-emulator-should-do). Plain text before the end is the
    /// streamed text. `deltas` is ours: a message that stands alone without one is complete.
    private static func json(_ message: PhoneMessage, tasks: [PhoneTask]) -> [UInt8] {
        JSONWriter.object { writer in
            writer.field("message_id", message.id)
            writer.field("role", message.role.rawValue)
            writer.field("interaction_id", message.interaction)
            let text = message.isFinal || message.deltas == 0 ? message.text : message.streamed
            Pair(plain: message.sealedText == nil ? text : nil, sealed: message.sealedText).write("text", to: &writer)
            writer.field("attachments", json: message.attachments)
            writer.field("reply_to", message.replyTo)
            writer.field("ts", message.at.milliseconds)
            writer.field("usage", json: message.usage)
            writer.field("finish_reason", message.finishReason)
            writer.field("final", message.isFinal)
            writer.field("deltas", Int64(message.deltas))
            guard !tasks.isEmpty else { return }
            writer.array("tasks") { list in tasks.forEach { list.element(json: Self.json($0)) } }
        }
    }
    /// The fields of the task's events so far; no `status` while it runs. Ours: the app keeps the tools in the
    /// bubble (relay.md#sse-events), and the documents do not say how it gets them back.
    private static func json(_ task: PhoneTask) -> [UInt8] {
        JSONWriter.object { writer in
            writer.field("task_id", task.id)
            writer.field("kind", task.kind)
            writer.field("interaction_id", task.interaction)
            writer.field("status_label", task.label)
            writer.field("args", json: task.arguments)
            if let percent = task.percent { writer.field("progress_percent", Int64(percent)) }
            writer.field("partial_result", json: task.partialResult)
            writer.field("result", json: task.result)
            writer.field("error", task.error)
            for (name, value) in task.sealed.sorted(by: { $0.key < $1.key }) { writer.field(name, value) }
            writer.field("status", task.status)
        }
    }
}

extension PhoneSession {
    /// A run's first agent message has its tasks; the last agent message without an interaction has those without one.
    fileprivate func tasks(of message: PhoneMessage) -> [PhoneTask] {
        guard message.role == .agent, !tasks.isEmpty else { return [] }
        let isOfTheSame = { (other: PhoneMessage) in other.role == .agent && other.interaction == message.interaction }
        let bearer = message.interaction == nil ? messages.last(where: isOfTheSame) : messages.first(where: isOfTheSame)
        guard bearer?.id == message.id else { return [] }
        return tasks.filter { $0.interaction == message.interaction }
    }
}
