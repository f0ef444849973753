package import BridgeCore
import BridgeModel
import FoundationEssentials
import RelayProtocol
import RelayRules

/// What happens in one simulated stretch of time, all of it drawn from a seed or written by a test.
package struct SimulationPlan: Sendable {
    package struct Message: Sendable {
        package var at: Duration
        package var chat: Int
        package var script: RunScript

        package init(at: Duration, chat: Int, script: RunScript) {
            self.at = at
            self.chat = chat
            self.script = script
        }
    }

    package var messages: [Message] = []
    package var restarts: [Duration] = []
    /// How likely a call meets a misfortune.
    package var faultRate = 0.0
    package var latency: ClosedRange<Int64> = 1...40
    /// Nothing in the plan explains a long wait: neither load, nor misfortunes, nor restarts.
    package var expectsPromptness = true
    package var seed: UInt64

    package init(seed: UInt64) { self.seed = seed }

    package static func random(seed: UInt64) -> SimulationPlan {
        var random = SeededGenerator(seed: seed)
        var plan = SimulationPlan(seed: seed)
        plan.faultRate = random.pick([0, 0, 0.05, 0.25])
        let isCrowded = random.happens(0.2)
        let count = isCrowded ? 60 : Int.random(in: 1...12, using: &random)
        for number in 0..<count {
            let kind = isCrowded ? RunScript.Kind.appended : random.pick(RunScript.Kind.allCases)
            let script =
                isCrowded
                ? RunScript.steady(tokens: 60, every: .milliseconds(100))
                : RunScript.random(kind, name: "\(seed)-\(number)", using: &random)
            let chat = isCrowded ? number : Int.random(in: 0...5, using: &random)
            plan.messages.append(
                Message(at: .milliseconds(Int64.random(in: 0...3_000, using: &random)), chat: chat, script: script))
        }
        if !isCrowded, random.happens(0.4) {
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                plan.restarts.append(.milliseconds(Int64.random(in: 0...5_000, using: &random)))
            }
        }
        return plan
    }
}

package struct SimulationResult: Sendable {
    package var violations: [String] = []
    /// From the end being known to the relay having it, per message.
    package var endWaits: [Duration] = []
    package var openWaits: [Duration] = []
    /// When the relay had each end.
    package var endedAt: [Int: Duration] = [:]
    package var deltaTokensTaken = 0
    package var secondsWithWaitingText = 0.0
    /// From text being known to a delta with it leaving.
    package var longestTextWait = Duration.zero
    package var calls = 0
    package var steps = 0
}

