import AgentKit
import RelayRules
package import Vocabulary

/// The network of one side, and its troubles.
package struct WorldNetwork {
    /// Fate of one call to the relay.
    package enum CallFate {
        case carried
        /// The call never arrives.
        case lost
        /// The call arrives, and its answer does not.
        case answerLost
        /// The call arrives, and the connection stays open without an answer.
        case hangs
    }

    /// Milliseconds that a call takes to the relay.
    package var latency: ClosedRange<Int64> = 1...15
    package var fate: ((inout SeededGenerator) -> CallFate)?
    /// The gateway refuses connections until then.
    package var gatewayAwayUntil = Instant.zero
    /// Frames to and from the gateway wait until then, though the socket is up.
    package var gatewayDeafUntil = Instant.zero
    package var relayAwayUntil = Instant.zero
    /// Number of frames after which the link is cut, once. Frames under way are lost.
    package var cutGatewayAfter: Int?
    package var cutRelayAfter: Int?
    /// Replaces a frame on its way to the bridge.
    package var distort: (([UInt8], inout SeededGenerator) -> [UInt8])?
    /// Called instead of cutting the gateway's link.
    package var insteadOfCut: (() -> Void)?
}

/// One end of a socket in the bridge.
struct WorldPeer {
    var life: Int
    var socket: Int
    var handler: @Sendable (WebSocketEvent) -> Void
}

extension WorldSide {
    func pumpSockets() {
        for instruction in relay.takeSocketInstructions() {
            guard let peer = relayPeers[instruction.socket] else { continue }
            deliver(to: peer, instruction)
        }
        for order in relay.takeEdgeOrders() {
            switch order {
            case .cutPhones: break
            case .restart(let milliseconds): network.relayAwayUntil = now + .milliseconds(Int64(milliseconds))
            }
        }
        for output in gateway.takeOutputs() {
            guard let peer = gatewayPeer else { continue }
            switch output {
            case .frame(let frame): passToBridge(frame, peer)
            case .close(let code, let reason): closeFromGateway(code, reason, peer)
            }
        }
    }

    private func deliver(to peer: WorldPeer, _ instruction: SocketInstruction) {
        let id = instruction.socket
        switch instruction.order {
        case .send(let frame):
            time.after(.milliseconds(1)) { [self] in
                guard relayPeers[id] != nil, countRelayFrame(id) else { return }
                guard lives(peer.life) else { return }
                note("bridge <- relay ", frame)
                // Before the bridge writes anything in response.
                if let onEndTold, Self.isEnd(frame) { onEndTold(frame) }
                peer.handler(.text(padded(EdgeFaults.fromRelay(faults.fromRelay(frame)) { self.isOfJob($0) })))
            }
        case .close(let code, let reason):
            // The close follows the frames sent before it.
            time.after(.milliseconds(1)) { [self] in
                guard relayPeers.removeValue(forKey: id) != nil else { return }
                if lives(peer.life) { peer.handler(.closed(code: code, reason: reason, byPeer: true)) }
            }
        case .cut:
            relayPeers[id] = nil
            tell(peer, .closed(code: nil, reason: "", byPeer: true))
        case .stopReading: break
        }
    }

    private func tell(_ peer: WorldPeer, _ event: WebSocketEvent) {
        time.after(.milliseconds(1)) { [self] in if lives(peer.life) { peer.handler(event) } }
    }

    func heardFromAgent(_ event: AgentLinkEvent) {
        trace?("\(now - Instant.zero) \(name) link: \(event)")
        if case .observed(let said) = event { observations += said }
    }

    func note(_ words: String, _ bytes: [UInt8]) {
        trace?("\(now - Instant.zero) \(name) \(words)\(String(decoding: bytes.prefix(1_500), as: UTF8.self))")
    }

    private static let stop = Array("\"session.cancelled\"".utf8)
    private static let endOfChat = Array("\"session.ended\"".utf8)

    static func isStop(_ frame: [UInt8]) -> Bool { frame.contains(stop) }
    private static func isEnd(_ frame: [UInt8]) -> Bool { isStop(frame) || frame.contains(endOfChat) }

    private func isOfJob(_ chat: String) -> Bool { relay.sessions.contains { $0.id == chat && $0.source == "cron" } }

    private func padded(_ frame: [UInt8]) -> [UInt8] {
        var padded = network.distort?(frame, &random) ?? frame
        padded.reserveCapacity(padded.count + 64)
        return padded
    }

