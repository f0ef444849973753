import BridgeCore
import BridgeService
import RelayRules
import Vocabulary

package struct WorldResult: Sendable {
    package var violations: [String] = []
    package var steps = 0
    package var calls = 0
    /// Habits of the outside, and what they met.
    package var habits: [String: HabitTally.Entry] = [:]
    /// Hash of everything on the phones with its times: two runs of a seed agree.
    package var fingerprint: UInt64 = 0xCBF2_9CE4_8422_2325

    mutating func mix(_ text: String) {
        for byte in text.utf8 { fingerprint = (fingerprint ^ UInt64(byte)) &* 0x100_0000_01B3 }
    }
}

/// Carries a plan out in a world, and judges from outside.
package final class WorldRun {
    let plan: WorldPlan
    let world: LiveWorld
    var random: SeededGenerator
    var judge: WorldJudge
    private var freshAt: Instant?
    /// Number of tokens issued so far.
    private var tokens = 0
    /// When the person deleted chats, by side and relay session.
    var deleted: [String: Instant] = [:]
    /// Sides whose token was revoked at some time.
    var revoked: Set<Int> = []
    /// When the person left the chat of a job, by side and relay session.
    var leftJobChats: [String: Instant] = [:]

    /// Questions that the person has replied to.
    var replied: Set<String> = []
    /// Messages stopped as soon as the agent had their prompt.
    private var stoppedAtPrompt: Set<String> = []
    /// Questions that the relay refuses.
    var refused: Set<String> = []
    /// Sealed chats whose key the bridge received.
    var granted: Set<String> = []

    /// `trace` receives everything that happens, in words.
    package static func run(_ plan: WorldPlan, trace: ((String) -> Void)? = nil) -> WorldResult {
        let run = WorldRun(plan)
        for side in run.world.sides { side.trace = trace }
        if let trace {
            for message in plan.messages { trace("\(message.text) at \(message.at), \(message.script.script.steps)") }
            for trouble in plan.troubles { trace("at \(trouble.at): \(trouble.misfortune) on side \(trouble.side)") }
        }
        defer { run.world.end() }
        return run.play()
    }

    private init(_ plan: WorldPlan) {
        self.plan = plan
        random = SeededGenerator(seed: plan.seed &* 31 &+ 7)
        var scripts: [String: GatewayScript] = [:]
        for message in plan.messages {
            scripts[message.text] = message.script.script
            if let second = message.second { scripts[Self.question(second)] = second.script }
        }
        world = LiveWorld(plan.eras, scripts: scripts, seed: plan.seed)
        judge = WorldJudge(plan)
        world.agentLimit = plan.agentLimit
        for (index, side) in world.sides.enumerated() {
            side.uses(plan.agents[index], seed: plan.seed &* 13 &+ UInt64(index))
            for (prompt, script) in scripts { side.gives(script, to: prompt) }
        }
    }

    // MARK: The course

    private func play() -> WorldResult {
        prepare()
        world.start()
        let longest = Instant.zero + plan.quietAt + .seconds(1_500)
        while judge.violations.count < 12, world.step(until: longest), world.time.steps < 400_000 {
            judge.step(self)
            replyToQuestions()
            stopAtPrompts()
            guard world.time.now >= .zero + plan.quietAt, isDrained else { continue }
            if let freshAt {
                if world.time.now > freshAt, judge.freshIsAnswered(self) { break }
            } else {
                sendFresh()
            }
        }
        judge.end(self, cameToRest: freshAt != nil)
        for (index, side) in world.sides.enumerated() {
            judge.judgeFiles(index, side, self)
            judge.judgeNotices(index, side, self)
        }
        return judge.result(self)
    }

    private func prepare() {
        for (index, side) in world.sides.enumerated() {
            side.mirror = plan.mirrors[index]
            side.bridge.turn.quiet = plan.quiet
            if plan.clocksAhead.indices.contains(index) { side.clockAhead = plan.clocksAhead[index] }
            if plan.deletedChats.indices.contains(index) { side.deletedChats = plan.deletedChats[index] }
            if let bytes = plan.heldBytes { side.bridge.delivery.heldBytes = bytes }
            side.decide = { [weak self, plan] approval in
                if plan.jobs.contains(where: { approval.id.hasSuffix($0.approval) }) { return nil }
                if let ask = OwnAsk(approval.id) { return (ask.tap, ApprovalScope(), ask.wait) }
                let named = plan.messages.first { approval.id.hasSuffix($0.script.approval) }
                let message = named ?? self?.asks(approval, of: index)
                return message?.decision.map { ($0.tap, $0.scope, $0.after) } ?? ("deny", ApprovalScope(), .seconds(1))
            }
            side.onFrameToAgent = { [weak self] frame in
                guard let self else { return }
                judge.leaves(frame, index, self)
            }
            side.onEndTold = { [weak self] frame in
                guard let self else { return }
                judge.endHeard(frame, index, self)
            }
            side.onFrameToRelay = { [weak self] in
                guard let self else { return }
                judge.acknowledged(index, self)
            }
        }
        if let sealing = plan.sealing { prepareSealing(sealing) }
        prepareNotices()
        for message in plan.messages {
            write(message)
            guard let after = message.stopsAfter, !message.stopsAtPrompt else { continue }
            world.sides[message.side].stops(message.text, reason: message.stopReason, after: message.at + after)
        }
        prepareJobs()
        for trouble in plan.troubles {
            world.time.after(trouble.at) { [weak self] in
                guard let self else { return }
                strike(trouble)
                for side in world.sides { side.pump() }
            }
        }
        world.time.after(plan.quietAt) { [weak self] in self?.becomesQuiet() }
    }

    private func stopAtPrompts() {
        for message in plan.messages where message.stopsAtPrompt && !stoppedAtPrompt.contains(message.text) {
            let side = world.sides[message.side]
            guard side.begun(message.text) > 0 else { continue }
            stoppedAtPrompt.insert(message.text)
            side.habits.note("phone: stops a run whose loop has not begun")
            side.stops(message.text, reason: message.stopReason, after: .zero)
        }
    }

    /// The message of an approval that its name does not tell, by the approval's bubble.
    private func asks(_ approval: PhoneApproval, of index: Int) -> WorldPlan.Message? {
        let all = world.sides[index].sent
        // An approval that the relay refused once comes again without its interaction.
        let sent =
            all.first { $0.interaction == approval.interaction } ?? all.last { $0.session == approval.session }
        return plan.messages.first { $0.side == index && $0.text == sent?.text }
    }

    private func write(_ message: WorldPlan.Message) {
        let side = world.sides[message.side]
        let again = message.at + message.secondAfter
        let files = serves(message)
        guard plan.sealing == nil else {
            writesSealed(message.text, message.side, chat: message.chat, files: files, after: message.at)
            guard let second = message.second else { return }
            return writesSealed(
                Self.question(second), message.side, chat: message.chat, under: message.text, after: again)
        }
        guard files.isEmpty else {
            return side.writes(message.text, files: files, chat: message.chat, after: message.at)
        }
        side.writes(message.text, chat: message.chat, level: message.level, after: message.at)
        if let second = message.second {
            side.writesAgain(Self.question(second), under: message.text, after: again)
        }
    }

    /// Nothing is under way or owed anywhere.
    private var isDrained: Bool {
        guard world.isRunning, world.openTurns == 0 else { return false }
        return world.sides.allSatisfy { side in
            side.journal.openTurns.isEmpty && side.relay.pendingUpdates().isEmpty && !side.agentIsBusy
        }
    }

    private func sendFresh() {
        freshAt = world.time.now
        for (index, side) in world.sides.enumerated() {
            if plan.sealing != nil {
                writesSealed(Self.fresh(index), index, chat: 9, after: .zero)
            } else {
                side.writes(Self.fresh(index), chat: 9, after: .zero)
            }
        }
    }

    static func question(_ script: WorldScript) -> String { "Question \(script.name)?" }
    static func fresh(_ side: Int) -> String { "Fresh \(side)?" }

    // MARK: Troubles

    private func becomesQuiet() {
        for (index, side) in world.sides.enumerated() {
            side.network = WorldNetwork()
            side.agentIsWell()
            side.relay.forgetFaults()
            side.relay.forgetSocketFaults()
            side.gives(GatewayScript((20, .says("Fresh \(index).")), (30, .finishes)), to: Self.fresh(index))
        }
        world.disk.isFull = false
        world.disk.syncTime = .milliseconds(2)
        if !world.isRunning { world.start() }
    }

    private func strike(_ trouble: WorldPlan.Trouble) {
        let side = world.sides[trouble.side]
        switch trouble.misfortune {
        case .kill(let down):
            if world.isRunning { world.restarts(down: down) }
            for index in world.sides.indices { judge.judgeJournal(index, self) }
        case .shutDown(let closing, let down): if world.isRunning { world.shutsDown(closing: closing, down: down) }
        case .cutGateway(let away): side.cutAgent(away: away)
        case .cutGatewayBehind(let frames, let away): side.cutAgent(behind: frames, away: away)
        case .deafGateway(let time): side.agentIsDeaf(for: time)
        case .gatewayRestarts(let down): side.agentRestarts(down: down)
        case .cutRelay: side.cutRelay()
        case .cutRelayBehind(let frames): side.network.cutRelayAfter = side.relayFrames + frames
        case .relayAway(let time):
            side.network.relayAwayUntil = world.time.now + time
            side.cutRelay()
        case .call(let fault): side.relay.plan(fault)
        case .socket(let fault): side.relay.plan(fault)
        case .lossyCalls(let rate, let time): losesCalls(side, rate, time)
        case .fullDisk(let time):
            world.disk.isFull = true
            world.time.after(time) { [disk = world.disk] in disk.isFull = false }
        case .slowDisk(let sync, let time):
            world.disk.syncTime = sync
            world.time.after(time) { [disk = world.disk] in disk.syncTime = .milliseconds(2) }
        case .deletesChat(let chat):
            guard let session = side.chats[chat] else { return }
            deleted["\(trouble.side) \(session)"] = world.time.now
            side.deletesChat(chat)
        case .foreignRun(let name, let chat):
            guard let chat else { return foreign(name, in: "agent:main:terminal", side) }
            visit(name, chat, side)
        case .job(let name): foreign(name, in: "agent:main:cron:backup", side)
        case .privateRun(let name, let session): foreign(name, in: session, side)
        case .jobStarts(let job):
            side.gateway.schedulerStarts(job, in: WorldJob.session, at: world.time.now)
        case .jobFinishes(let job):
            side.gateway.schedulerFinishes(job, in: WorldJob.session, at: world.time.now)
        case .relayCancels(let reason): side.relayCancelsMirrored(reason)
        case .leavesJobChat(let archives): leaveJobChat(trouble.side, archives: archives)
        case .revokes(let wait): revoke(trouble.side, wait)
        case .anotherToken:
            side.relay.forgetFaults()
            side.relay.forgetSocketFaults()
            bringToken(trouble.side, after: .zero)
        case .pairing(let time): side.agentRefuses(for: time)
        case .oppi(let trouble): side.happens(trouble)
        case .codex(let trouble): side.happens(trouble)
        case .distortsNumbers(let time): side.distortsAgent(for: time, Self.distort)
        }
    }

    private func losesCalls(_ side: WorldSide, _ rate: Double, _ time: Duration) {
        side.network.fate = { random in
            random.happens(rate) ? random.pick([.lost, .answerLost, .hangs]) : .carried
        }
        world.time.after(time) { [weak side] in side?.network.fate = nil }
    }

    private func foreign(_ name: String, in session: String, _ side: WorldSide) {
        // These worlds give other clients to OpenClaw alone.
        guard side.scripted == nil else { return }
        side.gateway.scripts["Foreign \(name)?"] = Self.foreignScript(name)
        side.gateway.otherClientSends("Foreign \(name)?", in: session, as: name, at: world.time.now)
    }

    private static func foreignScript(_ name: String, toolTakes: Int = 200) -> GatewayScript {
        GatewayScript(
            (30, .says("\(name)w0 ")), (200, .callsTool(id: "\(name)t", command: name)),
            (toolTakes, .toolReturns(id: "\(name)t", output: name)), (100, .says("\(name)w1")), (40, .finishes))
    }

    /// Duration of another client's run in a chat of the phone.
    static let visit = Duration.milliseconds(370 + Int64(visitedTool))
    private static let visitedTool = 1_300

    /// Another client starts a run only in a free session, because the gateway would make it wait, too.
    private func visit(_ name: String, _ chat: Int, _ side: WorldSide) {
        guard side.scripted == nil, let session = side.agentSession(ofChat: chat)?.text,
            side.gateway.isFree(session)
        else { return }
        side.gateway.scripts["Foreign \(name)?"] = Self.foreignScript(name, toolTakes: Self.visitedTool)
        side.gateway.otherClientSends("Foreign \(name)?", in: session, as: name, at: world.time.now)
    }

    private func revoke(_ index: Int, _ wait: Duration) {
        let side = world.sides[index]
        revoked.insert(index)
        _ = side.relay.revoke(token: side.token)
        bringToken(index, after: wait)
    }

    private func bringToken(_ index: Int, after wait: Duration) {
        let side = world.sides[index]
        tokens += 1
        let new = RelayOptions().bridgeToken + "new\(index)x\(tokens)"
        world.time.after(wait) {
            side.relay.admit(token: new)
            side.token = new
            side.use(Secret(new), after: .zero)
        }
    }

    /// Replaces one number in some of the frames.
    private static func distort(_ frame: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
        guard random.happens(0.35) else { return frame }
        let numbers = HostileNumbers.numbers(in: frame)
        guard !numbers.isEmpty else { return frame }
        var distorted = frame
        distorted.replaceSubrange(random.pick(numbers), with: Array(random.pick(HostileNumbers.all).utf8))
        return distorted
    }
}