/// The decisions of a whole connection on virtual time, against the relay's rules, with an invented agent and a network
/// that loses and delays what it likes. The same plan gives the same run.
package struct Simulation {
    /// Indirect: events are swapped in a heap all the time, and the largest case holds a whole call.
    private indirect enum Happening {
        case userWrites(Int)
        case runStep(message: Int, index: Int)
        case accepted(Int)
        case arrives(CallAttempt, RelayCall, life: Int)
        case answered(CallAttempt, RelayAnswer, life: Int)
        case decides(Int)
        case stops(Int)
        case restart, agentBack
        case lookUp(Int)
    }

    private struct Event {
        var at: Instant
        var order: Int
        var happening: Happening
    }

    private struct Progress {
        var turn: TurnID
        var session: String
        var interaction: String
        var run: RunID
        var begunAt: Instant
        var handedOver = false
        var decided = false
        var missedSteps: [Int] = []
        var lacksBeginning = false
        var aborted = false
        var nextStep = 0
        var endKnownAt: Instant?
    }

    private let plan: SimulationPlan
    private var relay: Relay
    private var random: SeededGenerator
    private var events: [Event] = []
    private var order = 0
    private var now = Instant.zero
    private var progress: [Int: Progress] = [:]
    private var messageOfTurn: [TurnID: Int] = [:]
    private var chats: [Int: String] = [:]
    private var journal = SimulatedJournal()
    private let planted: PlantedFault?
    private var underWay: [TurnID: Int] = [:]
    private var life = 0
    private var agentIsAway = false
    private var closed: Set<TurnID> = []
    private var textSince: [TurnID: Instant] = [:]
    private var told: [TurnID: String] = [:]
    private var result = SimulationResult()

    package static func run(_ plan: SimulationPlan, planted: PlantedFault? = nil) -> SimulationResult {
        var simulation = Simulation(plan, planted)
        return simulation.run()
    }

    private init(_ plan: SimulationPlan, _ planted: PlantedFault?) {
        self.plan = plan
        self.planted = planted
        random = SeededGenerator(seed: plan.seed &* 31 &+ 7)
        var options = RelayOptions()
        options.seed = plan.seed
        relay = Relay(options: options)
    }

    private mutating func run() -> SimulationResult {
        var bridge = Bridge(isJournaled: true, planted: planted)
        for (index, message) in plan.messages.enumerated() { schedule(.userWrites(index), after: message.at) }
        for restart in plan.restarts { schedule(.restart, after: restart) }
        while result.steps < 400_000, result.violations.count < 20 {
            let wake = bridge.nextWake
            if let first = events.first, wake.map({ first.at <= $0 }) ?? true {
                pass(to: first.at, bridge.hasWaitingText)
                removeFirst()
                handle(first.happening, &bridge)
            } else if let wake, wake - Instant.zero < .seconds(5_400) {
                pass(to: max(wake, now), bridge.hasWaitingText)
                bridge.timePassed(at: now)
            } else {
                break
            }
            result.steps += 1
            perform(&bridge)
        }
        judge(bridge.openTurns)
        return result
    }

    private mutating func pass(to moment: Instant, _ textWaits: Bool) {
        if textWaits { result.secondsWithWaitingText += (moment - now).seconds }
        now = moment
    }

    // MARK: What happens

    private mutating func handle(_ happening: Happening, _ bridge: inout Bridge) {
        switch happening {
        case .userWrites(let index): userWrites(index, &bridge)
        case .accepted(let index):
            guard let turn = progress[index]?.turn, let run = progress[index]?.run, !agentIsAway else { return }
            bridge.sendAnswered(.accepted(run: run), for: turn, at: now)
        case .runStep(let index, let step): runStep(index, step, &bridge)
        case .arrives(let attempt, let call, let life): arrives(attempt, call, life)
        case .answered(let attempt, let answer, let life):
            underWay[attempt.turn, default: 1] -= 1
            guard life == self.life else { return }
            if case .delivered = answer.outcome { journal.answered(attempt) }
            bridge.answered(attempt.call, with: answer, at: now, using: &random)
        case .decides(let index):
            guard let decision = plan.messages[index].script.decision else { return }
            guard progress[index]?.aborted == false, progress[index]?.decided == false else { return }
            guard relay.userDecides(approval: decision.approval.text, decision.decision.rawValue, at: moment) else {
                // The card has not reached the phone yet.
                return schedule(.decides(index), after: .seconds(1))
            }
            progress[index]?.decided = true
            bridge.decided(decision.approval, decision.decision, reason: nil, at: now)
        case .stops(let index):
            guard let known = progress[index] else { return }
            bridge.stopped(session: SessionID(known.session), interaction: InteractionID(known.interaction), at: now)
        case .restart:
            life += 1
            agentIsAway = true
            bridge = Bridge(agentPresent: false, isJournaled: true, planted: planted)
            do { try journal.restore(&bridge, at: now) } catch { violation("the journal cannot be read: \(error)") }
            schedule(.agentBack, after: .milliseconds(Int64.random(in: 100...3_000, using: &random)))
        case .agentBack:
            agentIsAway = false
            bridge.agentBack(at: now)
            for index in progress.keys.sorted() { catchUp(index, &bridge) }
        case .lookUp(let index): lookUp(index, &bridge)
        }
    }

    private mutating func userWrites(_ index: Int, _ bridge: inout Bridge) {
        let message = plan.messages[index]
        let sent = relay.userSends(text: "message \(index)", session: chats[message.chat], at: moment)
        chats[message.chat] = sent.session
        let turn = TurnID(sent.interaction)
        let opening = TurnOpening(
            id: turn, session: SessionID(sent.session), interaction: InteractionID(sent.interaction),
            agentSession: AgentSession("chat-\(message.chat)"), run: RunID("run-\(index)"),
            message: UserMessage(
                id: MessageID(sent.message), session: SessionID(sent.session),
                interaction: InteractionID(sent.interaction),
                text: "message \(index)"), receivedAt: now, windowEnds: now + .seconds(1_800))
        progress[index] = Progress(
            turn: turn, session: sent.session, interaction: sent.interaction, run: opening.run, begunAt: now)
        messageOfTurn[turn] = index
        bridge.turnBegins(opening, at: now)
        if let after = message.script.stopsAfter { schedule(.stops(index), after: after) }
    }

    private mutating func runStep(_ index: Int, _ step: Int, _ bridge: inout Bridge) {
        guard var known = progress[index], !known.aborted, step == known.nextStep else { return }
        let steps = plan.messages[index].script.steps
        if waitsForDecision(steps[step], known) {
            return schedule(.runStep(message: index, index: step), after: .seconds(1))
        }
        known.nextStep = step + 1
        progress[index] = known
        if step + 1 < steps.count { schedule(.runStep(message: index, index: step + 1), after: steps[step + 1].after) }
        switch steps[step].event {
        case .finished, .failed:
            if step + 1 == steps.count { progress[index]?.endKnownAt = now }
        default: break
        }
        guard !agentIsAway else {
            progress[index]?.missedSteps.append(step)
            if case .text(.append) = steps[step].event { progress[index]?.lacksBeginning = true }
            if case .text(.segmentEnded) = steps[step].event { progress[index]?.lacksBeginning = false }
            return
        }
        say(index, step, &bridge)
    }

    /// An agent goes on only when it knows what was decided.
    private func waitsForDecision(_ step: RunScript.Step, _ known: Progress) -> Bool {
        if case .approvalSettled = step.event { return !known.decided }
        return step.inFollowUp && !known.decided
    }

    /// After a gap the bus tells again what it keeps: ended messages, tools and open approvals, but neither the text as it grew
    /// nor the end (Oppi sheet 14, OpenClaw sheet 9).
    private mutating func catchUp(_ index: Int, _ bridge: inout Bridge) {
        let steps = plan.messages[index].script.steps
        for step in progress[index]?.missedSteps ?? [] {
            switch steps[step].event {
            case .text(.segmentEnded), .tool, .approvalRequested, .paused, .approvalSettled: say(index, step, &bridge)
            case .started, .text, .retrying, .finished, .failed: break
            }
        }
        progress[index]?.missedSteps = []
    }

    private mutating func say(_ index: Int, _ step: Int, _ bridge: inout Bridge) {
        guard let known = progress[index] else { return }
        let steps = plan.messages[index].script.steps
        if plan.messages[index].script.kind == .segments {
            // A decoder leaves additions out that belong to a message whose beginning it missed.
            switch steps[step].event {
            case .text(.append) where known.lacksBeginning: return
            case .text(.segmentEnded) where known.nextStep == step + 1: progress[index]?.lacksBeginning = false
            default: break
            }
        }
        let follow = plan.messages[index].script.decision.map { RunID("exec-approval-followup:\($0.approval):nonce:1") }
        let run = steps[step].inFollowUp ? follow ?? known.run : known.run
        if case .approvalRequested = steps[step].event, let decision = plan.messages[index].script.decision {
            schedule(.decides(index), after: decision.after)
        }
        if tellsMore(steps[step].event, known.turn), textSince[known.turn] == nil { textSince[known.turn] = now }
        bridge.agentSays(
            RunSignal(run: run, session: AgentSession("chat-\(plan.messages[index].chat)"), event: steps[step].event),
            at: now)
    }

    /// White space at the end of a text waits for what follows it: it is no text that is kept waiting.
    private mutating func tellsMore(_ event: RunEvent, _ turn: TurnID) -> Bool {
        guard case .text(let change) = event else { return false }
        let before = told[turn] ?? ""
        switch change {
        case .append(let more): told[turn] = before + more
        case .snapshot(let text): told[turn] = text
        case .segment(let text): told[turn] = before + text
        case .segmentEnded: return false
        }
        func length(_ text: String) -> Int { text.utf8.count - text.utf8.reversed().prefix { $0 <= 0x20 }.count }
        return length(told[turn] ?? "") != length(before)
    }

    private mutating func arrives(_ attempt: CallAttempt, _ call: RelayCall, _ life: Int) {
        if plan.faultRate > 0, random.happens(plan.faultRate) { relay.plan(Fault(misfortune())) }
        let request = RawRequest(
            method: "POST", target: RelayEncoder.path(of: call),
            headers: [RawHeader("Authorization", "Bearer \(RelayOptions().bridgeToken)")],
            body: RelayEncoder.body(of: call))
        let exchange = relay.respond(to: request, at: moment)
        var result: Result<HTTPResponse, HTTPFailure> = .success(
            HTTPResponse(
                status: exchange.response.status,
                headers: exchange.response.headers.map { HTTPHeader($0.name, $0.value) }, body: exchange.response.body))
        var extra = Duration.zero
        switch exchange.delivery {
        case .normal: break
        case .delayed(let milliseconds): extra = .milliseconds(milliseconds)
        case .responseLost, .connectionReset:
            result = .failure(HTTPFailure(.connectionLost, "the connection was reset", mayHaveBeenApplied: true))
        }
        let answer = RelayDecoder.answer(
            to: result, expecting: RelayDecoder.expected(of: call), wall: moment.milliseconds)
        if exchange.response.status == 200, exchange.delivery == .normal { measure(attempt) }
        let back = Duration.milliseconds(Int64.random(in: plan.latency, using: &random))
        schedule(.answered(attempt, answer, life: life), after: back + extra)
    }

    private mutating func measure(_ attempt: CallAttempt) {
        guard let index = messageOfTurn[attempt.turn], let known = progress[index] else { return }
        if attempt.name == .open { result.openWaits.append(now - known.begunAt) }
        if attempt.name == .end, let end = known.endKnownAt {
            result.endWaits.append(now - end)
            result.endedAt[index] = now - Instant.zero
        }
    }

    private mutating func misfortune() -> Fault.Kind {
        random.pick([
            .rateLimited(retryAfterMilliseconds: 300, namesBucket: true),
            .rateLimited(retryAfterMilliseconds: 200, namesBucket: false), .status(500, retryAfterMilliseconds: nil),
            .status(503, retryAfterMilliseconds: 400), .reset, .replyLost, .html, .truncated, .oddRetryAfter("soon"),
            .slow(milliseconds: 900),
        ])
    }

    private mutating func lookUp(_ index: Int, _ bridge: inout Bridge) {
        guard let known = progress[index], !agentIsAway else { return }
        let script = plan.messages[index].script
        // The first run of a detached approval is over when the follow-up is all that is left.
        let firstRun = script.steps.prefix { !$0.inFollowUp }.count
        if known.nextStep >= script.steps.count {
            bridge.lookedUp(.ended(RunEnd(text: script.wholeText, includesFollowUp: true)), of: known.run, at: now)
        } else if known.nextStep >= firstRun {
            bridge.lookedUp(.ended(RunEnd(text: textSoFar(script, firstRun))), of: known.run, at: now)
        } else {
            bridge.lookedUp(.running(text: textSoFar(script, known.nextStep)), of: known.run, at: now)
        }
    }

    /// The whole of the run's text after so many steps, as an agent would tell it.
    private func textSoFar(_ script: RunScript, _ steps: Int) -> String? {
        var text = ""
        for step in script.steps.prefix(steps) where !step.inFollowUp {
            switch step.event {
            case .text(.append(let more)): text += more
            case .text(.snapshot(let whole)): text = whole
            case .text(.segment), .text(.segmentEnded): return nil
            case .retrying: text = ""
            default: break
            }
        }
        return text
    }

    // MARK: What the bridge wants

    private mutating func perform(_ bridge: inout Bridge) {
        while bridge.hasOrders {
            for order in bridge.takeOrders() {
                if case .keep(let kept, _) = order {
                    do { try journal.keep(kept.record) } catch { violation("not kept: \(error)") }
                } else {
                    perform(order)
                }
            }
        }
    }

    private mutating func perform(_ order: BridgeOrder) {
        switch order {
        case .attempt(let attempt): send(attempt)
        case .command(.send(let turn, _, _, _)):
            guard let index = messageOfTurn[turn], let known = progress[index] else { return }
            if known.handedOver { return violation("message \(index) was handed over twice") }
            progress[index]?.handedOver = true
            schedule(.accepted(index), after: .milliseconds(2))
            if let first = plan.messages[index].script.steps.first {
                schedule(.runStep(message: index, index: 0), after: first.after)
            }
        case .command(.abort(_, let run)):
            guard let index = progress.first(where: { $0.value.run == run })?.key else { return }
            progress[index]?.aborted = true
            progress[index]?.endKnownAt = now
        case .command(.resolve): break
        case .command(.lookUp(_, let run)):
            guard let index = progress.first(where: { $0.value.run == run })?.key else { return }
            schedule(.lookUp(index), after: .milliseconds(5))
        case .turnClosed(let turn, _):
            journal.forget(turn)
            if !closed.insert(turn).inserted { violation("turn \(turn) was closed twice") }
        case .connectionStopped(let code): violation("the connection was stopped: \(code)")
        case .turnOpened, .turnNote, .deliveryNote, .unknownRun, .keep: break
        }
    }

    private mutating func send(_ attempt: CallAttempt) {
        result.calls += 1
        if attempt.name.isText, attempt.attempt == 1, let since = textSince.removeValue(forKey: attempt.turn) {
            result.longestTextWait = max(result.longestTextWait, now - since)
        }
        let call: RelayCall
        switch attempt.payload {
        case .fresh(let fresh):
            call = fresh
            if attempt.durability != nil, attempt.attempt == 1 { journal.store(attempt, fresh) }
        case .stored(let key):
            guard let stored = journal.body(of: key, in: attempt.turn) else {
                return violation("nothing is stored under \(key)")
            }
            call = stored
        }
        underWay[attempt.turn, default: 0] += 1
        let life = life
        // What a killed process had under way may still arrive beside what the next one sends.
        if underWay[attempt.turn, default: 0] > 1, plan.restarts.isEmpty {
            violation("two calls of \(attempt.turn) are under way at once")
        }
        schedule(
            .arrives(attempt, call, life: life), after: .milliseconds(Int64.random(in: plan.latency, using: &random)))
    }

    // MARK: Judgement

    private mutating func violation(_ sentence: String) {
        result.violations.append("at \(now - Instant.zero): \(sentence)")
    }

    private mutating func judge(_ openTurns: Int) {
        result.deltaTokensTaken = relay.tally.tokensTaken["delta"] ?? 0
        for breach in relay.breaches.prefix(5) {
            violation("breach \(breach.code) in \(breach.method): \(breach.sentence)")
        }
        if openTurns > 0 { violation("\(openTurns) turns are still open") }
        let isPrompt = plan.expectsPromptness && plan.faultRate == 0 && plan.restarts.isEmpty
        let longest = result.endWaits.max() ?? .zero
        if isPrompt, longest > .seconds(8) { violation("an end waited \(longest)") }
        if isPrompt, result.longestTextWait > .seconds(4) {
            violation("a text waited \(result.longestTextWait), longer than its share of the bucket explains")
        }
        for session in relay.sessions {
            for task in session.tasks where task.status == nil { violation("task \(task.id) was never finished") }
        }
        for (index, known) in progress.sorted(by: { $0.key < $1.key }) { judge(index, known) }
    }

    private mutating func judge(_ index: Int, _ known: Progress) {
        let script = plan.messages[index].script
        let name = "message \(index) (\(script.kind))"
        let session = relay.sessions.first { $0.id == known.session }
        let answers = session?.messages.filter { $0.role == .agent && $0.interaction == known.interaction } ?? []
        guard answers.count == 1, let answer = answers.first else {
            return violation("\(name) has \(answers.count) bubbles")
        }
        guard answer.isFinal else { return violation("\(name) was never ended") }
        if let expected = script.finalText {
            let isLong = expected.utf8.count > 60_000
            if isLong ? !expected.utf8.starts(with: answer.text.utf8) : answer.text != expected {
                violation(
                    "\(name) ended with \(answer.text.suffix(60).debugDescription) instead of \(expected.suffix(60).debugDescription)"
                )
            }
        }
        if answer.text.isEmpty { violation("\(name) ended empty") }
        if script.streamsPrefix, script.kind != .stopped, !answer.text.utf8.starts(with: answer.streamed.utf8) {
            violation(
                "\(name) streamed what its end does not begin with: \(answer.streamed.suffix(60).debugDescription)")
        }
    }

    // MARK: Time

    private var moment: Moment {
        Moment(milliseconds: 1_770_000_000_000 + (now - Instant.zero).nanoseconds / 1_000_000)
    }

    private mutating func schedule(_ happening: Happening, after: Duration) {
        order += 1
        let event = Event(at: now + after, order: order, happening: happening)
        var child = events.count
        events.append(event)
        while child > 0, Self.isBefore(events[child], events[(child - 1) / 2]) {
            events.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    private mutating func removeFirst() {
        events.swapAt(0, events.count - 1)
        events.removeLast()
        var parent = 0
        while true {
            var smallest = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < events.count {
                if Self.isBefore(events[child], events[smallest]) { smallest = child }
            }
            guard smallest != parent else { return }
            events.swapAt(parent, smallest)
            parent = smallest
        }
    }

    private static func isBefore(_ left: Event, _ right: Event) -> Bool {
        left.at == right.at ? left.order < right.order : left.at < right.at
    }
}
