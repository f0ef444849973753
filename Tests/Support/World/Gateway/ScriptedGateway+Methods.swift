package import Vocabulary

// Methods with their closed schemas and scopes (openclaw.md#scopes, openclaw.md#methods).
extension ScriptedGateway {
    private struct Method {
        var fields: Set<String>
        var required: Set<String> = []
        var scope: String
        var since = GatewayEra.e1
    }

    private static let methods: [String: Method] = [
        "chat.send": Method(
            fields: [
                "sessionKey", "message", "idempotencyKey", "sessionId", "thinking", "deliver", "attachments",
                "timeoutMs",
            ],
            required: ["sessionKey", "message", "idempotencyKey"], scope: "operator.write"),
        "chat.abort": Method(fields: ["sessionKey", "runId"], required: ["sessionKey"], scope: "operator.write"),
        "chat.history": Method(
            fields: ["sessionKey", "limit", "maxChars"], required: ["sessionKey"], scope: "operator.read"),
        "chat.message.get": Method(
            fields: ["sessionKey", "messageId", "maxChars"], required: ["sessionKey", "messageId"],
            scope: "operator.read", since: .e3),
        "agent.wait": Method(fields: ["runId", "timeoutMs"], required: ["runId"], scope: "operator.read"),
        "sessions.subscribe": Method(fields: [], scope: "operator.read", since: .e2),
        "sessions.messages.subscribe": Method(
            fields: ["key"], required: ["key"], scope: "operator.read", since: .e2),
        "sessions.messages.unsubscribe": Method(
            fields: ["key"], required: ["key"], scope: "operator.read", since: .e2),
        "sessions.patch": Method(
            fields: ["key", "model", "thinkingLevel", "fastMode", "verboseLevel", "label"], required: ["key"],
            scope: "operator.write"),
        "exec.approval.list": Method(fields: [], scope: "operator.approvals", since: .e2),
        "plugin.approval.list": Method(fields: [], scope: "operator.approvals", since: .e2),
        "exec.approval.resolve": Method(
            fields: ["id", "decision"], required: ["id", "decision"], scope: "operator.approvals"),
        "plugin.approval.resolve": Method(
            fields: ["id", "decision"], required: ["id", "decision"], scope: "operator.approvals", since: .e2),
        "approval.resolve": Method(
            fields: ["id", "kind", "decision"], required: ["id", "kind", "decision"], scope: "operator.approvals",
            since: .e3),
    ]

    mutating func call(_ id: String, _ method: String, _ params: GatewayValue, at now: Instant) {
        guard let known = Self.methods[method], isOffered(known) else {
            breaches.append("no method \(method) in \(era)")
            return refuse(id, "INVALID_REQUEST", "missing scope: operator.admin")
        }
        if method == "chat.history", !era.choosesLength, params["maxChars"] != nil {
            // A request that left before the first refusal could arrive is no breach.
            if let first = refusedLengthAt, now - first > .milliseconds(100) {
                breaches.append("chat.history with maxChars once more")
            }
            refusedLengthAt = refusedLengthAt ?? now
            return refuse(
                id, "INVALID_REQUEST", "invalid chat.history params: at root: unexpected property 'maxChars'")
        }
        if let name = params.names.first(where: { !known.fields.contains($0) }) {
            breaches.append("\(method) with \(name)")
            return refuse(id, "INVALID_REQUEST", "invalid \(method) params: unexpected property '\(name)'")
        }
        if let name = known.required.sorted().first(where: { params[$0]?.string == nil }) {
            breaches.append("\(method) without \(name)")
            return refuse(id, "INVALID_REQUEST", "invalid \(method) params: must have '\(name)'")
        }
        guard connection?.scopes.contains(known.scope) == true else {
            return refuse(
                id, era.isNew ? "FORBIDDEN" : "INVALID_REQUEST", "missing scope: \(known.scope)",
                details: era.isNew ? ["code": "MISSING_SCOPE", "missingScope": "\(known.scope)"] : nil)
        }
        perform(id, method, params, at: now)
    }

    private func isOffered(_ method: Method) -> Bool {
        let all = GatewayEra.allCases
        return (all.firstIndex(of: era) ?? 0) >= (all.firstIndex(of: method.since) ?? 0)
    }

