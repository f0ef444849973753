// The methods of `/v1/bridge` (relay sheet, section 6). Each gives the JSON of `result`.
extension Relay {
    mutating func bridgeCall(_ target: RequestTarget, _ request: RawRequest, at now: Moment) throws(Refusal) -> [UInt8]
    {
        guard request.method == "POST" else {
            throw Refusal(status: 405, code: "method_not_allowed", message: "Use POST.", breach: .malformedRequest)
        }
        guard request.body.count <= 1_048_576 else {
            throw Refusal(
                status: 413, code: "payload_too_large", message: "A body has at most 1 MB.", breach: .oversized)
        }
        let root: JSONValue
        do throws(JSONFault) { root = try JSONParser.parse(request.body) } catch {
            throw Refusal(
                status: 400, code: "invalid_request", message: "The body is no JSON: \(error).",
                breach: .malformedRequest)
        }
        noteSubject(root)
        var fields = Fields(root)
        let method = target.segments.dropFirst(2).joined(separator: "/")
        switch method {
        case "devices": return try registerDevice(&fields)
        case "notifyToolFile": return try announceFile(&fields)
        case _ where method.hasPrefix("sessions/") && method.hasSuffix("/recipients") && target.segments.count == 5:
            return try addRecipients(target.segments[3], &fields)
        case "sendMessage": return try sendMessage(&fields, request.body, at: now)
        case "sendMessageDelta": return try sendMessageDelta(&fields, request.body, at: now)
        case "sendMessageEnd": return try sendMessageEnd(&fields, root, request.body, at: now)
        case "createTask": return try createTask(&fields, request.body, at: now)
        case "updateTask": return try updateTask(&fields, request.body, at: now)
        case "finishTask": return try finishTask(&fields, request.body, at: now)
        case "requestApproval": return try requestApproval(&fields, request.body, at: now)
        case "getMemory": return try getMemory(&fields)
        case "setMemory": return try setMemory(&fields, at: now)
        case "createSession": return try createSession(&fields, at: now)
        default:
            throw Refusal(
                status: 404, code: "not_found", message: "There is no method \(method).", breach: .unknownRoute)
        }
    }

    // MARK: Idempotency

    /// The remembered result of this key, or a conflict (relay sheet 7.1).
    private mutating func replay(_ key: String?, _ method: String, _ body: [UInt8], at now: Moment) throws(Refusal)
        -> [UInt8]?
    {
        guard let key, let known = keys[key] else { return nil }
        guard now.milliseconds(since: known.at) <= options.keyLifetimeMilliseconds else {
            keys.forget(key)
            return nil
        }
        guard known.method == method, known.body == body else {
            throw .conflict("The key \(key) was used with another body.", breach: .idempotencyConflict)
        }
        tally.replays += 1
        return Self.marked(known.result)
    }

    private mutating func remember(_ key: String?, _ method: String, _ body: [UInt8], _ result: [UInt8], at now: Moment)
    {
        guard let key else { return }
        keys.remember(Remembered(method: method, body: body, result: result, at: now), as: key)
    }

    /// The result with `idempotent: true` beside its members (relay sheet 16.6).
    private static func marked(_ result: [UInt8]) -> [UInt8] {
        let comma = result.count > 2 ? "," : ""
        return Array(result.dropLast()) + Array("\(comma)\"idempotent\":true}".utf8)
    }

    // MARK: Addresses

    func checkSession(_ session: String) throws(Refusal) {
        guard let known = sessionStates[session] else {
            throw .notFound("session_not_found", "The session", breach: .unknownSession)
        }
        try checkNotDeleted(known)
    }

    /// No breach: the bridge may not have heard of it yet.
    private func checkNotDeleted(_ session: PhoneSession) throws(Refusal) {
        guard session.isDeleted else { return }
        throw Refusal(status: 410, code: "session_deleted", message: "The session was deleted.")
    }

    private func checkInteraction(_ interaction: String?, in session: String, at now: Moment) throws(Refusal) {
        guard let interaction else { return }
        guard let known = interactions[interaction], known.session == session else {
            throw .notFound("interaction_not_found", "The interaction", breach: .unknownInteraction)
        }
        try checkWindow(known, at: now)
    }

    private func checkWindow(_ interaction: Interaction, at now: Moment) throws(Refusal) {
        guard now.milliseconds(since: interaction.since) <= options.followUpWindowMilliseconds else {
            throw Refusal(
                status: 410, code: "interaction_expired", message: "The interaction is more than 30 minutes old.",
                breach: .interactionExpired)
        }
    }

    private func checkOpened(_ interaction: String?, _ what: String) throws(Refusal) {
        guard let interaction, let known = interactions[interaction] else { return }
        if known.placeholder == nil {
            throw Refusal(
                status: 409, code: "invalid_request", message: "\(what) came before the placeholder.",
                breach: .writeBeforeOpen)
        }
    }

