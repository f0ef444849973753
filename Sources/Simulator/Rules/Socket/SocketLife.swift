// The bridge's socket from its upgrade to its end (relay.md#the-bridge-websocket).
//
// The machine knows connections by number. It receives their events and leaves orders, which the server of the sockets drains after
// every call. An order to close is given once; the report of its end makes the machine forget the connection.
extension Relay {
    /// The refusal of an upgrade, or nil if it may become a socket.
    package mutating func refusesUpgrade(_ request: RawRequest, at now: Moment) -> RawResponse? {
        tick(at: now)
        let trace = RequestTrace(request.headers, using: &identifiers)
        do throws(Refusal) {
            let target = RequestTarget(request.target)
            try checkURL(target, request, trace, at: now)
            try checkBridgeToken(request, "ws", trace, at: now)
            faults.drawForConnection()
            switch counted(faults.strikeConnection(where: \.isRefusal)) {
            case .refused(let status, let code):
                throw Refusal(status: status, code: code, message: "As asked for.")
            case .page(let page, let status): return page.response(status: status, turn: tally.faults)
            default: break
            }
            guard sockets.count < options.socket.connectionLimit else {
                throw Refusal(
                    status: 503, code: "temporarily_unavailable",
                    message: "There are \(sockets.count) sockets of this installation; close some.")
            }
            return nil
        } catch {
            let headers = trace.headers + [RawHeader("Content-Type", "application/json")]
            return RawResponse(status: error.status, headers: headers, body: error.body)
        }
    }

    /// The upgrade of this request has become a socket.
    package mutating func socketOpened(by request: RawRequest, at now: Moment) -> SocketID {
        tick(at: now)
        let trace = RequestTrace(request.headers, using: &identifiers)
        installation.bridgeConnected()
        let fault = counted(faults.strikeConnection(where: \.strikesOpening))
        let token = Self.bearer(request) ?? ""
        let id = sockets.add(
            BridgeSocket(token: token, request: trace.requestID, manner: Self.manner(fault), at: now))
        if options.socket.newcomer == .replaces, fault != .joined {
            for other in sockets.ids where other != id {
                sockets.close(other, code: options.socket.replacedCode, "replaced by a newer connection")
            }
        }
        switch fault {
        case .acceptedThenClosed(let code): sockets.close(id, code: code, "as asked for")
        case .acceptedThenCut: sockets.cut(id)
        case .silent: break
        default:
            // The token may have been revoked between the upgrade and now.
            guard installation.standing(of: token) == .good else {
                sockets.close(id, code: options.socket.revokedCode, "the token was revoked")
                break
            }
            let ready = JSONWriter.object { frame in
                frame.field("type", "ready")
                frame.field("installation_id", options.installation)
            }
            sockets.instruct(id, .send(ready))
            if fault == .halfOpen { sockets.instruct(id, .stopReading) }
            // `since_update_id` requests the updates after it (relay.md#delivery-ack-replay).
            if let since = RequestTarget(request.target).parameter("since_update_id") { acknowledge(upTo: since) }
            deliverUpdates(at: now)
        }
        return id
    }

    /// The socket ended, for any reason.
    package mutating func socketEnded(_ id: SocketID) { sockets.ended(id) }

    /// Orders to carry out after every call of the machine.
    package mutating func takeSocketInstructions() -> [SocketInstruction] { sockets.takeInstructions() }

    package var socketReports: [SocketReport] { sockets.reports }

    // MARK: Orders of a tester

    package mutating func plan(_ fault: SocketFault) { faults.plan(fault) }
    package mutating func forgetSocketFaults() { faults.forgetSockets() }

    /// Closes all sockets. A code that the protocol does not allow cuts them.
    package mutating func closeSockets(code: Int, reason: String) {
        for id in sockets.ids { sockets.close(id, code: code, reason) }
    }

    package mutating func cutSockets() {
        for id in sockets.ids { sockets.cut(id) }
    }

    /// Sends nothing more on the open sockets and ignores input, or if half open does not even read it.
    package mutating func silenceSockets(halfOpen: Bool) { sockets.silence(halfOpen: halfOpen) }

    // MARK: Parts

    private static func manner(_ fault: SocketFault.Kind?) -> BridgeSocket.Manner {
        switch fault {
        case .silent: .silent
        case .halfOpen: .halfOpen
        case .withoutPings: .withoutPings
        default: .normal
        }
    }

    /// Sends due pings, and resends updates.
    mutating func tickSockets(at now: Moment) {
        for (id, beat) in sockets.beats(at: now, options.socket) {
            switch beat {
            case .ping: sockets.instruct(id, .send(Array(#"{"type":"ping"}"#.utf8)))
            case .pongMissed:
                let seconds = options.socket.pongMilliseconds / 1_000
                socketBreach(.missedPong, "A ping was not answered within \(seconds) s.", id, now)
            case .dead: sockets.close(id, code: 4001, "pings were not answered")
            }
        }
        deliverUpdates(at: now)
    }

    mutating func socketBreach(_ code: BreachCode, _ sentence: String, _ id: SocketID, _ now: Moment) {
        note(Breach(code: code, sentence: sentence, method: "ws", request: sockets[id]?.request ?? "", at: now))
    }
}
