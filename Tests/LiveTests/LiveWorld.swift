import AgentProtocols
import BridgeCore
import BridgeModel
import BridgeService
import BridgeTesting
import RelayProtocol
import RelayRules

/// A phone, a relay, a live connection of the bridge with its links on sockets, and a scripted gateway: everything but the
/// sockets themselves, in one thread on virtual time. The bridge's process can be killed between any two steps.
final class LiveWorld: @unchecked Sendable {
    let time = VirtualTime()
    let journal: VirtualJournal
    var relay: Relay
    var gateway: ScriptedGateway
    private var random: SeededGenerator
    private var connection: LiveConnection?
    private(set) var life = 0
    private(set) var events: [LiveEvent] = []

    private struct RelayPeer {
        var life: Int
        var handler: @Sendable (WebSocketEvent) -> Void
    }

    private var relayPeers: [SocketID: RelayPeer] = [:]
    private var gatewayPeer: RelayPeer?
    private var gatewayTimer: Instant?
    private(set) var sent: [(text: String, session: String, interaction: String)] = []
    private var chats: [Int: String] = [:]
    private var decided: Set<String> = []
    /// What the person taps, and how long it takes.
    var decision = "approve"
    /// What the configuration sets for a whole call, and what the calls were given.
    var callLimit = Duration.seconds(10)
    private(set) var callLimits: Set<Duration> = []
    /// The authorization of the newest call of each method.
    private(set) var authorizations: [String: String] = [:]
    private var tellAsAgent: ((AgentLinkEvent) -> Void)?
    /// Which of the agent's own runs are shown.
    var mirror = Configuration.Mirror.none

    init(_ era: GatewayEra, scripts: [String: GatewayScript], seed: UInt64 = 1) {
        journal = VirtualJournal(time)
        var options = RelayOptions()
        options.seed = seed
        relay = Relay(options: options)
        gateway = ScriptedGateway(era, scripts: scripts)
        gateway.checksSignature = { text, signature, _ in
            Base64URL.encode(Array(text.utf8.reversed())) == signature
        }
        random = SeededGenerator(seed: seed &+ 99)
    }

    private var moment: Moment { Moment(milliseconds: time.wallMilliseconds) }

    // MARK: The person

    func writes(_ text: String, chat: Int = 0, after: Duration) {
        time.after(after) { [self] in
            let made = relay.userSends(text: text, session: chats[chat], at: moment)
            chats[chat] = made.session
            sent.append((text, made.session, made.interaction))
            pump()
        }
    }

    /// Another client of the agent, or its scheduler.
    func otherClientSends(_ text: String, in session: String, as run: String, after: Duration) {
        time.after(after) { [self] in
            gateway.otherClientSends(text, in: session, as: run, at: time.now)
            pump()
        }
    }

    /// As the agent's link would, but all of it at once.
    func agentSays(_ signals: [RunSignal], after: Duration) {
        time.after(after) { [self] in
            tellAsAgent?(.observed(signals.map { .signal($0) }))
            pump()
        }
    }

    func use(_ token: Secret, after: Duration) { time.after(after) { [self] in connection?.use(token) } }

    func stops(_ index: Int, after: Duration) {
        time.after(after) { [self] in
            guard sent.indices.contains(index) else { return }
            relay.userStops(session: sent[index].session, interaction: sent[index].interaction, at: moment)
            pump()
        }
    }

    private func decideLater() {
        for approval in relay.pendingApprovals where decided.insert(approval.id).inserted {
            time.after(.milliseconds(800)) { [self] in
                _ = relay.userDecides(approval: approval.id, decision, at: moment)
                pump()
            }
        }
    }

    // MARK: The process

    func start() {
        let mine = life
        let isAlive = { [self] in mine == life }
        let network = VirtualNetwork(world: self, life: mine)
        func links() -> LinkEdges {
            LinkEdges(
                sockets: network, clock: time, alarm: VirtualAlarm(time, isAlive: isAlive), random: FixedSource())
        }
        let token = RelayOptions().bridgeToken
        let agentEdges = links()
        var parts = LiveConnection.Parts(
            name: ConnectionName("default"), bridge: BridgeSettings(),
            relay: RelayLinkSettings(relay: WebAddress(.http, "127.0.0.1", 8_787), token: Secret(token)),
            relayAddress: RelayAddress(baseURL: "http://127.0.0.1:8787", token: token),
            runner: BridgeRunner.Edges(
                http: network, clock: time, alarm: VirtualAlarm(time, isAlive: isAlive), random: FixedSource(),
                journal: journal, callLimit: callLimit),
            relayLink: links(), journal: journal
        ) { [weak self] tell in
            self?.tellAsAgent = tell
            return OpenClawLink(
                OpenClawSettings(
                    url: "ws://127.0.0.1:18789", token: "secret",
                    device: OpenClawDevice(id: "d1", signer: MirrorSigner()),
                    client: OpenClawClient(displayName: "Test bridge", version: "1.0.0")),
                edges: agentEdges, save: { _ in }, tell: tell)
        }
        parts.mirror = mirror
        let new = LiveConnection(parts) { [weak self] event in self?.events.append(event) }
        connection = new
        do { try new.start() } catch { fatalError("\(error)") }
        pump()
    }