    // MARK: The relay's socket

    /// False if it cut the link instead.
    private func countRelayFrame(_ id: SocketID) -> Bool {
        if network.cutRelayAfter.map({ relayFrames >= $0 }) == true {
            network.cutRelayAfter = nil
            cutRelay()
            return false
        }
        relayFrames += 1
        return true
    }

    package func cutRelay() {
        for (id, peer) in relayPeers.sorted(by: { $0.value.socket < $1.value.socket }) {
            relay.socketEnded(id)
            tell(peer, .closed(code: nil, reason: "", byPeer: false))
        }
        relayPeers = [:]
    }

    private func openRelay(_ request: WebSocketRequest, _ peer: WorldPeer, _ link: VirtualLink) {
        guard now >= network.relayAwayUntil else {
            return peer.handler(.failed(WebSocketFailure(.connectionRefused, "nobody listens")))
        }
        let raw = RawRequest(
            method: "GET", target: "/v1/bridge/ws", headers: request.headers.map { RawHeader($0.name, $0.value) })
        if let refusal = relay.refusesUpgrade(raw, at: moment) {
            hearsOfRemoval(status: refusal.status, refusal.body, by: "the upgrade")
            return peer.handler(
                .refused(
                    status: refusal.status, headers: refusal.headers.map { HTTPHeader($0.name, $0.value) },
                    body: refusal.body))
        }
        let socket = relay.socketOpened(by: raw, at: moment)
        relayPeers[socket] = peer
        link.onSend = { [self] frame in
            time.after(.milliseconds(1)) { [self] in
                // Frames sent before the process died still arrive, if its socket is still up.
                guard relayPeers[socket] != nil, countRelayFrame(socket) else { return }
                note("bridge -> relay ", frame)
                relay.textReceived(frame, on: socket, at: moment)
                onFrameToRelay?()
            }
        }
        link.onClose = { [self] code in
            guard relayPeers.removeValue(forKey: socket) != nil else { return }
            relay.socketEnded(socket)
            tell(peer, .closed(code: code, reason: "", byPeer: false))
        }
        peer.handler(.opened([]))
    }

    // MARK: The gateway's socket

    private func passToBridge(_ frame: [UInt8], _ peer: WorldPeer) {
        lineToBridge.pass { [self] in
            guard gatewayPeer?.socket == peer.socket, countGatewayFrame(), lives(peer.life) else { return }
            note("bridge <- agent ", frame)
            for frame in edge.toBridge(frame) { peer.handler(.text(padded(frame))) }
        }
    }

    /// Closes behind earlier frames, so the bridge reads a refusal before the close.
    private func closeFromGateway(_ code: Int, _ reason: String, _ peer: WorldPeer) {
        lineToBridge.pass { [self] in
            guard gatewayPeer?.socket == peer.socket else { return }
            gatewayPeer = nil
            if lives(peer.life) { peer.handler(.closed(code: code, reason: reason, byPeer: true)) }
        }
    }

    private func passToGateway(_ frame: [UInt8], _ peer: WorldPeer) {
        lineToGateway.pass { [self] in
            guard gatewayPeer?.socket == peer.socket else { return }
            guard lives(peer.life) || lastFramesArrive, countGatewayFrame() else { return }
            note("bridge -> agent ", frame)
            let before = gateway.decisions.count
            for frame in edge.toAgent(frame) { gateway.received(frame, at: now) }
            if stopIsTaken, gateway.decisions.dropFirst(before).contains(where: { $0 != "deny" }) { lateAllows += 1 }
        }
    }

    /// False if it cut the link instead.
    private func countGatewayFrame() -> Bool {
        if network.cutGatewayAfter.map({ gatewayFrames >= $0 }) == true {
            network.cutGatewayAfter = nil
            if let instead = network.insteadOfCut { instead() } else { cutGateway() }
            return false
        }
        gatewayFrames += 1
        return true
    }

    package func cutGateway(away: Duration = .zero) {
        network.gatewayAwayUntil = max(network.gatewayAwayUntil, now + away)
        guard let peer = gatewayPeer else { return }
        gatewayPeer = nil
        gateway.disconnected(at: now)
        _ = gateway.takeOutputs()
        tell(peer, .closed(code: nil, reason: "", byPeer: false))
    }

