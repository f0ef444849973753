import AgentProtocols
import BridgeCore
import BridgeModel
import BridgeTesting
import Testing

/// Signs by turning the text round; the gateway turns it back.
private struct MirrorSigner: Signer {
    let publicKey = [UInt8](repeating: 7, count: 32)
    func sign(_ text: [UInt8]) -> [UInt8] { text.reversed() }
}

/// A phone, the bridge's decisions, its session machine and a scripted gateway, in one thread on virtual time. Frames pass
/// one at a time, so that the link can be cut between any two.
final class GatewayWorld {
    /// One bubble or short message as the phone holds it.
    struct Bubble: Equatable {
        var interaction: InteractionID?
        var streamed = ""
        var ends: [String] = []
    }

    static let chat = AgentSession("agent:main:phone-1")

    var gateway: ScriptedGateway
    private var session: OpenClawSession
    private var bridge = Bridge(agentPresent: false)
    private var random = SeededGenerator(seed: 5)
    private(set) var now = Instant.zero
    private var plans: [(at: Instant, body: (GatewayWorld) -> Void)] = []

    /// After so many frames the link is cut, once; those under way are lost.
    var cutAfter: Int?
    /// How long nobody answers a call after the cut.
    var away = Duration.zero
    /// The cut is the end of the session, too: another one takes up its runs, as from a journal.
    var replacesSession = false
    /// Not only until the turns are over.
    var goesOnUntil = Duration.zero
    private(set) var frames = 0
    private var deadUntil = Instant.zero
    private var isOpen = false
    private var toGateway: [[UInt8]] = []
    private var toBridge: [ScriptedGateway.Output] = []

    // What the phone and the log have.
    private(set) var bubbles: [MessageID: Bubble] = [:]
    private(set) var tasks: [TaskID: (begun: Int, ended: [ToolResult.Status])] = [:]
    private(set) var asked: [ApprovalID] = []
    private(set) var outcomes: [TurnID: TurnOutcome] = [:]
    private(set) var observations: [Observation] = []
    private(set) var notes: [OpenClawSession.Note] = []
    private(set) var stop: OpenClawSession.Stop?
    private(set) var foreign: [RunSignal] = []
    private var turnOfRun: [RunID: TurnID] = [:]
    // What a journal would know.
    private var commands: [AgentCommand] = []
    private var handedOver: [RunID: Instant] = [:]
    private let settings: OpenClawSettings
    private var messages = 0
    /// What the person taps, and how long it takes.
    var decision: (decision: ApprovalDecision, after: Duration)? = (.approve, .seconds(5))

    init(_ era: GatewayEra, scripts: [String: GatewayScript] = [:], device: Bool = true) {
        gateway = ScriptedGateway(era, scripts: scripts)
        gateway.checksSignature = { text, signature, _ in
            Base64URL.encode(Array(text.utf8.reversed())) == signature
        }
        settings = OpenClawSettings(
            url: "ws://127.0.0.1:18789", token: "secret",
            device: device ? OpenClawDevice(id: "d1", signer: MirrorSigner()) : nil,
            client: OpenClawClient(displayName: "Test bridge", version: "1.0.0"))
        session = OpenClawSession(settings)
    }

    // MARK: What the person does

    func at(_ milliseconds: Int, _ body: @escaping (GatewayWorld) -> Void) {
        plans.append((.zero + .milliseconds(Int64(milliseconds)), body))
    }

    func writes(_ text: String, run: String, in chat: AgentSession = GatewayWorld.chat) {
        let interaction = InteractionID("int-\(run)")
        let turn = TurnID(interaction.text)
        let relaySession = SessionID("ses-\(chat)")
        turnOfRun[RunID(run)] = turn
        bridge.turnBegins(
            TurnOpening(
                id: turn, session: relaySession, interaction: interaction, agentSession: chat, run: RunID(run),
                message: UserMessage(
                    id: MessageID("um-\(run)"), session: relaySession, interaction: interaction, text: text),
                receivedAt: now, windowEnds: now + .seconds(1_800)), at: now)
    }

    func stops(_ run: String, in chat: AgentSession = GatewayWorld.chat) {
        bridge.stopped(session: SessionID("ses-\(chat)"), interaction: InteractionID("int-\(run)"), at: now)
    }

    // MARK: Time

