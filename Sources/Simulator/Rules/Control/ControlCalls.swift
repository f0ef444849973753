// A tester's orders over HTTP: updates and requests to the bridge, faults of the socket, tokens. The
// server of the sockets admits only this machine with the user's token.
extension Relay {
    package static let controlRoutes =
        [
            "POST /v1/simulator/updates", "POST /v1/simulator/requests", "GET /v1/simulator/requests/:id",
            "GET /v1/simulator/socket", "POST /v1/simulator/socket/faults", "DELETE /v1/simulator/socket/faults",
            "POST /v1/simulator/socket/close", "POST /v1/simulator/socket/drop", "POST /v1/simulator/socket/silence",
            "POST /v1/simulator/socket/half-open", "POST /v1/simulator/revoke",
            "POST /v1/simulator/pairing", "POST /v1/simulator/phones/away", "POST /v1/simulator/restart",
            "POST /v1/simulator/approvals/expire",
        ] + faultRoutes

    /// Nil if there is no such route here.
    package mutating func controlCall(_ request: RawRequest, at now: Moment) -> RawResponse? {
        tick(at: now)
        let headers = [RawHeader("Content-Type", "application/json")]
        let path = RequestTarget(request.target).segments.dropFirst(2)
        do throws(Refusal) {
            guard let result = try controlResult(Array(path), request, at: now) else { return nil }
            let body = Array(#"{"ok":true,"result":"#.utf8) + result + Array("}".utf8)
            return RawResponse(status: 200, headers: headers, body: body)
        } catch {
            return RawResponse(status: error.status, headers: headers, body: error.body)
        }
    }

    private mutating func controlResult(_ path: [String], _ request: RawRequest, at now: Moment) throws(Refusal)
        -> [UInt8]?
    {
        switch (request.method, path) {
        case ("GET", ["faults"]): return faultsAsJSON()
        case ("POST", ["faults"]): return try orderFault(request.body)
        case ("DELETE", ["faults"]): forgetAllFaults(at: now)
        case ("POST", ["updates"]): return try orderUpdate(try Fields(body: request.body), at: now)
        case ("POST", ["requests"]): return try orderRequest(try Fields(body: request.body))
        case ("GET", ["socket"]): return socketsAsJSON()
        case ("POST", ["socket", "faults"]): try orderSocketFault(try Fields(body: request.body))
        case ("DELETE", ["socket", "faults"]):
            forgetSocketFaults()
            queueHeldGrants(at: now)
        case ("POST", ["socket", "close"]): try orderClose(try Fields(body: request.body))
        case ("POST", ["socket", "drop"]): cutSockets()
        case ("POST", ["socket", "silence"]): silenceSockets(halfOpen: false)
        case ("POST", ["socket", "half-open"]): silenceSockets(halfOpen: true)
        case ("POST", ["phones", "away"]): losePhones()
        case ("POST", ["approvals", "expire"]): return try orderExpiry(try Fields(body: request.body), at: now)
        case ("POST", ["restart"]): try orderRestart(try Fields(body: request.body))
        case ("POST", ["pairing"]): return try makePairingOnPhone(try Fields(body: request.body), at: now)
        case ("POST", ["revoke"]): try orderRevocation(try Fields(body: request.body), at: now)
        case ("GET", let path) where path.count == 2 && path[0] == "requests": return try requestAsJSON(path[1])
        default: return nil
        }
        return Array("{}".utf8)
    }

    // MARK: Updates and requests

    /// Any update of relay.md#updates-relay-to-bridge, with any payload.
    private mutating func orderUpdate(_ order: Fields, at now: Moment) throws(Refusal) -> [UInt8] {
        var order = order
        let type = order.required("type", atMost: 64)
        let session = order.optional("session_id")
        let interaction = order.optional("interaction_id")
        let payload = order.json("payload") ?? "{}"
        try order.check()
        let id = pushUpdate(
            type: type, session: session, interaction: interaction, payload: Array(payload.utf8), at: now)
        return JSONWriter.object { $0.field("update_id", id) }
    }

    private mutating func orderRequest(_ order: Fields) throws(Refusal) -> [UInt8] {
        var order = order
        let type = order.optional("type", atMost: 64)
        _ = order.json("fields")
        try order.check()
        guard let id = ask(type: type, fields: order.member("fields") ?? .object([])) else {
            throw Refusal(status: 409, code: "not_connected", message: "No bridge is connected; connect one first.")
        }
        return JSONWriter.object { $0.field("req_id", id) }
    }

    private func requestAsJSON(_ id: String) throws(Refusal) -> [UInt8] {
        guard let request = remoteRequest(id) else {
            throw .notFound("request_not_found", "The request", breach: nil)
        }
        return JSONWriter.object { result in
            result.field("req_id", id)
            result.field("type", request.type)
            switch request.outcome {
            case .waiting: result.field("status", "waiting")
            case .lost: result.field("status", "lost")
            case .forgotten: result.field("status", "forgotten")
            case .answered(let frame):
                result.field("status", "answered")
                result.field("reply", json: frame)
            }
        }
    }

    // MARK: The socket

    private func socketsAsJSON() -> [UInt8] {
        JSONWriter.object { result in
            result.array("sockets") { list in
                for report in socketReports {
                    list.objectElement { socket in
                        socket.field("number", Int64(report.socket.number))
                        socket.field("version", report.version)
                        socket.field("opened_at_ms", report.openedAt.milliseconds)
                        socket.field("updates_sent", Int64(report.updatesSent))
                        socket.field("missed_pongs", Int64(report.missedPongs))
                        socket.field("is_closing", report.isClosing)
                    }
                }
            }
        }
    }

    /// Kinds of faults that strike connections, updates and their companions.
    private mutating func orderSocketFault(_ order: Fields) throws(Refusal) {
        var order = order
        let kinds = FaultKind.all.filter { $0.target != .call }
        let name = order.enumeration("kind", kinds.map(\.name), required: true)
        let count = order.integer("count", 1...100_000) ?? 1
        let parameters = Self.parameters(&order)
        let kind = name.flatMap(FaultKind.named)
        if let kind { Self.checkStatus(of: kind, parameters, &order) }
        try order.check()
        if let kind { plan(kind, count: count, parameters) }
    }

    /// Expires one approval, or all open ones.
    private mutating func orderExpiry(_ order: Fields, at now: Moment) throws(Refusal) -> [UInt8] {
        var order = order
        let wanted = order.optional("approval_id", atMost: 1_024)
        let reason = order.optional("reason", atMost: 64)
        try order.check()
        let ended = pendingApprovals.map(\.id).filter { wanted == nil || $0 == wanted }
        guard wanted == nil || !ended.isEmpty else {
            throw .notFound("approval_not_found", "An open approval of this name", breach: nil)
        }
        for id in ended { endApproval(id, reason: reason, at: now) }
        return JSONWriter.object { $0.field("ended", Int64(ended.count)) }
    }

    private mutating func orderRestart(_ order: Fields) throws(Refusal) {
        var order = order
        let milliseconds = order.integer("milliseconds", 1...600_000) ?? 1_000
        try order.check()
        restart(milliseconds: milliseconds)
    }

    private mutating func orderClose(_ order: Fields) throws(Refusal) {
        var order = order
        let code = Self.closeCode(&order)
        let reason = order.optional("reason", atMost: 123) ?? ""
        try order.check()
        closeSockets(code: code, reason: reason)
    }

    static func closeCode(_ order: inout Fields) -> Int {
        let code = order.integer("code", 1000...4999) ?? 1000
        if !BridgeSockets.mayBeSent(code) {
            order.complain(
                "code", .custom, "must be 1000 to 1003, 1007 to 1014 or 3000 to 4999", .malformedRequest)
        }
        return code
    }

    // MARK: Tokens

    private mutating func orderRevocation(_ order: Fields, at now: Moment) throws(Refusal) {
        var order = order
        let what = order.enumeration("what", ["token", "installation"], required: true)
        let token = order.optional("token")
        let reason = order.optional("reason", atMost: 64) ?? "user_uninstalled"
        try order.check()
        if what == "installation" { return revokeInstallation(reason: reason, at: now) }
        if let token {
            guard revoke(token: token) else { throw .notFound("token_not_found", "The token", breach: nil) }
        } else {
            for token in installation.tokenNames { _ = revoke(token: token) }
        }
    }
}
