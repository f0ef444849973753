import AgentHosting
package import AgentKit
package import BridgeCore
package import BridgeService
import Links
import OpenClaw
import RelayProtocol
package import RelayRules
package import Vocabulary

/// Everything around one connection of the bridge: the person, the relay, the network and the agent; and the
/// connection itself while its process lives.
package final class WorldSide: @unchecked Sendable {
    package struct Sent {
        package var text: String
        package var session: String
        package var interaction: String
        package var message: String
        package var at: Instant
    }

    package let name: ConnectionName
    let time: VirtualTime
    package weak var world: LiveWorld?
    package let journal: VirtualJournal
    /// Files and secrets of the computer, as the agent's works see them.
    package let files = VirtualFiles()
    /// Files that come with messages, and files that the agent's tools touch.
    package private(set) lazy var attachments = VirtualAttachments(files, time)
    package private(set) lazy var agentFiles = VirtualAgentFiles(time)
    package var relay: Relay
    package var gateway: ScriptedGateway
    package var network = WorldNetwork()
    let edge = AgentEdge()
    private(set) lazy var faults = CoreFaults(self)
    var random: SeededGenerator
    private(set) var connection: LiveConnection?
    /// Number of this side's process, or of its last one.
    private(set) var life = 0
    private var isAlive = false
    /// Token that the process began with.
    private(set) var firstToken = ""

    var relayPeers: [SocketID: WorldPeer] = [:]
    var gatewayPeer: WorldPeer?
    /// Frames that passed to or from the gateway.
    package internal(set) var gatewayFrames = 0
    package internal(set) var relayFrames = 0
    private(set) lazy var lineToBridge = HeldLine(time) { [weak self] in self?.network.gatewayDeafUntil ?? .zero }
    private(set) lazy var lineToGateway = HeldLine(time) { [weak self] in self?.network.gatewayDeafUntil ?? .zero }
    /// Number of the newest socket to the gateway, from 1.
    var gatewaySocket = 0
    private var gatewayTimer: Instant?
    /// Whether the last frames of the process that died still arrive.
    private(set) var lastFramesArrive = false

    package private(set) var sent: [Sent] = []
    package private(set) var chats: [Int: String] = [:]
    var decided: Set<String> = []
    /// The person's tap after `decisionTime`, or nil if they ignore the card.
    package var decision: String? = "approve"
    package var decisionTime = Duration.milliseconds(800)
    /// The person's tap by approval, if they differ. A nil result ignores the card.
    package var decide: ((PhoneApproval) -> (tap: String, scope: ApprovalScope, after: Duration)?)?
    package var decisionScope = ApprovalScope()
    var hasStopped = false
    /// Lead of this machine's wall clock over the relay's.
    package var clockAhead = Duration.zero
    /// When a call or the upgrade was answered with a removal.
    var removedAt: Instant?
    /// Habits of the relay.
    package private(set) lazy var habits: HabitTally = {
        let tally = HabitTally()
        tally.meets = { [weak self] in self?.underWay ?? HabitTally.Met() }
        return tally
    }()
    /// Number of yeses that the gateway heard after the bridge had acknowledged a stop.
    package internal(set) var lateAllows = 0
    /// The configured time limit of a call, and the limits that calls had.
    package var callLimit = Duration.seconds(10)
    package internal(set) var callLimits: Set<Duration> = []
    /// Authorization of the newest call of each method.
    package internal(set) var authorizations: [String: String] = [:]
    /// Number of calls made, by method.
    package internal(set) var callsMade: [String: Int] = [:]
    private var tellAsAgent: ((AgentLinkEvent) -> Void)?
    package var bridge = BridgeSettings()
    package var memoryLimit = 64 << 20
    /// Runs of the agent's own that the phone shows.
    package var mirror = Configuration.Mirror.none
    package var deletedChats = Configuration.DeletedChats.new
    /// An agent other than OpenClaw, and its double if that follows scripts.
    package var agent: WorldAgent?
    var scripted: (any ScriptedAgent)?
    /// A layer between machine and host, to plant faults.
    package var throughHost: ((any AgentHost) -> any AgentHost)?
    /// Called with every frame between bridge and agent. True for incoming ones.
    package var onRecord: ((ChannelID, Bool, [UInt8]) -> Void)?
    /// Early gateways give a client without a device no rights.
    package var hasDevice = true
    package var token = RelayOptions().bridgeToken
    /// Keys and phones, used if `seals`.
    package private(set) lazy var sealing = WorldSealing(disk, seed: random.next())
    package var seals = false
    /// Nil if no notices are sent.
    package var noticeSettings: NoticeSettings?
    package private(set) lazy var notices = VirtualNotices(time, seed: noticeSeed)
    private let noticeSeed: UInt64
    private let disk: VirtualDisk
    /// Sealed pieces of text that the relay passed on, by message, and the last event searched for them.
    var sealedPieces: [String: [String]] = [:]
    var lastPhoneEvent: UInt64?
    package internal(set) var approvalsInTheOpen: Set<String> = []
    /// Cards that the relay showed, and the taps on them.
    package internal(set) var shown = ShownBeforeYes()
    /// All observations of the agent's link.
    package internal(set) var observations: [Observation] = []
    /// Receives everything that happens, to debug one seed.
    package var trace: ((String) -> Void)?
    /// Called with every frame that leaves the bridge for the agent.
    package var onFrameToAgent: (([UInt8]) -> Void)?
    /// Called when the relay has processed a frame of the bridge.
    package var onFrameToRelay: (() -> Void)?
    /// Called with every Stop and every end of a chat that the living process receives.
    package var onEndTold: (([UInt8]) -> Void)?

    init(
        _ name: ConnectionName, _ era: GatewayEra, scripts: [String: GatewayScript], seed: UInt64, time: VirtualTime,
        disk: VirtualDisk
    ) {
        self.name = name
        self.time = time
        journal = VirtualJournal(disk)
        self.disk = disk
        noticeSeed = seed &* 7 &+ 5
        var options = RelayOptions()
        options.seed = seed
        options.keepsAllEvents = true
        relay = Relay(options: options)
        gateway = ScriptedGateway(era, scripts: scripts)
        gateway.restartsWithinProcess = seed % 3 == 0
        gateway.checksSignature = { text, signature, _ in
            Base64URL.encode(Array(text.utf8.reversed())) == signature
        }
        random = SeededGenerator(seed: seed &+ 99)
    }

    package var now: Instant { time.now }
    package var hasGatewaySocket: Bool { gatewayPeer != nil }

    func lives(_ life: Int) -> Bool { isAlive && life == self.life }

    // MARK: The person

    package func writes(_ text: String, chat: Int = 0, level: String? = nil, after: Duration) {
        time.after(after) { [self] in
            let made = relay.userSends(text: text, session: chats[chat], thoughtLevel: level, at: moment)
            if clockAhead != .zero { habits.note("relay: has another clock than this machine") }
            chats[chat] = made.session
            sent.append(
                Sent(
                    text: text, session: made.session, interaction: made.interaction, message: made.message, at: now))
            pump()
        }
    }

    func begins(_ chat: Int, in session: String) { chats[chat] = session }

    func note(_ text: String, _ made: (session: String, interaction: String, message: String)) {
        sent.append(
            Sent(text: text, session: made.session, interaction: made.interaction, message: made.message, at: now))
    }

    package func writesAgain(_ text: String, under first: String, after: Duration) {
        time.after(after) { [self] in
            guard let message = sent.first(where: { $0.text == first }) else { return }
            relay.userSends(text: text, session: message.session, under: message.interaction, at: moment)
            pump()
        }
    }

    /// Another message under the interaction of an earlier one.
    package func writesAgain(_ text: String, under index: Int, after: Duration) {
        time.after(after) { [self] in
            guard sent.indices.contains(index) else { return }
            relay.userSends(text: text, session: sent[index].session, under: sent[index].interaction, at: moment)
            pump()
        }
    }

    /// With `wholeChat` the stop names no interaction.
    package func stops(_ index: Int, wholeChat: Bool = false, after: Duration) {
        time.after(after) { [self] in
            guard sent.indices.contains(index) else { return }
            relay.userStops(
                session: sent[index].session, interaction: wholeChat ? nil : sent[index].interaction, at: moment)
            hasStopped = true
            pump()
        }
    }

    /// The bridge has acknowledged every stop.
    var stopIsTaken: Bool { hasStopped && !relay.pendingUpdates().contains { $0.type == "session.cancelled" } }

    package func deletesChat(_ chat: Int) {
        guard let session = chats[chat] else { return }
        _ = relay.respond(
            to: RawRequest(
                method: "DELETE", target: "/v1/me/sessions/\(session)",
                headers: [RawHeader("Authorization", "Bearer \(RelayOptions().userToken)")]), at: moment)
        chats[chat] = nil
        pump()
    }

    /// The person deletes or archives a chat of the relay.
    package func leavesChat(_ session: String, archives: Bool) {
        guard let index = relay.sessions.firstIndex(where: { $0.id == session }) else { return }
        changesChat(index, archives ? "POST" : "DELETE", archives ? "/archive" : "", after: .zero)
    }

    package func deletesChat(_ index: Int, after: Duration) { changesChat(index, "DELETE", "", after: after) }
    package func archivesChat(_ index: Int, after: Duration) { changesChat(index, "POST", "/archive", after: after) }

    private func changesChat(_ index: Int, _ method: String, _ path: String, after: Duration) {
        time.after(after) { [self] in
            let chats = relay.sessions
            guard chats.indices.contains(index) else { return }
            let exchange = relay.respond(
                to: RawRequest(
                    method: method, target: "/v1/me/sessions/\(chats[index].id)\(path)",
                    headers: [RawHeader("Authorization", "Bearer \(RelayOptions().userToken)")]), at: moment)
            precondition(exchange.response.status < 300, "the relay would not: \(exchange.response.status)")
            pump()
        }
    }

    // MARK: The phone

    /// Bubbles that answer a message.
    package func answers(to message: Sent) -> [PhoneMessage] {
        seenSession(message.session)?.messages.filter { $0.role == .agent && $0.interaction == message.interaction }
            ?? []
    }

    /// The agent's name of the run that answers a message.
    package func runID(of message: Sent) -> String { "sophon-\(message.interaction)" }

    // MARK: The agent's other clients

    /// Another client of the agent prompts.
    package func otherClientSends(_ text: String, in session: String, as run: String, after: Duration) {
        time.after(after) { [self] in
            gateway.otherClientSends(text, in: session, as: run, at: now)
            pump()
        }
    }

    /// The agent's scheduler starts a run.
    package func schedulerRuns(_ text: String, job: String, in session: String, as run: String, after: Duration) {
        time.after(after) { [self] in
            gateway.schedulerRuns(text, job: job, in: session, as: run, at: now)
            pump()
        }
    }

    /// Reports signals at once, as if the agent's link did.
    package func agentSays(_ signals: [RunSignal], after: Duration) {
        time.after(after) { [self] in
            tellAsAgent?(.observed(signals.map { .signal($0) }))
            pump()
        }
    }

    // MARK: The process

    package func use(_ token: Secret, after: Duration) { time.after(after) { [self] in connection?.use(token) } }

    package func ask<Answer: Sendable>(_ question: (LiveConnection) -> Answer) -> Answer? { connection.map(question) }

    /// The ledger of bytes held in memory.
    package var heldBytes: HeldBytes { connection?.heldBytes ?? HeldBytes() }
    package var openTurns: Int { connection?.ask { $0.openTurns } ?? 0 }

    func start(life: Int, tell: @escaping @Sendable (LiveEvent) -> Void) {
        self.life = life
        isAlive = true
        firstToken = token
        let new = LiveConnection(parts(life), tell: tell)
        connection = new
        do { try new.start() } catch { fatalError("\(error)") }
        pump()
    }

    private func parts(_ life: Int) -> LiveConnection.Parts {
        let isAlive: @Sendable () -> Bool = { [weak self] in self?.lives(life) == true }
        let sockets = VirtualSockets(side: self, life: life)
        let source = SeededSource(random.next())
        let relayEdges = LinkEdges(
            sockets: sockets, clock: time, alarm: VirtualAlarm(time, isAlive: isAlive), random: source)
        let agent = self.agent ?? openClaw
        let edges = agentEdges(agent.kind, sockets, SeededSource(source.next()), isAlive)
        var settings = CoreFaults.changed(bridge)
        settings.turn.hasOtherClients = !agent.hasRunsOfItsOwn
        var parts = LiveConnection.Parts(
            name: name, bridge: settings,
            relay: RelayLinkSettings(relay: WebAddress(.http, "127.0.0.1", 8_787), token: Secret(token)),
            relayAddress: RelayAddress(baseURL: VirtualSockets.relay, token: token),
            runner: BridgeRunner.Edges(
                http: sockets, clock: time, alarm: VirtualAlarm(time, isAlive: isAlive), random: source,
                journal: journal, callLimit: callLimit),
            relayLink: relayEdges, journal: journal, agentSession: { agent.session($0) }
        ) { [weak self] tell in
            let listening: @Sendable (AgentLinkEvent) -> Void = { [weak self] event in
                self?.heardFromAgent(event)
                tell(self?.faults.heard(event) ?? event)
            }
            self?.tellAsAgent = listening
            let host = ConnectionHost(edges, AgentOutlets(tell: listening))
            let outer = self?.throughHost?(host) ?? host
            #if PLANTED_FAULTS
                let link = agent.open(LayeredHost.around(outer))
            #else
                let link = agent.open(outer)
            #endif
            return self?.faults.around(link) ?? link
        }
        parts.files = fileParts(isAlive)
        parts.mirror = mirror
        parts.hasRunsOfItsOwn = agent.hasRunsOfItsOwn
        parts.memoryLimit = memoryLimit
        parts.deletedChats = deletedChats
        notices.words = { [weak self] in self?.sent.last?.text }
        parts.notices = noticeSettings.map { notices.parts($0, agent: agent.kind.rawValue, isAlive) }
        if seals {
            parts.keys = sealing.parts(life, token: Secret(token), alarm: VirtualAlarm(time, isAlive: isAlive))
        }
        return parts
    }

    var openClaw: WorldAgent {
        let device = hasDevice ? OpenClawDevice(id: "d1", signer: MirrorSigner()) : nil
        let settings = OpenClawSettings(
            url: "ws://127.0.0.1:18789", token: "secret", device: device,
            client: OpenClawClient(displayName: "Test bridge", version: "1.0.0"))
        let check = GatewayCheck(of: WebAddress(.ws, "127.0.0.1", 18_789), connection: name.text, known: [])
        return WorldAgent(kind: AgentKind(rawValue: "openclaw"), network: nil) {
            SessionNames.session(of: $0)
        } open: {
            $0.carry(OpenClawMachine(settings))
        } examine: {
            $0.carry(OpenClawMachine(settings, check))
        }
    }

    /// The life of a process that is no bridge, such as `doctor`.
    func lives() -> Int {
        isAlive = true
        return life
    }

    func tell(_ step: (LiveConnection) -> Void) { if let connection { step(connection) } }

    func killed() {
        life += 1
        isAlive = false
        connection = nil
        tellAsAgent = nil
        agent?.network?.killed()
        for socket in relayPeers.keys { relay.socketEnded(socket) }
        relayPeers = [:]
        lastFramesArrive = random.happens(0.5)
        guard let socket = gatewayPeer?.socket else { return }
        // The gateway may read the last frames before the end of the socket.
        time.after(.milliseconds(2)) { [self] in
            guard gatewayPeer?.socket == socket else { return }
            gateway.disconnected(at: now)
            gatewayPeer = nil
        }
    }

    // MARK: Time

    var isAnswered: Bool {
        sent.allSatisfy { message in
            relay.sessions.contains { session in
                session.id == message.session
                    && session.messages.contains {
                        $0.role == .agent && $0.interaction == message.interaction && $0.isFinal
                    }
            }
        }
    }

    func keepTime() {
        relay.tick(at: moment)
        connection?.housekeep()
    }

    /// Collects and delivers everything that the peers have to say.
    func pump() {
        collectPieces()
        collectShown()
        decideLater()
        pumpSockets()
        guard let deadline = gateway.nextDeadline, gatewayTimer.map({ deadline < $0 }) ?? true else { return }
        gatewayTimer = deadline
        time.at(deadline) { [self] in
            gatewayTimer = nil
            gateway.timePassed(at: now)
        }
    }
}