    /// SIGKILL: what was under way may still arrive, what was not written is lost.
    func kill() {
        life += 1
        journal.kill()
        connection = nil
        for socket in relayPeers.keys { relay.socketEnded(socket) }
        relayPeers = [:]
        if gatewayPeer != nil { gateway.disconnected(at: time.now) }
        gatewayPeer = nil
    }

    var openTurns: Int { connection?.ask { $0.openTurns } ?? 0 }

    // MARK: Time

    /// `killAfter`: the process dies after so many steps, and starts again.
    func run(seconds: Int64 = 120, killAfter: Int? = nil, down: Duration = .seconds(1)) {
        keepTime()
        let end = Instant.zero + .seconds(seconds)
        var isDone = false
        while !isDone, time.step(until: end) {
            pump()
            if time.steps == killAfter {
                kill()
                time.after(down) { [self] in start() }
            }
            isDone = connection != nil && !sent.isEmpty && time.now > .zero + .seconds(8) && openTurns == 0 && allEnded
        }
    }

    private var allEnded: Bool {
        sent.allSatisfy { message in
            relay.sessions.contains { session in
                session.id == message.session
                    && session.messages.contains {
                        $0.role == .agent && $0.interaction == message.interaction && $0.isFinal
                    }
            }
        }
    }

    private func keepTime() {
        time.after(.milliseconds(500)) { [self] in
            relay.tick(at: moment)
            connection?.housekeep()
            keepTime()
        }
    }

    /// What the peers have to say goes on its way.
    func pump() {
        decideLater()
        for instruction in relay.takeSocketInstructions() {
            guard let peer = relayPeers[instruction.socket] else { continue }
            deliver(to: peer, instruction)
        }
        for output in gateway.takeOutputs() {
            guard let peer = gatewayPeer else { continue }
            switch output {
            case .frame(let frame): tell(peer, .text(Self.padded(frame)))
            case .close(let code, let reason):
                gatewayPeer = nil
                tell(peer, .closed(code: code, reason: reason, byPeer: true))
            }
        }
        guard let deadline = gateway.nextDeadline, gatewayTimer.map({ deadline < $0 }) ?? true else { return }
        gatewayTimer = deadline
        time.at(deadline) { [self] in
            gatewayTimer = nil
            gateway.timePassed(at: time.now)
        }
    }

    private func deliver(to peer: RelayPeer, _ instruction: SocketInstruction) {
        switch instruction.order {
        case .send(let frame): tell(peer, .text(Self.padded(frame)))
        case .close(let code, let reason):
            relayPeers[instruction.socket] = nil
            tell(peer, .closed(code: code, reason: reason, byPeer: true))
        case .cut:
            relayPeers[instruction.socket] = nil
            tell(peer, .closed(code: nil, reason: "", byPeer: true))
        case .stopReading: break
        }
    }

    private func tell(_ peer: RelayPeer, _ event: WebSocketEvent) {
        time.after(.milliseconds(1)) { [self] in if peer.life == life { peer.handler(event) } }
    }

    private static func padded(_ frame: [UInt8]) -> [UInt8] {
        var padded = frame
        padded.reserveCapacity(frame.count + 64)
        return padded
    }

    // MARK: What the process reaches

    fileprivate func open(
        _ request: WebSocketRequest, _ life: Int, _ handler: @escaping @Sendable (WebSocketEvent) -> Void
    ) -> any WebSocketLink {
        let peer = RelayPeer(life: life, handler: handler)
        let link = VirtualLink()
        let isRelay = request.url.hasSuffix("/v1/bridge/ws")
        time.after(.milliseconds(1)) { [self] in
            guard life == self.life else { return }
            if isRelay { openRelay(request, peer, link) } else { openGateway(peer, link) }
        }
        return link
    }

