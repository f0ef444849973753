// The bridge's socket from its upgrade to its end (relay.md#the-bridge-websocket).
//
// The machine knows connections by number. It is told what happened to them and leaves orders, which the server of the sockets
// drains after every call. Closing is asked for once; the connection is forgotten when its end is reported.
extension Relay {
    /// What the relay says to an upgrade: nil when it may become a socket, else the answer instead.
    package mutating func refusesUpgrade(_ request: RawRequest, at now: Moment) -> RawResponse? {
        tick(at: now)
        let trace = RequestTrace(request.headers, using: &identifiers)
        do throws(Refusal) {
            let target = RequestTarget(request.target)
            try checkURL(target, request, trace, at: now)
            try checkBridgeToken(request, "ws", trace, at: now)
            drawnForConnection = faultMix?.drawForSocket(.connection)
            switch takeSocketFault(where: \.isRefusal) ?? drawn(where: \.isRefusal) {
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
        lastSocket += 1
        hadBridge = true
        let id = SocketID(number: lastSocket)
        let fault = takeSocketFault(where: \.strikesOpening) ?? drawn(where: \.strikesOpening)
        let token = Self.bearer(request) ?? ""
        sockets[id] = BridgeSocket(token: token, request: trace.requestID, manner: Self.manner(fault), at: now)
        socketOrder.append(id)
        if options.socket.newcomer == .replaces, fault != .joined {
            for other in socketOrder where other != id {
                close(other, code: options.socket.replacedCode, "replaced by a newer connection")
            }
        }
        switch fault {
        case .acceptedThenClosed(let code): close(id, code: code, "as asked for")
        case .acceptedThenCut: cut(id)
        case .silent: break
        default:
            // The token may have been revoked between the upgrade and now.
            guard tokens[token] == .good else {
                close(id, code: options.socket.revokedCode, "the token was revoked")
                break
            }
            let ready = JSONWriter.object { frame in
                frame.field("type", "ready")
                frame.field("installation_id", options.installation)
            }
            order(id, .send(ready))
            if fault == .halfOpen { order(id, .stopReading) }
            // `since_update_id` asks for the updates after it (relay.md#delivery-ack-replay).
            if let since = RequestTarget(request.target).parameter("since_update_id") { acknowledge(upTo: since) }
            deliverUpdates(at: now)
        }
        return id
    }

    /// However it ended.
    package mutating func socketEnded(_ id: SocketID) {
        sockets[id] = nil
        socketOrder.removeAll { $0 == id }
        loseRequests(on: id)
    }

    /// To be taken after every call of the machine.
    package mutating func takeSocketInstructions() -> [SocketInstruction] {
        defer { socketInstructions = [] }
        return socketInstructions
    }

    package var socketReports: [SocketReport] {
        socketOrder.compactMap { id in
            sockets[id].map {
                SocketReport(
                    socket: id, version: $0.version, openedAt: $0.openedAt, updatesSent: $0.updatesSent,
                    missedPongs: $0.missedPongs, isClosing: $0.isClosing)
            }
        }
    }

    // MARK: What can be asked for

    package mutating func plan(_ fault: SocketFault) { socketFaults.append(fault) }
    package mutating func forgetSocketFaults() { socketFaults = [] }

    /// Closes all sockets. A code that may not be sent cuts them.
    package mutating func closeSockets(code: Int, reason: String) {
        for id in socketOrder { close(id, code: code, reason) }
    }

    package mutating func cutSockets() { socketOrder.forEach { cut($0) } }

    /// Nothing more is sent on the open sockets, and input is ignored; half open: not even read.
    package mutating func silenceSockets(halfOpen: Bool) {
        for id in socketOrder {
            sockets[id]?.manner = halfOpen ? .halfOpen : .silent
            if halfOpen { order(id, .stopReading) }
        }
    }

    // MARK: Parts

    func takesPart(_ id: SocketID) -> Bool { sockets[id]?.speaks ?? false }

    mutating func order(_ id: SocketID, _ order: SocketInstruction.Order) {
        socketInstructions.append(SocketInstruction(socket: id, order: order))
    }

    mutating func close(_ id: SocketID, code: Int, _ reason: String) {
        guard sockets[id]?.isClosing == false else { return }
        guard Self.mayBeSent(code) else { return cut(id) }
        sockets[id]?.isClosing = true
        order(id, .close(code: code, reason: reason))
    }

    private mutating func cut(_ id: SocketID) {
        sockets[id]?.isClosing = true
        order(id, .cut)
    }

    /// RFC 6455, 7.4: the codes that an endpoint may put into a closing frame.
    static func mayBeSent(_ code: Int) -> Bool {
        (1000...1003).contains(code) || (1007...1014).contains(code) || (3000...4999).contains(code)
    }

    private static func manner(_ fault: SocketFault.Kind?) -> BridgeSocket.Manner {
        switch fault {
        case .silent: .silent
        case .halfOpen: .halfOpen
        case .withoutPings: .withoutPings
        default: .normal
        }
    }

    /// What the mix drew at the upgrade, once.
    private mutating func drawn(where fits: (SocketFault.Kind) -> Bool) -> SocketFault.Kind? {
        guard let kind = drawnForConnection, fits(kind) else { return nil }
        drawnForConnection = nil
        tally.faults += 1
        return kind
    }

    /// What is planned for an update, a message, a grant or an acknowledgement, else what the mix draws for it.
    mutating func strike(_ target: FaultKind.Target, among kinds: [SocketFault.Kind]) -> SocketFault.Kind? {
        let drawn = faultMix?.drawForSocket(target)
        if let planned = takeSocketFault(where: { kinds.contains($0) }) { return planned }
        if drawn != nil { tally.faults += 1 }
        return drawn
    }

    mutating func takeSocketFault(where fits: (SocketFault.Kind) -> Bool) -> SocketFault.Kind? {
        guard let index = socketFaults.firstIndex(where: { fits($0.kind) }) else { return nil }
        socketFaults[index].count -= 1
        let kind = socketFaults[index].kind
        if socketFaults[index].count <= 0 { socketFaults.remove(at: index) }
        tally.faults += 1
        return kind
    }

    /// Pings what is due, and resends.
    mutating func tickSockets(at now: Moment) {
        for id in socketOrder {
            for beat in sockets[id]?.beats(at: now, options.socket) ?? [] {
                switch beat {
                case .ping: order(id, .send(Array(#"{"type":"ping"}"#.utf8)))
                case .pongMissed:
                    let seconds = options.socket.pongMilliseconds / 1_000
                    socketBreach(.missedPong, "A ping was not answered within \(seconds) s.", id, now)
                case .dead: close(id, code: 4001, "pings were not answered")
                }
            }
        }
        deliverUpdates(at: now)
    }

    mutating func socketBreach(_ code: BreachCode, _ sentence: String, _ id: SocketID, _ now: Moment) {
        note(Breach(code: code, sentence: sentence, method: "ws", request: sockets[id]?.request ?? "", at: now))
    }
}