    private func openGateway(_ peer: WorldPeer, _ link: VirtualLink) {
        guard now >= network.gatewayAwayUntil, gateway.connected(at: now) else {
            return peer.handler(.failed(WebSocketFailure(.connectionRefused, "nobody listens")))
        }
        gatewayPeer = peer
        link.onSend = { [self] frame in
            onFrameToAgent?(frame)
            passToGateway(frame, peer)
        }
        link.onClose = { [self] code in
            guard gatewayPeer?.socket == peer.socket else { return }
            gateway.disconnected(at: now)
            gatewayPeer = nil
            tell(peer, .closed(code: code, reason: "", byPeer: false))
        }
        peer.handler(.opened([]))
    }

    // MARK: Ports of the process

    func open(
        _ request: WebSocketRequest, _ life: Int, _ handler: @escaping @Sendable (WebSocketEvent) -> Void
    ) -> any WebSocketLink {
        gatewaySocket += 1
        let peer = WorldPeer(life: life, socket: gatewaySocket, handler: handler)
        let link = VirtualLink()
        let isRelay = request.url.hasSuffix("/v1/bridge/ws")
        time.after(.milliseconds(1)) { [self] in
            guard lives(life) else { return }
            if link.isOver { return handler(.closed(code: nil, reason: "", byPeer: false)) }
            if isRelay { openRelay(request, peer, link) } else { openGateway(peer, link) }
        }
        return link
    }

    func call(
        _ request: HTTPRequest, _ life: Int,
        _ completion: @escaping @Sendable (Result<HTTPResponse, HTTPFailure>) -> Void
    ) {
        if EdgeFaults.holdsBack(request, besides: firstToken) { return }
        callLimits.insert(request.timeout)
        let method = request.url.split(separator: "/").last.map(String.init) ?? ""
        callsMade[method, default: 0] += 1
        authorizations[method] = request.headers.first { $0.name == "Authorization" }?.value
        let begun = now
        func end(_ result: Result<HTTPResponse, HTTPFailure>, after: Duration) {
            time.after(after) { [self] in if lives(life) { completion(result) } }
        }
        func fail(_ code: HTTPFailure.Code, _ words: String, mayHaveBeenApplied: Bool, after: Duration) {
            end(.failure(HTTPFailure(code, words, mayHaveBeenApplied: mayHaveBeenApplied)), after: after)
        }
        let fate = network.fate?(&random) ?? .carried
        time.after(.milliseconds(Int64.random(in: network.latency, using: &random))) { [self] in
            // Some calls of a killed process had left, and some had not.
            if !lives(life), random.happens(0.5) { return }
            guard now >= network.relayAwayUntil else {
                return fail(.connectionRefused, "nobody listens", mayHaveBeenApplied: false, after: .milliseconds(1))
            }
            if case .lost = fate {
                return fail(.connectionLost, "the connection was reset", mayHaveBeenApplied: true, after: .zero)
            }
            let exchange = faults.carry(
                RawRequest(
                    method: request.method, target: String(request.url.dropFirst(VirtualSockets.relay.count)),
                    headers: request.headers.map { RawHeader($0.name, $0.value) }, body: request.body),
                to: &relay, at: moment)
            let response = EdgeFaults.answer(
                exchange.response.status,
                exchange.response.headers.map { HTTPHeader($0.name, $0.value) } + [dateHeader], exchange.response.body,
                date: HTTPHeader("Date", HeaderDate.text(time.wallMilliseconds)))
            hearsOfRemoval(status: exchange.response.status, exchange.response.body, by: "a call")
            note("bridge -> relay \(method) ", request.body)
            note("  answered \(response.status) \(exchange.delivery) ", response.body)
            let left = begun + request.timeout - now
            switch (fate, exchange.delivery) {
            case (.hangs, _): fail(.timedOut, "no answer in time", mayHaveBeenApplied: true, after: left)
            case (_, .delayed(let milliseconds)) where .milliseconds(Int64(milliseconds)) >= left:
                fail(.timedOut, "no answer in time", mayHaveBeenApplied: true, after: left)
            case (_, .delayed(let milliseconds)):
                end(.success(response), after: .milliseconds(Int64(milliseconds)))
            case (.answerLost, _), (_, .responseLost), (_, .connectionReset):
                fail(.connectionLost, "the connection was reset", mayHaveBeenApplied: true, after: .milliseconds(2))
            case (.carried, .normal), (.lost, .normal): end(.success(response), after: .milliseconds(2))
            }
        }
    }
}