    private func openRelay(_ request: WebSocketRequest, _ peer: RelayPeer, _ link: VirtualLink) {
        let raw = RawRequest(
            method: "GET", target: "/v1/bridge/ws", headers: request.headers.map { RawHeader($0.name, $0.value) })
        if let refusal = relay.refusesUpgrade(raw, at: moment) {
            return peer.handler(.refused(status: refusal.status, headers: [], body: refusal.body))
        }
        let socket = relay.socketOpened(by: raw, at: moment)
        relayPeers[socket] = peer
        link.onSend = { [self] frame in
            time.after(.milliseconds(1)) { [self] in relay.textReceived(frame, on: socket, at: moment) }
        }
        link.onClose = { [self] code in
            relay.socketEnded(socket)
            relayPeers[socket] = nil
            tell(peer, .closed(code: code, reason: "", byPeer: false))
        }
        peer.handler(.opened([]))
    }

    private func openGateway(_ peer: RelayPeer, _ link: VirtualLink) {
        guard gateway.connected(at: time.now) else {
            return peer.handler(.failed(WebSocketFailure(.connectionRefused, "nobody listens")))
        }
        gatewayPeer = peer
        link.onSend = { [self] frame in
            time.after(.milliseconds(1)) { [self] in
                // What had left a process that died arrives all the same, if its socket still stands.
                if gatewayPeer?.life == peer.life { gateway.received(frame, at: time.now) }
            }
        }
        link.onClose = { [self] code in
            gateway.disconnected(at: time.now)
            gatewayPeer = nil
            tell(peer, .closed(code: code, reason: "", byPeer: false))
        }
        peer.handler(.opened([]))
    }

    fileprivate func call(
        _ request: HTTPRequest, _ life: Int,
        _ completion: @escaping @Sendable (Result<HTTPResponse, HTTPFailure>) -> Void
    ) {
        callLimits.insert(request.timeout)
        let method = request.url.split(separator: "/").last.map(String.init) ?? ""
        authorizations[method] = request.headers.first { $0.name == "Authorization" }?.value
        time.after(.milliseconds(Int64.random(in: 1...15, using: &random))) { [self] in
            // Of a process that was killed, some calls had left and some had not.
            if life != self.life, random.happens(0.5) { return }
            let target = String(request.url.dropFirst("http://127.0.0.1:8787".count))
            let exchange = relay.respond(
                to: RawRequest(
                    method: request.method, target: target,
                    headers: request.headers.map { RawHeader($0.name, $0.value) }, body: request.body), at: moment)
            let response = HTTPResponse(
                status: exchange.response.status,
                headers: exchange.response.headers.map { HTTPHeader($0.name, $0.value) }, body: exchange.response.body)
            time.after(.milliseconds(2)) { [self] in if life == self.life { completion(.success(response)) } }
        }
    }
}

private final class VirtualLink: WebSocketLink, @unchecked Sendable {
    var onSend: (([UInt8]) -> Void)?
    var onClose: ((Int?) -> Void)?
    private var isOver = false

    func send(text: [UInt8]) { if !isOver { onSend?(text) } }
    func send(binary: [UInt8]) {}
    func ping() {}
    func close(code: Int, reason: String) {
        if !isOver { onClose?(code) }
        isOver = true
    }
    func cut() {
        if !isOver { onClose?(nil) }
        isOver = true
    }
    func pauseReading() {}
    func resumeReading() {}
}

private final class VirtualNetwork: WebSocketClient, HTTPClient, @unchecked Sendable {
    private let world: LiveWorld
    private let life: Int

    init(world: LiveWorld, life: Int) {
        self.world = world
        self.life = life
    }

    func open(
        _ request: WebSocketRequest, handler: @escaping @Sendable (WebSocketEvent) -> Void
    ) -> any WebSocketLink { world.open(request, life, handler) }

    func send(_ request: HTTPRequest, completion: @escaping @Sendable (Result<HTTPResponse, HTTPFailure>) -> Void) {
        world.call(request, life, completion)
    }

    func close() {}
}

private struct FixedSource: RandomSource {
    func next() -> UInt64 { 0x9E37_79B9_7F4A_7C15 }
}

/// Signs by turning the text round; the gateway turns it back.
private struct MirrorSigner: Signer {
    let publicKey = [UInt8](repeating: 7, count: 32)
    func sign(_ text: [UInt8]) -> [UInt8] { text.reversed() }
}
