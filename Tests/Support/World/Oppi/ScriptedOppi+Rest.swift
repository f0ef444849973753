package import AgentKit
package import Vocabulary

// REST beside the stream (oppi.md#rest-routes-worth-knowing).
extension ScriptedOppi {
    package func answer(_ request: HTTPRequest) -> WorkResult {
        let isAnswered = time.now >= pagesUntil
        // A page may answer in front of the server, or replace the server's answer.
        guard isAnswered || random.happens(0.5) else { return page() }
        let answer = route(request)
        return isAnswered ? answer : page()
    }

    private func page() -> WorkResult {
        .answered(
            HTTPResponse(
                status: random.pick([200, 404, 500, 502, 503]), body: Array("<html><body>Sorry.</body></html>".utf8)))
    }

    private func route(_ request: HTTPRequest) -> WorkResult {
        guard request.headers.contains(HTTPHeader("Authorization", "Bearer \(Self.token)")) else {
            return Self.reply(401, ["error": "Unauthorized"])
        }
        let parts = request.url.split(separator: "?", maxSplits: 1)
        let path = parts[0].split(separator: "/").dropFirst(2).map(String.init)
        let query = parts.count > 1 ? parts[1].split(separator: "&").map(String.init) : []
        switch (request.method, path.count) {
        case ("GET", 2) where path == ["server", "info"]:
            let uptime = (time.now - startedAt).nanoseconds / 1_000_000_000
            return Self.reply(200, ["name": "shed", "version": "0.9.1", "uptime": .integer(Int(uptime))])
        case ("GET", 1) where path == ["workspaces"]:
            return Self.reply(200, ["workspaces": [["id": "w1", "name": "garden"]]])
        case ("GET", 2) where path == ["permissions", "pending"]:
            let pending = permissions.keys.sorted().compactMap { permissions[$0]?.frame }
            return Self.reply(200, ["pending": .array(pending), "serverTime": .integer(Int(wallMilliseconds))])
        case ("POST", 3) where path == ["workspaces", "w1", "sessions"]:
            return Self.reply(201, ["session": makeSession().value])
        case ("GET", 3) where path == ["workspaces", "w1", "sessions"]:
            let listed = GatewayValue.array(sessions.map { $0.saved(at: time.now) })
            return Self.reply(200, ["sessions": listed, "workspace": ["id": "w1", "name": "garden"]])
        case ("POST", 5) where path[0] == "workspaces" && path[2] == "sessions" && path[4] == "stop":
            guard let session = session(path[3]) else { return Self.reply(404, ["error": "Session not found"]) }
            stopsSession(session)
            return Self.reply(200, ["session": session.value])
        case ("GET", 4...5) where path[0] == "workspaces" && path[2] == "sessions":
            guard let session = session(path[3]), path[1] == "w1" else {
                return Self.reply(404, ["error": "Session not found"])
            }
            if path.count == 5, path[4] == "events" { return events(of: session, query) }
            if path.count == 4 { return trace(of: session, query) }
        default: break
        }
        breaches.append("\(request.method) \(request.url)")
        return Self.reply(404, ["error": "Not found"])
    }

    private func events(of session: OppiSession, _ query: [String]) -> WorkResult {
        let given = query.first { $0.hasPrefix("since=") }.map { Int($0.dropFirst(6)) ?? -1 } ?? 0
        guard given >= 0 else { return Self.reply(400, ["error": "since must be a non-negative integer"]) }
        guard let activation = session.activation else { return Self.reply(404, ["error": "Session not active"]) }
        let missed = activation.missed(since: given)
        return Self.reply(
            200,
            [
                "events": .array(missed ?? []), "currentSeq": .integer(activation.sequence), "session": session.value,
                "catchUpComplete": .flag(missed != nil),
            ])
    }

    /// Without `view=full` a trace begins behind the last compaction. No compaction here writes one.
    private func trace(of session: OppiSession, _ query: [String]) -> WorkResult {
        if !query.contains("view=full") { breaches.append("a trace that is not full") }
        return Self.reply(200, ["session": session.saved(at: time.now), "trace": .array(session.rows)])
    }

    private static func reply(_ status: Int, _ body: GatewayValue) -> WorkResult {
        var bytes = body.bytes
        // Leaves room for a parser that reads beyond the end.
        bytes.reserveCapacity(bytes.count + 64)
        return .answered(HTTPResponse(status: status, body: bytes))
    }
}