    /// Until all turns are over and nothing is under way, or the time is over.
    func run(seconds: Double = 300) {
        session.start(at: now)
        let end = Instant.zero + .seconds(seconds)
        for _ in 0..<200_000 {
            work()
            let isOver = plans.isEmpty && bridge.openTurns == 0 && bridge.callsUnderWay == 0 && !turnOfRun.isEmpty
            if isOver, now - .zero >= goesOnUntil { return }
            let next = [session.nextDeadline, bridge.nextWake, gateway.nextDeadline, plans.map(\.at).min()]
                .compactMap { $0 }.min()
            guard let next, next <= end else { return }
            now = max(now, next)
            for plan in plans where plan.at <= now { plan.body(self) }
            plans.removeAll { $0.at <= now }
            gateway.timePassed(at: now)
            if session.nextDeadline.map({ $0 <= now }) == true {
                session.timePassed(at: now, wallMilliseconds: wall(now), using: &random)
            }
            bridge.timePassed(at: now)
        }
        Issue.record("the world does not come to rest")
    }

    private func wall(_ moment: Instant) -> Int64 {
        1_770_000_000_000 + (moment - Instant.zero).nanoseconds / 1_000_000
    }

    private func work() {
        while true {
            let orders = session.takeOrders()
            for order in orders { obey(order) }
            let decided = bridge.takeOrders()
            for order in decided { obey(order) }
            if toGateway.isEmpty { toBridge += gateway.takeOutputs() }
            let passed = pass()
            if orders.isEmpty, decided.isEmpty, !passed { return }
        }
    }

    /// One frame, the client's first.
    private func pass() -> Bool {
        guard !toGateway.isEmpty || !toBridge.isEmpty else { return false }
        if frames == cutAfter { return cut() }
        frames += 1
        if !toGateway.isEmpty {
            gateway.received(toGateway.removeFirst(), at: now)
        } else {
            switch toBridge.removeFirst() {
            case .frame(let frame):
                frame.withUnsafeBytes { session.received($0, capacity: $0.count, at: now, using: &random) }
            case .close(let code, let reason):
                isOpen = false
                session.closed(code: code, reason: reason, at: now, using: &random)
            }
        }
        return true
    }

    func cutsNow() { _ = cut() }

    private func cut() -> Bool {
        cutAfter = nil
        deadUntil = now + away
        toGateway = []
        toBridge = []
        isOpen = false
        gateway.disconnected(at: now)
        if replacesSession {
            replaceSession()
        } else {
            session.closed(code: 1006, reason: "", at: now, using: &random)
        }
        return true
    }

    private func replaceSession() {
        tell(.linkLost)
        session = OpenClawSession(settings)
        for (run, sentAt) in handedOver where outcomes[turnOfRun[run] ?? TurnID("")] == nil {
            let isTaken = observations.contains { $0.shows(run) }
            session.adopt(
                run, in: Self.chat, text: "Question?", stage: isTaken ? .accepted : .handedOver,
                sentAtMilliseconds: wall(sentAt), at: now, wallMilliseconds: wall(now))
        }
        for command in commands {
            switch command {
            case .send(_, _, let run, _) where handedOver[run] == nil: break
            case .resolve(let approval, let subject, let decision):
                guard !observations.contains(where: { $0.settles(approval) }) else { continue }
                session.adopt(
                    decision, of: approval, subject: subject, sentAtMilliseconds: wall(now), at: now,
                    wallMilliseconds: wall(now))
                continue
            case .abort(_, let run) where !isOver(run): break
            case .send, .abort, .lookUp: continue
            }
            session.command(command, at: now, wallMilliseconds: wall(now))
        }
        session.start(at: now)
    }

    private func isOver(_ run: RunID) -> Bool { observations.contains { $0.ends(run) } }

    // MARK: Orders

    private func obey(_ order: OpenClawSession.Order) {
        switch order {
        case .dial:
            toGateway = []
            toBridge = []
            isOpen = now >= deadUntil && gateway.connected(at: now)
            if isOpen {
                session.opened(at: now)
            } else {
                session.failed(message: "connection refused", at: now, using: &random)
            }
        case .send(let frame):
            if let run = turnOfRun.keys.first(where: { Self.isSend(frame, of: $0) }), handedOver[run] == nil {
                handedOver[run] = now
            }
            if isOpen { toGateway.append(frame) }
        case .close:
            if isOpen { gateway.disconnected(at: now) }
            isOpen = false
            toGateway = []
            toBridge = []
            _ = gateway.takeOutputs()
        case .observed(let said): for observation in said { tell(observation) }
        case .note(let note): notes.append(note)
        case .stop(let stop): self.stop = stop
        case .saveDeviceToken: break
        }
    }