    // MARK: Messages

    private mutating func sendMessage(_ fields: inout Fields, _ body: [UInt8], at now: Moment) throws(Refusal)
        -> [UInt8]
    {
        let session = fields.required("session_id")
        let interaction = fields.optional("interaction_id")
        let text = fields.pair("text", required: true)
        if options.refusesEmptyPlaceholder, text.plain == "" {
            fields.complain("text", .tooSmall, "must not be empty", .malformedRequest)
        }
        let attachments = fields.attachments()
        let replyTo = fields.optional("reply_to")
        let usage = fields.json("usage")
        let key = fields.key(required: true)
        try fields.check()
        if let known = try replay(key, "sendMessage", body, at: now) { return known }
        try checkSession(session)
        try checkInteraction(interaction, in: session, at: now)
        if let interaction, interactions[interaction]?.placeholder != nil {
            throw Refusal(
                status: 409, code: "invalid_request", message: "The interaction has a message already.",
                breach: .secondPlaceholder)
        }
        let id = identifiers.identifier("msg_")
        add(
            PhoneMessage(
                id: id, role: .agent, interaction: interaction, text: text.plain ?? "", sealedText: text.sealed,
                isFinal: false, usage: usage, at: now, attachments: attachments, replyTo: replyTo), to: session)
        if let interaction { interactions[interaction]?.placeholder = id }
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

    private mutating func sendMessageDelta(_ fields: inout Fields, _ body: [UInt8], at now: Moment) throws(Refusal)
        -> [UInt8]
    {
        let message = fields.required("message_id")
        let delta = fields.pair("delta", required: true)
        let key = fields.key(required: true)
        try fields.check()
        if let known = try replay(key, "sendMessageDelta", body, at: now) { return known }
        let place = try openMessage(message, "The delta", at: now)
        sessionStates[place.session]?.messages[place.index].streamed += delta.plain ?? ""
        sessionStates[place.session]?.messages[place.index].deltas += 1
        let interaction = sessionStates[place.session]?.messages[place.index].interaction
        publish("message_delta", at: now) { data in
            data.field("message_id", message)
            data.field("session_id", place.session)
            data.field("interaction_id", interaction)
            delta.write("delta", to: &data)
        }
        remember(key, "sendMessageDelta", body, Array("{}".utf8), at: now)
        return Array("{}".utf8)
    }

    private mutating func sendMessageEnd(
        _ fields: inout Fields, _ root: JSONValue, _ body: [UInt8], at now: Moment
    ) throws(Refusal) -> [UInt8] {
        let message = fields.required("message_id")
        let text = fields.pair("text", required: false)
        let usage = fields.json("usage")
        let reason = fields.enumeration(
            "finish_reason", ["stop", "length", "content_filter", "tool_call"], required: false)
        let key = fields.key(required: true)
        try fields.check()
        if let known = try replay(key, "sendMessageEnd", body, at: now) { return known }
        let place = try openMessage(message, "The end", at: now)
        if text.plain == nil, text.sealed == nil {
            note(
                Breach(
                    code: .textMissingAtEnd, sentence: "The end carries no text.", method: "sendMessageEnd",
                    request: "", at: now))
        }
        guard var state = sessionStates[place.session]?.messages[place.index] else { return [] }
        let interaction = state.interaction
        if let interaction, hasOpenTasks(of: interaction, in: place.session) {
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
        sessionStates[place.session]?.messages[place.index] = state
        sessionStates[place.session]?.updatedAt = now
        if let interaction { interactions[interaction]?.ended = true }
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
        session: String, index: Int
    ) {
        guard let place = messagePlaces[id], let message = sessionStates[place.session]?.messages[place.index],
            message.role == .agent
        else { throw .notFound("message_not_found", "The message", breach: .unknownMessage) }
        if let session = sessionStates[place.session] { try checkNotDeleted(session) }
        if message.isFinal {
            throw Refusal(
                status: 409, code: "message_finalized", message: "\(what) came after the end of the message.",
                breach: .messageFinalized)
        }
        if let interaction = message.interaction, let known = interactions[interaction] {
            try checkWindow(known, at: now)
        }
        return place
    }

    mutating func add(_ message: PhoneMessage, to session: String) {
        guard let count = sessionStates[session]?.messages.count else { return }
        sessionStates[session]?.messages.append(message)
        sessionStates[session]?.updatedAt = message.at
        messagePlaces[message.id] = (session, count)
    }

    // MARK: Sessions

    private mutating func createSession(_ fields: inout Fields, at now: Moment) throws(Refusal) -> [UInt8] {
        let source = fields.optional("source", atMost: 64)
        try fields.check()
        let id = openSession(source: source, at: now)
        return JSONWriter.object { $0.field("session_id", id) }
    }

    mutating func openSession(source: String?, title: String? = nil, at now: Moment) -> String {
        let id = identifiers.identifier("ses_")
        sessionOrder.append(id)
        sessionStates[id] = PhoneSession(id: id, source: source, createdAt: now)
        sessionStates[id]?.title = title
        let installation = options.installation
        publish("session_created", at: now) { data in
            data.field("session_id", id)
            data.field("source", source)
            data.field("title", title)
            data.field("installation_id", installation)
        }
        return id
    }
}

// MARK: - Tasks and approvals

extension Relay {
    private func hasOpenTasks(of interaction: String, in session: String) -> Bool {
        sessionStates[session]?.tasks.contains { $0.interaction == interaction && $0.status == nil } ?? false
    }

    private mutating func taskAddress(_ fields: inout Fields) -> (session: String, interaction: String?, task: String) {
        let session = fields.required("session_id")
        let interaction = fields.optional("interaction_id")
        let task = fields.required("task_id", atMost: 1_024)
        if task.unicodeScalars.count > 256 { fields.complain("task_id", .tooBig, "at most 256 characters", .oversized) }
        return (session, interaction, task)
    }

    private mutating func createTask(_ fields: inout Fields, _ body: [UInt8], at now: Moment) throws(Refusal) -> [UInt8]
    {
        let (session, interaction, task) = taskAddress(&fields)
        let kind = fields.required("kind")
        let label = fields.pair("status_label", required: false)
        let arguments = fields.json("args")
        let sealed = fields.optional("args_ct", atMost: 2 * Fields.payloadLimit)
        _ = fields.key(required: false)
        try fields.check()
        let place = "\(session)/\(task)"
        if let known = taskPlaces[place] {
            guard known.created == body else {
                throw .conflict("The task \(task) exists with another body.", breach: .idempotencyConflict)
            }
            tally.replays += 1
            return Array(#"{"idempotent":true}"#.utf8)
        }
        try checkSession(session)
        try checkInteraction(interaction, in: session, at: now)
        try checkOpened(interaction, "The task")
        if let interaction, interactions[interaction]?.ended == true {
            throw Refusal(
                status: 409, code: "message_finalized", message: "The task came after the end.", breach: .taskAfterEnd)
        }
        let index = sessionStates[session]?.tasks.count ?? 0
        taskPlaces[place] = TaskPlace(session: session, index: index, created: body)
        sessionStates[session]?.tasks.append(
            PhoneTask(
                id: task, kind: kind, interaction: interaction, label: label.plain, arguments: arguments,
                sealed: ["status_label_ct": label.sealed, "args_ct": sealed].compactMapValues { $0 }))
        publish("task_created", at: now) { data in
            data.field("task_id", task)
            data.field("session_id", session)
            data.field("interaction_id", interaction)
            data.field("kind", kind)
            label.write("status_label", to: &data)
            data.field("args", json: arguments)
            data.field("args_ct", sealed)
        }
        return Array("{}".utf8)
    }

    private func knownTask(_ session: String, _ task: String) throws(Refusal) -> TaskPlace {
        guard let place = taskPlaces["\(session)/\(task)"] else {
            throw Refusal(status: 404, code: "task_not_found", message: "The task is not known.", breach: .unknownTask)
        }
        return place
    }

    private mutating func keepSealed(_ fields: [String: String?], of place: TaskPlace) {
        let present = fields.compactMapValues { $0 }
        guard !present.isEmpty else { return }
        sessionStates[place.session]?.tasks[place.index].sealed.merge(present) { _, new in new }
    }

    private mutating func updateTask(_ fields: inout Fields, _ body: [UInt8], at now: Moment) throws(Refusal) -> [UInt8]
    {
        let (session, interaction, task) = taskAddress(&fields)
        let label = fields.pair("status_label", required: false)
        let percent = fields.integer("progress_percent", 0...100)
        let partial = fields.json("partial_result")
        let sealed = fields.optional("partial_result_ct", atMost: 2 * Fields.payloadLimit)
        let key = fields.key(required: false)
        try fields.check()
        if let known = try replay(key, "updateTask", body, at: now) { return known }
        try checkSession(session)
        try checkInteraction(interaction, in: session, at: now)
        let place = try knownTask(session, task)
        if place.finished != nil {
            throw Refusal(
                status: 409, code: "invalid_request", message: "The task is finished.", breach: .taskUpdateAfterFinish)
        }
        if let label = label.plain { sessionStates[session]?.tasks[place.index].label = label }
        if let partial { sessionStates[session]?.tasks[place.index].partialResult = partial }
        if let percent { sessionStates[session]?.tasks[place.index].percent = percent }
        keepSealed(["status_label_ct": label.sealed, "partial_result_ct": sealed], of: place)
        publish("task_progress", at: now) { data in
            data.field("task_id", task)
            data.field("session_id", session)
            data.field("interaction_id", interaction)
            label.write("status_label", to: &data)
            if let percent { data.field("progress_percent", Int64(percent)) }
            data.field("partial_result", json: partial)
            data.field("partial_result_ct", sealed)
        }
        remember(key, "updateTask", body, Array("{}".utf8), at: now)
        return Array("{}".utf8)
    }

    private mutating func finishTask(_ fields: inout Fields, _ body: [UInt8], at now: Moment) throws(Refusal) -> [UInt8]
    {
        let (session, interaction, task) = taskAddress(&fields)
        let name = fields.optional("name")
        let status = fields.enumeration("status", ["completed", "failed", "cancelled"], required: true)
        let label = fields.pair("status_label", required: false)
        let error = fields.pair("error", required: false)
        let result = fields.json("result")
        let sealed = fields.optional("result_ct", atMost: 2 * Fields.payloadLimit)
        _ = fields.key(required: false)
        try fields.check()
        try checkSession(session)
        let place = try knownTask(session, task)
        if let finished = place.finished {
            guard finished == body else {
                throw .conflict("The task \(task) is finished already.", breach: .taskFinishedTwice)
            }
            tally.replays += 1
            return Array(#"{"idempotent":true}"#.utf8)
        }
        try checkInteraction(interaction, in: session, at: now)
        taskPlaces["\(session)/\(task)"]?.finished = body
        sessionStates[session]?.tasks[place.index].status = status
        sessionStates[session]?.tasks[place.index].result = result
        sessionStates[session]?.tasks[place.index].error = error.plain
        keepSealed(["status_label_ct": label.sealed, "error_ct": error.sealed, "result_ct": sealed], of: place)
        if let label = label.plain { sessionStates[session]?.tasks[place.index].label = label }
        publish("task_\(status ?? "completed")", at: now) { data in
            data.field("task_id", task)
            data.field("session_id", session)
            data.field("interaction_id", interaction)
            data.field("name", name)
            label.write("status_label", to: &data)
            error.write("error", to: &data)
            data.field("result", json: result)
            data.field("result_ct", sealed)
        }
        return Array("{}".utf8)
    }

    private mutating func requestApproval(_ fields: inout Fields, _ body: [UInt8], at now: Moment) throws(Refusal)
        -> [UInt8]
    {
        let session = fields.required("session_id")
        let interaction = fields.optional("interaction_id")
        let approval = fields.required("approval_id", atMost: 1_024)
        let slug = fields.optional("approval_slug")
        let action = fields.required("action")
        let call = fields.optional("tool_call_id", atMost: 1_024)
        let sealed = fields.optional("details_ct", atMost: 2 * Fields.payloadLimit)
        let title = sealed == nil ? fields.required("title", atMost: 4_096) : nil
        let message = sealed == nil ? fields.optional("message", atMost: Fields.textLimit) : nil
        if sealed == nil, message?.isEmpty ?? true {
            fields.complain("message", .tooSmall, "at least 1 character", .emptyApprovalMessage)
        }
        let severity = fields.enumeration("severity", ["low", "medium", "high", "critical"], required: false)
        let command = fields.optional("command", atMost: Fields.textLimit)
        let host = fields.optional("host", atMost: 4_096)
        let key = fields.key(required: true)
        try fields.check()
        if let known = try replay(key, "requestApproval", body, at: now) { return known }
        if approvals[approval] != nil {
            throw .conflict("The approval \(approval) was asked already.", breach: .approvalAskedTwice)
        }
        try checkSession(session)
        try checkInteraction(interaction, in: session, at: now)
        try checkOpened(interaction, "The approval")
        let data = JSONWriter.object { data in
            data.field("approval_id", approval)
            data.field("session_id", session)
            data.field("interaction_id", interaction)
            data.field("approval_slug", slug)
            data.field("action", action)
            data.field("tool_call_id", call)
            data.field("title", title)
            data.field("severity", severity ?? "medium")
            data.field("command", command)
            data.field("host", host)
            data.field("message", message)
            data.field("details_ct", sealed)
            data.field("ts", now.milliseconds)
        }
        approvals[approval] = PhoneApproval(
            id: approval, session: session, interaction: interaction, title: title ?? "", command: command,
            askedAt: now,
            data: data)
        approvalOrder.append(approval)
        publish("approval_requested", data, at: now)
        remember(key, "requestApproval", body, Array("{}".utf8), at: now)
        return Array("{}".utf8)
    }
}
