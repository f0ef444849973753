import Vocabulary
import Worlds

@testable import BridgeCore

/// A turn, a relay that may or may not answer, and a judge.
struct Disorder {
    private var random: SeededGenerator
    var turn: Turn
    private var now = Instant.zero

    // The judge's knowledge.
    var faults: [String] = []
    private(set) var history = ""
    private var opened = false
    private var ends = 0
    private var streamed = ""
    private var openTasks: Set<TaskID> = []
    private var finishedTasks: Set<TaskID> = []
    private var messages: Set<WholeMessage.Part> = []
    private var abandoned = false
    private var cards = AskWatch()
    private var silence = SilenceWatch()
    private var freed = 0
    private var closed = 0
    private var stoppedAt: Instant?
    private var resolved: [ApprovalID: ApprovalDecision] = [:]
    private var handedOver = 0
    private var questions = QuestionWatch()
    private let asks: Bool
    /// The whole text as the one snapshot bus sent it, or nil once the bus has sent it in another form.
    private var said: String? = ""

    /// Posts without an answer of the relay, in order, as a lane has them.
    private var waiting: [PostName] = []
    private var held: PostName?
    var inTheOpen: Set<PostName> = []
    private var endedUnspoken = false

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        var own = SeededGenerator(seed: seed ^ 0x6173_6B73)
        asks = own.happens(0.4)
        var settings = TurnSettings()
        if random.happens(0.3) { settings.bubbleLimit = 40 }
        silence = SilenceWatch(seed: seed, &settings)
        var opening = Make.opening
        if random.happens(0.1) { opening.windowEnds = .at(30) }
        if random.happens(0.1) { opening.message = nil }
        if random.happens(0.3) {
            opening.sealing = .sealed(random.happens(0.5) ? KeyName("k1") : nil)
            opening.sealedText = opening.message == nil ? nil : "ct"
            if opening.sealing == .sealed(nil) { opening.message?.text = "" }
        }
        // The other seeds have none, because the planted faults need them as they are.
        if (1_501...2_000).contains(seed) {
            opening.message?.attachments = [Attachment(name: "a"), Attachment(name: "b")]
        }
        turn = Turn(opening, settings: settings)
    }

    mutating func run() {
        let isLate = turn.opening.windowEnds < .at(60)
        if isLate { opened = true }
        take(turn.begin(at: now), "begin")
        for _ in 0..<40 where !turn.isClosed { step() }
        finish()
    }

    // MARK: Events

    mutating func step() {
        now = now + .milliseconds(Int64.random(in: 0...3_000, using: &random))
        if random.happens(0.01) { now = now + .seconds(1_750) }
        now = now + silence.pause()
        passTime()
        if let activity = silence.isAlive() { take(turn.runEvent(.alive(activity), of: RunID("r1"), at: now), "alive") }
        switch Int.random(in: 0..<20, using: &random) {
        case 0: take(turn.handOver(at: now), "handOver")
        case 1:
            let answers: [SendAnswer] = [
                .accepted(run: RunID("r1")), .accepted(run: RunID("r9")), .noRun, .refused(message: "no"),
                .notSent(sentence: "no"),
            ]
            let answer = answers[random.happens(0.8) ? 0 : Int.random(in: 0..<4, using: &random)]
            take(turn.sendAnswered(answer, at: now), "sendAnswered \(answer)")
        case 2 where random.happens(0.3):
            if stoppedAt == nil, turn.outcome == nil { stoppedAt = now }
            take(turn.stopRequested(at: now), "stop")
        case 3 where random.happens(0.5): take(turn.agentLost(at: now), "lost")
        case 3: take(turn.agentBack(at: now), "back")
        case 4 where turn.awaitsKey && random.happens(0.5):
            let text: OpenedText = random.happens(0.8) ? .text("hello") : .unreadable
            take(turn.keyCame(KeyName("k1"), turn.opening.message == nil ? nil : text, at: now), "key \(text)")
        case 4 where turn.phase == .fetching:
            let missing = random.happens(0.5) ? 1 : 0
            take(turn.fetched(TurnFilesTests.fetched(turn.opening, missing: missing), at: now), "fetched")
        case 4 where random.happens(0.5): decide()
        case 4: answer()
        case 5:
            let lookups: [RunLookup] = [
                .unknown, .waits, .running(text: nil), .running(text: text()), .ended(RunEnd(text: text())),
                .ended(RunEnd()), .failed(RunFailure(message: "x")),
            ]
            let lookup = random.pick(lookups)
            said = nil
            take(turn.lookedUp(lookup, at: now), "lookedUp \(lookup)")
        case 6...9: relayAnswers()
        default: event()
        }
    }

    private mutating func passTime() {
        guard let deadline = turn.nextDeadline, deadline <= now else { return }
        take(turn.deadlineHit(at: now), "deadline")
        if let next = turn.nextDeadline, next <= now { faults.append("a deadline stays in the past") }
    }

    private mutating func decide() {
        let id = ApprovalID("a\(Int.random(in: 1...3, using: &random))")
        let decision: ApprovalDecision = random.pick([.approve, .approveAlways, .deny])
        let reason = random.happens(0.3) ? random.pick(["late", "expired", "timeout", "limit"]) : nil
        let newest = turn.approvals.approvals[id]?.cards.card.approval ?? id
        let card = random.happens(0.8) ? newest : id
        if decision != .deny, stoppedAt == nil { cards.allowed(card, of: id) }
        take(turn.decided(card, decision, reason: reason, at: now), "decided \(card) \(decision) \(reason ?? "")")
    }

    private mutating func answer() {
        let text = random.pick(["1", "2", "/skip", "own"])
        guard let given = questions.answers(turn, text, &faults) else { return }
        take(
            turn.answered(given.question, by: given.answerer, given.answer, words: given.words), "answered \(given)")
    }

    private mutating func event() {
        let event = runEvent()
        if case .asked(let question) = event { questions.asked(question.id) }
        let run = random.pick(["r1", "r1", "r1", "r9", "exec-approval-followup:a1"])
        switch event {
        case .text(.snapshot(let text)) where run == "r1": if said != nil, turn.outcome == nil { said = text }
        case .approvalRequested(let request):
            if turn.outcome == nil { cards.asked(request) }
        case .tool, .approvalSettled: break
        default: said = nil
        }
        take(turn.runEvent(Self.spoilt(event), of: RunID(run), at: now), "\(run) \(event)")
    }

    private mutating func text() -> String {
        let words = ["I ", "look", "\n\n", "caf\u{E9}", "cafe\u{301}", "👩‍👩‍👧", "e\u{301}", " ", "ok."]
        return (0..<Int.random(in: 0...9, using: &random)).map { _ in random.pick(words) }.joined()
    }

    private mutating func runEvent() -> RunEvent {
        let call = ToolCallID("c\(Int.random(in: 1...3, using: &random))")
        let id = ApprovalID("a\(Int.random(in: 1...3, using: &random))")
        let channel: ToolChannel = random.pick([.call, .command, .item])
        let question = QuestionID("q\(Int.random(in: 1...3, using: &random))")
        switch Int.random(in: 0..<(asks ? 18 : 16), using: &random) {
        case 0: return .started
        case 1...2: return .text(.append(text()))
        case 3: return .text(.snapshot((said ?? "") + text()))
        case 4: return .text(.segment(text()))
        case 5: return .text(.segmentEnded(random.happens(0.7) ? text() : nil))
        case 6...7: return .tool(.started(ToolStart(call: call, channel: channel, name: "exec")))
        case 8: return .tool(.progress(ToolProgress(call: call, channel: channel, output: text(), append: true)))
        case 9...10:
            return .tool(
                .finished(ToolResult(call: call, channel: channel, status: random.pick([.completed, .failed]))))
        case 11:
            return .approvalRequested(
                ApprovalRequest(
                    id: id, subject: .exec, title: "x", command: AskWatch.command(using: &random),
                    expiresAt: random.happens(0.3) ? now + .seconds(20) : nil,
                    allowed: random.happens(0.2) ? [.deny] : nil))
        case 12:
            let outcome: ApprovalSettlement.Outcome = random.pick([
                .decided(.approve), .decided(.deny), .expired, .unknown, .cancelled, .inDoubt, .gone,
            ])
            return .approvalSettled(ApprovalSettlement(id: id, outcome: outcome))
        case 13: return .paused(PausedCall(call: random.happens(0.7) ? call : nil, approval: id))
        case 14: return .retrying(reason: "x")
        case 16: return .asked(QuestionWatch.question(question, at: now, using: &random))
        case 17:
            return .questionSettled(
                QuestionSettlement(
                    id: question, random.pick([.answered, .answeredElsewhere, .expired, .unknown, .cancelled])))
        default:
            guard random.happens(0.7) else { return .failed(RunFailure(message: "x", text: text())) }
            return .finished(
                RunEnd(
                    text: random.happens(0.6) ? text() : nil, reason: random.happens(0.9) ? .stop : .aborted,
                    truncated: random.happens(0.2)))
        }
    }

    // MARK: The relay

    private mutating func relayAnswers() {
        guard held == nil, let name = waiting.first else { return }
        waiting.removeFirst()
        let roll = Int.random(in: 0..<40, using: &random)
        let codes: [RelayErrorCode] = [.invalidRequest, .payloadTooLarge, .contentBlocked, .messageFinalized]
        switch (roll, name) {
        case (0, _): report(.destinationGone(.sessionDeleted))
        case (1, let name) where !name.isMessage:
            // The lane drops everything that carries the interaction.
            waiting.removeAll { if case .message = $0 { false } else if case .approval = $0 { false } else { true } }
            report(.windowClosed)
        case (2...6, .open), (2...6, .end), (2...6, .message), (2...6, .approval):
            held = name
            var refusal = PostRefusal(random.pick(codes), concernsText: random.happens(0.5))
            if turn.opening.sealing.key != nil { refusal.lacksKey = random.happens(0.3) && name != .open }
            report(.refused(name, refusal))
            if held != nil, !turn.isClosed { faults.append("a refusal of \(name) was left without an answer") }
        case (2...6, .text):
            // The text that waits behind it is dropped as well.
            waiting.removeAll { $0.isText }
            report(.dropped(name, .invalidRequest))
        case (2...6, _): report(.dropped(name, .invalidRequest))
        case (7, .message), (7, .approval): report(.deadLetter(name))
        default:
            questions.delivered(name)
            report(.delivered(name, message: nil))
        }
    }

    private mutating func report(_ report: PostReport) { take(turn.reported(report, at: now), "relay: \(report)") }

    // MARK: The end of the story

    /// The agent is silent and the relay accepts everything from here on: the turn must close.
    private mutating func finish() {
        for _ in 0..<2_000 where !turn.isClosed {
            if held == nil, !waiting.isEmpty {
                report(.delivered(waiting.removeFirst(), message: nil))
                continue
            }
            guard let deadline = turn.nextDeadline else { break }
            now = max(now, deadline)
            take(turn.deadlineHit(at: now), "deadline at \(now.nanoseconds / 1_000_000_000) s")
        }
        if !turn.isClosed { faults.append("it never closes: \(turn.phase)") }
        if closed != 1 { faults.append("closed \(closed) times") }
        // A late key lets a message say the rest.
        if endedUnspoken, inTheOpen.isEmpty, messages.isEmpty { faults.append("nothing says why the end is empty") }
        questions.end(&faults)
        if freed != 1 { faults.append("the agent was freed \(freed) times") }
    }

    // MARK: The judge

    private mutating func take(_ orders: [TurnOrder], _ what: String) {
        history += "\(what)\n"
        // The bubble then has a line of ours.
        if orders.contains(.stuck) { said = nil }
        for order in orders.flatMap(Self.spoilt) {
            history += "    \(order)\n"
            judge(order)
        }
        // An end stops the preview.
        if streamed != turn.preview.streamed, !turn.preview.isOver, !turn.bubble.isOver {
            faults.append("the preview believes in other text than was streamed")
        }
        if let stoppedAt, turn.outcome == nil, now - stoppedAt > .seconds(5), turn.phase != .closed(.gone),
            turn.nextDeadline.map({ $0 <= now }) != true
        {
            faults.append("a stopped turn is still open after 5 s")
        }
    }

    private mutating func judge(_ order: TurnOrder) {
        silence.judge(order, turn, at: now, &faults)
        switch order {
        case .post(let post): judge(post)
        case .replace(let post, let more):
            guard let refused = held else { return faults.append("replaced what was not refused") }
            held = nil
            if refused == .open { loseBubble() }
            for post in ([post] + more).reversed() {
                judgeSealing(post)
                if case .message(let message) = post { judge(message) }
                if case .approval(let card) = post, !cards.replaced(by: card) { faults.append("asked a fourth time") }
                switch post {
                case .end, .message, .approval: waiting.insert(post.name, at: 0)
                case .open, .text, .taskStarted, .taskProgress, .taskEnded: faults.append("replaced by \(post)")
                }
            }
        case .skip:
            guard let refused = held else { return faults.append("skipped what was not refused") }
            held = nil
            if refused == .open { loseBubble() }
        case .abandonLane:
            held = nil
            waiting = []
            abandoned = true
            // A task that was never sent needs no end.
            openTasks = []
        case .command(let command): judge(command)
        case .answerEnded(let answerer, _): questions.heard(answerer, &faults)
        case .withdrawAnswer: faults.append("withdrew an answer that it is not")
        case .agentFree: freed += 1
        case .closed: closed += 1
        case .closeWindow: openTasks = []
        case .dropUnsealed:
            waiting.removeAll { $0 != .open && $0 != .end && !inTheOpen.contains($0) }
            openTasks = []
        case .fetch: if turn.phase != .fetching { faults.append("fetched for nobody") }
        case .tellsInParts:
            if !turn.approvals.hasOpenParts { take(turn.tellInParts(at: now), "told in parts") }
        case .wantsCard(let ask): take(turn.askAgain(ask, at: now), "asked again \(ask)")
        case .wantsReminder(let question): take(turn.remind(of: question, at: now), "reminded of \(question)")
        case .stopPreview, .note, .useSealing, .endsAreRefused, .stuck: break
        }
    }

    /// The lane's part when its open is given up.
    private mutating func loseBubble() {
        waiting.removeAll { if case .message = $0 { false } else if case .approval = $0 { false } else { true } }
        openTasks = []
    }

    private mutating func judge(_ post: Post) {
        judgeSealing(post)
        if case .message(let message) = post {
            judge(message)
            questions.posted(.message(message.part), message.text)
            return waiting.append(.message(message.part))
        }
        if case .approval(let card) = post {
            if !cards.posted(card) { faults.append("asked twice") }
            return waiting.append(.approval(card.approval))
        }
        if post == .open {
            if opened { faults.append("opened twice") }
            opened = true
            return waiting.append(.open)
        }
        if !opened || ends > 0 || turn.opening.windowEnds < .at(60) { faults.append("\(post) outside the bubble") }
        switch post {
        case .text(let text):
            if text.isEmpty { faults.append("empty text") }
            streamed += text
            if streamed.utf8.count > turn.settings.bubbleLimit { faults.append("streamed beyond the limit") }
            if let said, !extends(said, streamed) { faults.append("streamed what was never said") }
            let name = PostName.text(endOffset: streamed.utf8.count)
            questions.posted(name, text)
            waiting.append(name)
        case .taskStarted(let start):
            if openTasks.contains(start.task) || finishedTasks.contains(start.task) { faults.append("created twice") }
            openTasks.insert(start.task)
        case .taskProgress(let progress):
            if !openTasks.contains(progress.task) { faults.append("progress of a task that is not open") }
        case .taskEnded(let end):
            if openTasks.remove(end.task) == nil { faults.append("\(end.task) was finished but is not open") }
            finishedTasks.insert(end.task)
            waiting.append(.taskEnded(end.task))
        case .end(let end):
            ends += 1
            if !openTasks.isEmpty { faults.append("ended with open tasks") }
            if end.text.isEmpty, turn.opening.sealing.canSpeak { faults.append("ended empty") }
            endedUnspoken = end.text.isEmpty
            if end.text.utf8.count > turn.settings.bubbleLimit { faults.append("the end is too long") }
            waiting.append(.end)
        case .open, .approval, .message: break
        }
    }

    private mutating func judge(_ message: WholeMessage) {
        cards.posted(message)
        if !messages.insert(message.part).inserted { faults.append("\(message.part) was used twice") }
        if message.text.allSatisfy(\.isWhitespace) { faults.append("a message without words") }
    }

    private mutating func judge(_ command: AgentCommand) {
        switch command {
        case .send(_, _, _, let message):
            handedOver += 1
            if message.attachments.contains(where: { $0.outcome == nil }) {
                faults.append("sent before its files came")
            }
            if handedOver > 1 { faults.append("handed over twice") }
            if stoppedAt != nil { faults.append("handed over after a stop") }
        case .resolve(let id, _, let decision, _, _, _, _):
            if resolved[id] == .deny, decision != .deny { faults.append("approved what was denied") }
            if decision != .deny, stoppedAt != nil { faults.append("approved after a stop") }
            if decision != .deny, !cards.wasAllowed(id) { faults.append("approved what no one saw") }
            resolved[id] = decision
        case .answer(let id, _, let answer, _): questions.left(id, answer, afterStop: stoppedAt != nil, &faults)
        case .abort, .lookUp, .release: break
        }
    }
}