    private mutating func perform(_ id: String, _ method: String, _ params: GatewayValue, at now: Instant) {
        let session = params["sessionKey"]?.string ?? ""
        note(method, params, at: now)
        switch method {
        case "chat.send": sendChat(id, session, params, at: now)
        case "chat.abort": abort(id, session, params["runId"]?.string, at: now)
        case "chat.history": answer(id, history(of: session, length: params["maxChars"]?.number ?? Self.usualLength))
        case "chat.message.get": answer(id, row(params["messageId"]?.string ?? "", in: session))
        case "agent.wait": wait(id, params["runId"]?.string ?? "", params["timeoutMs"]?.number ?? 30_000, at: now)
        case "sessions.subscribe":
            connection?.followsSessions = true
            answer(id, ["subscribed": true])
            if era == .e3 { broadcast("sessions.changed", ["reason": "cron-bindings-loaded", "ts": wall(now)]) }
        case "sessions.messages.subscribe":
            let key = params["key"]?.string ?? ""
            connection?.followed.insert(key)
            answer(id, ["subscribed": true, "key": "\(key)"])
        case "sessions.messages.unsubscribe":
            connection?.followed.remove(params["key"]?.string ?? "")
            answer(id, ["subscribed": false])
        case "sessions.patch": patchSession(id, params)
        case "exec.approval.list": answer(id, openApprovals(plugins: false, at: now))
        case "plugin.approval.list": answer(id, openApprovals(plugins: true, at: now))
        default:
            let isNewest = method == "approval.resolve"
            resolve(
                id, params["id"]?.string ?? "", params["decision"]?.string ?? "",
                kind: isNewest ? params["kind"]?.string ?? "" : String(method.prefix { $0 != "." }), isNewest: isNewest,
                at: now)
        }
    }

    // MARK: chat.send

    private static let keyLife = Duration.seconds(300)
    private static let stopPhrases: Set = ["/stop", "stop", "abort"]

    private mutating func sendChat(_ id: String, _ session: String, _ params: GatewayValue, at now: Instant) {
        let text = params["message"]?.string ?? ""
        let key = params["idempotencyKey"]?.string ?? ""
        if text.isEmpty { return refuse(id, "INVALID_REQUEST", "message is empty") }
        if Self.stopPhrases.contains(text.lowercased()) {
            return answer(id, ["ok": true, "aborted": false, "runIds": []])
        }
        if let since = keys[key], now - since < Self.keyLife, let run = runs[key] {
            if run.question != text { breaches.append("another text under the key of \(run.question ?? "?")") }
            return answer(id, repeated(run), failure: run)
        }
        if era.joinsEqualTexts,
            let equal = runs.values.first(where: { !$0.isOver && $0.session == session && $0.question == text })
        {
            return answer(id, ["runId": "\(equal.id)", "status": "in_flight"])
        }
        guard takeFiles(key, params) else {
            return refuse(id, "INVALID_REQUEST", "attachments need mimeType, fileName and content")
        }
        let script = scripts[Self.asked(text)] ?? GatewayScript((100, .says("You said: \(text)")), (100, .finishes))
        let started: GatewayValue = [
            "type": "res", "id": "\(id)", "ok": true, "payload": ["runId": "\(key)", "status": "started"],
        ]
        let reply = Errand.answer(started, connection: connection?.number ?? 0)
        if isTaken(session, by: key) {
            schedule(reply, after: script.answersAfter, at: now)
            return waits(key, session, text, script, at: now)
        }
        if !script.speaksFirst { schedule(reply, after: script.answersAfter, at: now) }
        admit(key, session, text, script, owner: connection?.number, at: now)
        if script.speaksFirst { schedule(reply, after: script.answersAfter, at: now) }
    }

    /// The person's own words. The bridge's notes about missing files follow them.
    static func asked(_ text: String) -> String {
        text.split(separator: "\n\n[Not attached: ").first.map { String($0) } ?? text
    }

    /// Limit of a gateway that advertises none.
    private static let fileLimit = 5_000_000

    /// False if an attachment breaks the rules of openclaw.md#chatsend.
    private mutating func takeFiles(_ key: String, _ params: GatewayValue) -> Bool {
        guard let attachments = params["attachments"] else { return true }
        var taken: [GatewayFiles.File] = []
        for file in attachments.elements {
            guard file.names.allSatisfy({ ["type", "mimeType", "fileName", "content"].contains($0) }),
                let name = file["fileName"]?.string, file["mimeType"]?.string?.contains("/") == true,
                let content = file["content"]?.string, !content.isEmpty, content.utf8.count.isMultiple(of: 4),
                content.utf8.count / 4 * 3 <= Self.fileLimit
            else {
                breaches.append("a bad attachment")
                return false
            }
            taken.append(.init(name: name, content: content))
        }
        if era.dropsOtherFiles { taken.removeAll { !Self.isPicture($0.content) } }
        attached.append(
            GatewayFiles(run: key, files: taken, prompt: Self.asked(params["message"]?.string ?? "")))
        return true
    }

    /// The first bytes decide, never the name: PNG, JPEG, GIF, WebP.
    private static func isPicture(_ content: String) -> Bool {
        ["iVBORw0KGg", "/9j/", "R0lGOD", "UklGR"].contains { content.hasPrefix($0) }
    }

    private func repeated(_ run: GatewayRun) -> GatewayValue {
        switch run.state {
        // The agent has not released the run.
        case .aborted where tearingDown.contains(run.id): ["runId": "\(run.id)", "status": "started"]
        case .active, .held, .dead: ["runId": "\(run.id)", "status": "in_flight"]
        case .ended: ["runId": "\(run.id)", "status": "ok"]
        case .aborted where era != .e4: ["runId": "\(run.id)", "status": "ok"]
        case .aborted: ["runId": "\(run.id)", "status": "timeout", "summary": "aborted"]
        case .failed where era != .e4: ["runId": "\(run.id)", "status": "ok"]
        case .failed(let why): ["runId": "\(run.id)", "status": "error", "summary": "\(why)"]
        }
    }

