// The methods of `/v1/bridge` (relay.md#bridge-rest-methods), with the checks of their keys and addresses. Each returns the JSON of `result`.
extension Relay {
    /// First path segments of the methods.
    private static let methods: Set = [
        "createSession", "createTask", "devices", "finishTask", "getMemory", "notifyToolFile", "requestApproval",
        "sendMessage", "sendMessageDelta", "sendMessageEnd", "sessions", "setMemory", "updateTask",
    ]

    /// Name of a method in the tally: all unknown ones together, since their number is unbounded.
    static func tallyName(of method: String) -> String { methods.contains(method) ? method : "unknown" }

    mutating func bridgeCall(_ target: RequestTarget, _ request: RawRequest, at now: Moment) throws(Refusal) -> (
        result: [UInt8], warnings: [WarningCode]
    ) {
        guard request.method == "POST" else {
            throw Refusal(status: 405, code: "method_not_allowed", message: "Use POST.", breach: .malformedRequest)
        }
        guard request.body.count <= 1_048_576 else {
            throw Refusal(
                status: 413, code: "payload_too_large", message: "A body has at most 1 MB.", breach: .oversized)
        }
        let root: JSONValue
        var hasHalfACharacter = false
        do throws(JSONFault) {
            if options.acceptsSamples {
                let parsed = try JSONParser.parseWithLoneSurrogates(request.body)
                (root, hasHalfACharacter) = (parsed.value, parsed.count > 0)
            } else {
                root = try JSONParser.parse(request.body)
            }
        } catch {
            throw Refusal(
                status: 400, code: "invalid_request", message: "The body is no JSON: \(error).",
                breach: .malformedRequest)
        }
        noteSubject(root)
        var fields = Fields(root, acceptsSamples: options.acceptsSamples)
        let result = try answer(to: target, &fields, root, request.body, at: now)
        return (result, fields.warnings + (hasHalfACharacter ? [.loneSurrogate] : []))
    }

    private mutating func answer(
        to target: RequestTarget, _ fields: inout Fields, _ root: JSONValue, _ body: [UInt8], at now: Moment
    ) throws(Refusal) -> [UInt8] {
        let method = target.segments.dropFirst(2).joined(separator: "/")
        switch method {
        case "devices": return try registerDevice(&fields, at: now)
        case "notifyToolFile": return try announceFile(&fields, at: now)
        case _ where method.hasPrefix("sessions/") && method.hasSuffix("/recipients") && target.segments.count == 5:
            return try addRecipients(target.segments[3], &fields, at: now)
        case "sendMessage": return try sendMessage(&fields, body, at: now)
        case "sendMessageDelta": return try sendMessageDelta(&fields, body, at: now)
        case "sendMessageEnd": return try sendMessageEnd(&fields, root, body, at: now)
        case "createTask": return try createTask(&fields, body, at: now)
        case "updateTask": return try updateTask(&fields, body, at: now)
        case "finishTask": return try finishTask(&fields, body, at: now)
        case "requestApproval": return try requestApproval(&fields, body, at: now)
        case "getMemory": return try getMemory(&fields)
        case "setMemory": return try setMemory(&fields, at: now)
        case "createSession": return try createSession(&fields, at: now)
        default:
            throw Refusal(
                status: 404, code: "not_found", message: "There is no method \(method).", breach: .unknownRoute)
        }
    }

    // MARK: Idempotency

    /// The remembered result of this key. Throws a conflict for another body (relay.md#rules).
    mutating func replay(_ key: String?, _ method: String, _ body: [UInt8], at now: Moment) throws(Refusal)
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
        records.replayed()
        return Self.marked(known.result)
    }

    mutating func remember(_ key: String?, _ method: String, _ body: [UInt8], _ result: [UInt8], at now: Moment) {
        guard let key else { return }
        keys.remember(Remembered(method: method, body: body, result: result, at: now), as: key)
    }

    /// The result with `idempotent: true` beside its members (relay.md#gaps-and-what-the-emulator-should-do).
    private static func marked(_ result: [UInt8]) -> [UInt8] {
        let comma = result.count > 2 ? "," : ""
        return Array(result.dropLast()) + Array("\(comma)\"idempotent\":true}".utf8)
    }

    // MARK: Addresses

    func checkSession(_ session: String) throws(Refusal) {
        guard let known = chats[session] else {
            throw .notFound("session_not_found", "The session", breach: .unknownSession)
        }
        try checkNotDeleted(known)
    }

    /// No breach: the bridge may not have heard of the deletion yet.
    func checkNotDeleted(_ session: PhoneSession) throws(Refusal) {
        guard session.isDeleted else { return }
        throw Refusal(status: 410, code: "session_deleted", message: "The session was deleted.")
    }

    func checkInteraction(_ interaction: String?, in session: String, at now: Moment) throws(Refusal) {
        guard let interaction else { return }
        guard let known = chats.interaction(interaction), known.session == session else {
            throw .notFound("interaction_not_found", "The interaction", breach: .unknownInteraction)
        }
        try checkWindow(known, at: now)
    }

    func checkWindow(_ interaction: Chats.Interaction, at now: Moment) throws(Refusal) {
        guard now.milliseconds(since: interaction.since) <= options.followUpWindowMilliseconds else {
            throw Refusal(
                status: 410, code: "interaction_expired", message: "The interaction is more than 30 minutes old.",
                breach: .interactionExpired)
        }
    }

    func checkOpened(_ interaction: String?, _ what: String) throws(Refusal) {
        guard let interaction, let known = chats.interaction(interaction) else { return }
        if known.placeholder == nil {
            throw Refusal(
                status: 409, code: "invalid_request", message: "\(what) came before the placeholder.",
                breach: .writeBeforeOpen)
        }
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
        var session = PhoneSession(id: id, source: source, createdAt: now)
        session.title = title
        chats.open(session)
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