    private static func isSend(_ frame: [UInt8], of run: RunID) -> Bool {
        let text = String(decoding: frame, as: UTF8.self)
        return text.contains("\"method\":\"chat.send\"") && text.contains("\"idempotencyKey\":\"\(run)\"")
    }

    private func tell(_ observation: Observation) {
        observations.append(observation)
        switch observation {
        case .signal(let signal): if !bridge.agentSays(signal, at: now) { foreign.append(signal) }
        case .sendAnswered(let run, let answer):
            if let turn = turnOfRun[run] { bridge.sendAnswered(answer, for: turn, at: now) }
        case .lookedUp(let run, let lookup): bridge.lookedUp(lookup, of: run, at: now)
        case .jobStarted: break
        case .linkLost: bridge.agentLost(at: now)
        case .linkBack: bridge.agentBack(at: now)
        case .prompt, .stopSent, .decisionSent: break
        }
    }

    private func obey(_ order: BridgeOrder) {
        switch order {
        case .attempt(let attempt): carry(attempt)
        case .command(let command):
            commands.append(command)
            session.command(command, at: now, wallMilliseconds: wall(now))
        case .turnClosed(let turn, let outcome): outcomes[turn] = outcome
        case .turnOpened, .connectionStopped, .turnNote, .deliveryNote, .keep: break
        }
    }

    /// A relay that takes every call at once.
    private func carry(_ attempt: CallAttempt) {
        guard case .fresh(let call) = attempt.payload else { return }
        var receipt = RelayReceipt()
        switch call {
        case .sendMessage(let message):
            messages += 1
            let id = MessageID("msg-\(messages)")
            receipt.message = id
            bubbles[id] = Bubble(interaction: message.interaction, streamed: message.text)
        case .sendMessageDelta(let delta): bubbles[delta.message]?.streamed += delta.delta
        case .sendMessageEnd(let end): bubbles[end.message]?.ends.append(end.text)
        case .createTask(let task): tasks[task.task, default: (0, [])].begun += 1
        case .finishTask(let task): tasks[task.task, default: (0, [])].ended.append(task.status)
        case .requestApproval(let request): show(request.approval)
        case .updateTask, .createSession: break
        }
        bridge.answered(attempt.call, with: RelayAnswer(.delivered(receipt)), at: now, using: &random)
    }

    private func show(_ approval: ApprovalID) {
        asked.append(approval)
        guard let decision else { return }
        plans.append(
            (now + decision.after, { $0.bridge.decided(approval, decision.decision, reason: nil, at: $0.now) }))
    }

    // MARK: What came of it

    /// The ends of the bubble that answers this run's message.
    func ends(_ run: String) -> [String] {
        bubbles.values.filter { $0.interaction == InteractionID("int-\(run)") }.flatMap(\.ends)
    }

    func streamed(_ run: String) -> [String] {
        bubbles.values.filter { $0.interaction == InteractionID("int-\(run)") }.map(\.streamed)
    }

    func outcome(_ run: String) -> TurnOutcome? { outcomes[TurnID("int-\(run)")] }

    func count(_ method: String) -> Int { gateway.calls.count { $0 == method } }
}

extension Observation {
    /// The gateway has this run.
    fileprivate func shows(_ run: RunID) -> Bool {
        switch self {
        case .sendAnswered(run, .accepted): true
        case .signal(let signal): signal.run == run
        case .sendAnswered, .lookedUp, .jobStarted, .linkLost, .linkBack, .prompt, .stopSent, .decisionSent: false
        }
    }

    fileprivate func ends(_ run: RunID) -> Bool {
        switch self {
        case .signal(let signal) where signal.run == run:
            switch signal.event {
            case .finished, .failed: true
            default: false
            }
        case .lookedUp(run, .ended), .lookedUp(run, .failed): true
        default: false
        }
    }

    fileprivate func settles(_ approval: ApprovalID) -> Bool {
        guard case .signal(let signal) = self, case .approvalSettled(let settled) = signal.event else { return false }
        return settled.id == approval
    }
}