    /// E4 answers the key of a failed run with payload and error (openclaw.md#frames).
    private mutating func answer(_ id: String, _ payload: GatewayValue, failure run: GatewayRun) {
        guard era == .e4, case .failed(let why) = run.state else { return answer(id, payload) }
        send([
            "type": "res", "id": "\(id)", "ok": false, "payload": payload,
            "error": ["code": "UNAVAILABLE", "message": "\(why)"],
        ])
    }

    /// A client of another make prompts. All clients see its run (openclaw.md#which-events-reach-whom).
    package mutating func otherClientSends(
        _ text: String, in session: String, as run: String, at now: Instant
    ) {
        clock = now
        let script = scripts[text] ?? GatewayScript((100, .says("You said: \(text)")), (100, .finishes))
        admit(run, session, text, script, owner: nil, at: now)
    }

    /// The scheduler starts a job with its run.
    package mutating func schedulerRuns(
        _ text: String, job: String, in session: String, as run: String, at now: Instant
    ) {
        clock = now
        tellOfJob(job, "started", in: session, run)
        otherClientSends(text, in: session, as: run, at: now)
        runs[run]?.job = job
    }

    /// A job starts whose run comes later or never.
    package mutating func schedulerStarts(_ job: String, in session: String, at now: Instant) {
        tellOfJob(job, "started", in: session, nil)
    }

    package mutating func schedulerFinishes(_ job: String, in session: String, at now: Instant) {
        tellOfJob(job, "finished", in: session, nil)
    }

    /// The event of a job. E1 leaves the session out, and only E4 names the run (openclaw.md#small-ones).
    func jobEvent(_ job: String, _ action: String, in session: String, _ run: String?) -> GatewayValue {
        (["jobId": "\(job)", "action": "\(action)"] as GatewayValue)
            .with("sessionKey", era == .e1 ? nil : .text(session))
            .with("runId", era == .e4 ? run.map { .text($0) } : nil)
    }

    mutating func tellOfJob(_ job: String, _ action: String, in session: String, _ run: String?) {
        broadcast("cron", jobEvent(job, action, in: session, run))
    }

    mutating func admit(
        _ key: String, _ session: String, _ text: String, _ script: GatewayScript, owner: Int?, at now: Instant
    ) {
        begun[Self.asked(text), default: 0] += 1
        noteBegin(key, session, text, at: now)
        keys[key] = now
        tellAcceptance(text, in: session)
        var run = GatewayRun(
            id: key, session: session, question: text, steps: script.steps[...],
            detaches: era.detachesApprovals || script.detaches)
        run.owner = owner
        run.saysWhenDetached = script.saysWhenDetached
        run.commandTakes = script.commandTakes
        run.notice = script.notice
        run.letsGoAfter = script.letsGoAfter
        if case .saysAside? = script.steps.first?.step { run.isAside = true }
        runs[key] = run
        schedule(.begin(run: key), after: script.steps.first?.after ?? .zero, at: now)
    }

    // MARK: chat.abort, agent.wait

    private mutating func abort(_ id: String, _ session: String, _ name: String?, at now: Instant) {
        // Early gateways abort only runs that a message began.
        let known = runs.values.filter {
            !$0.isOver && $0.session == session && (name == nil || $0.id == name) && (era.isNew || keys[$0.id] != nil)
        }
        if let name, let run = runs[name], run.session != session {
            return refuse(id, "INVALID_REQUEST", "runId does not match sessionKey")
        }
        if known.contains(where: { !mayAbort($0) }) { return refuse(id, "INVALID_REQUEST", "unauthorized") }
        let ended = known.map(\.id).sorted()
        // The frames come before the answer (openclaw.md#chatabort).
        for run in ended { abortRun(run, at: now) }
        answer(id, ["ok": true, "aborted": .flag(!ended.isEmpty), "runIds": .array(ended.map { .text($0) })])
    }

    /// From E3 on the device or the connection must own the run.
    private func mayAbort(_ run: GatewayRun) -> Bool {
        !era.isNew || connection?.hasDevice == true || run.owner == connection?.number
    }

    private mutating func wait(_ id: String, _ name: String, _ limit: Int, at now: Instant) {
        guard let run = runs[name], keys[name] != nil, run.isOver else {
            return schedule(
                .waitEnds(run: name, request: id, connection: connection?.number ?? 0),
                after: .milliseconds(Int64(limit)), at: now)
        }
        if era == .e4, case .failed(let why) = run.state {
            return answer(id, ["runId": "\(name)", "status": "error", "error": "\(why)"])
        }
        answer(id, ["runId": "\(name)", "status": "ok"])
    }
}
