import AgentKit
import JSONReading
import Vocabulary

/// One chat's conversation with pi: a process while it is needed, its session file while it is not (pi.md#minimal-connector-loop).
///
/// States of the process:
/// - `absent`: Can transition to `starting` (there is an errand).
/// - `starting`: ordered; `get_state` is asked as soon as it runs. Can transition to `keeping`, `ready`, `waiting` and `absent`
///   (it ended, or did not answer).
/// - `keeping`: its session file is being written down. Can transition to `ready`; `waiting` or `absent` (it ended).
/// - `ready`: Can transition to `leaving` (idle, or its place or its queue is wanted), `absent` (it ended).
/// - `leaving`: asked to end. Can transition to `absent`.
/// - `waiting`: it failed to start, and is tried again. Can transition to `starting`, `absent` (given up).
///
/// Invariants:
/// - A prompt is written once, to a process that is ready and idle; the next process finds its session file. A process that ends takes
///   its run with it: no prompt is repeated, because its tools may have run.
/// - Each request has a deadline; a process that misses one is ended.
/// - Every errand is answered: by the process, or by a sentence after the third start that failed.
struct PiChat {
    enum Order: Hashable {
        /// With this session file; nil begins a new session.
        case start(file: String?)
        case write([UInt8])
        /// It ends by itself then; `kill` follows if it does not.
        case closeInput
        /// It counts as ended: its exit is not reported.
        case kill
        case keep(file: String)
        /// Nothing is to be found of the chat by the next process.
        case forget
        /// Read these for the prompt of that run; answered by `loaded`.
        case load(RunID, [MessageFile])
        case observed([Observation])
        case replied(QueryID, AgentReply)
        case note(String)
    }

    enum Errand: Hashable {
        case prompt(RunID, PicturePrompt)
        /// `text`: of the prompt that began it, where it is known.
        case lookUp(RunID, text: String?)
        case models(QueryID)

        func isPrompt(of run: RunID) -> Bool { if case .prompt(run, _) = self { true } else { false } }
    }

    enum Process: Equatable {
        case absent, starting
        case keeping(file: String)
        case ready
        case leaving(until: Instant)
        case waiting(until: Instant)
    }

    /// Said into the run, which has not taken it yet.
    struct Words: Hashable {
        let run: RunID
        var prompt: PicturePrompt
    }

    static let startLimit = Duration.seconds(30)
    static let answerLimit = Duration.seconds(30)
    static let idleLimit = Duration.seconds(600)
    static let startTries = 3
    /// From the end of its input to SIGKILL (pi.md#process-end).
    static let leaveLimit = Duration.seconds(3)

    let session: AgentSession
    var home: PiHome
    var process = Process.absent
    var errands: [Errand] = []
    var turn: PiTurn?
    var words: Words?
    /// pi has a message in its queue that the next prompt must not meet.
    var leavesQueue = false
    var silence = PiSilence()
    /// Since when there has been nothing to do; nil while there is.
    private(set) var idleSince: Instant?
    var decoder: PiDecoder
    var requests = PiRequests()
    var dialogs = PiDialogs()
    var failures = PiFailures()
    var seat = PiSeat()
    /// Prompts that may be looked up, until their run has ended.
    var asked: [RunID: PiQuestion] = [:]

    /// `mark` is in the names of runs that no prompt began: another process of the bridge must not give the same ones.
    init(_ session: AgentSession, place: PiChats.Place, mark: String) {
        self.session = session
        home = PiHome(place)
        decoder = PiDecoder(session, runPrefix: "\(session)-\(mark)-")
        decoder.signs = LifeSigns()
    }

    var isWanted: Bool { !errands.isEmpty || turn != nil || requests.hasQuestions }
    /// Its session file is all that is to be known of it.
    var isAtRest: Bool { process == .absent && !isWanted && asked.isEmpty && decoder.isIdle }
    /// It could end without anything being lost.
    var mayLeave: Bool { process == .ready && idleSince != nil && file != nil }
    var file: String? { home.file }
    func holds(_ approval: ApprovalID) -> Bool { dialogs.holds(approval) }
    /// Of prompts that wait or may be looked up.
    var heldBytes: Int {
        let pictures = errands.reduce(0) { sum, errand in
            if case .prompt(_, let prompt) = errand { sum + prompt.heldBytes } else { sum }
        }
        return asked.values.reduce(pictures) { $0 + $1.text.utf8.count + HeldBytes.entryCost }
    }
    /// The bubble of one of our prompts can show what it asks.
    private var isHeard: Bool {
        guard let turn else { return errands.contains { if case .prompt = $0 { true } else { false } } }
        return !turn.isStopping
    }

    var nextDeadline: Instant? {
        var moments = [requests.nextDeadline, decoder.nextDeadline, dialogs.nextExpiry, turn?.stopDeadline]
        moments.append(nextProbe)
        if mayLeave { moments.append(idleSince.map { $0 + Self.idleLimit }) }
        switch process {
        case .waiting(let until), .leaving(let until): moments.append(until)
        case .absent, .starting, .keeping, .ready: break
        }
        return moments.compactMap(\.self).min()
    }

    private var nextProbe: Instant? {
        guard process == .ready, failures.doom == nil, !requests.isProbing, turn != nil || !decoder.isIdle else {
            return nil
        }
        return silence.nextProbe(of: turn)
    }

    mutating func remember(_ question: PiQuestion?, of run: RunID) { asked[run] = question }

    // MARK: Commands

    mutating func send(
        _ run: RunID, _ prompt: PicturePrompt, in folder: String? = nil, wallMilliseconds: Int64? = nil, at now: Instant
    ) -> [Order] {
        asked[run] = PiQuestion(text: prompt.text, notBefore: wallMilliseconds)
        home.moves(to: folder)
        (home.isLeft, home.isForgotten) = (false, false)
        let behind = errands.lastIndex { if case .prompt(_, let other) = $0 { other.steers } else { false } }
        errands.insert(.prompt(run, prompt), at: prompt.steers ? (behind ?? -1) + 1 : errands.count)
        return advance(at: now) + cards(seat.show(waitingPrompts))
    }

    mutating func lookUp(_ run: RunID, at now: Instant) -> [Order] {
        if turn?.run == run { return [.observed([.lookedUp(run, .running(text: nil))])] }
        if words?.run == run { return [.observed([.lookedUp(run, .waits)])] }
        errands.append(.lookUp(run, text: asked[run]?.text))
        return advance(at: now)
    }

    mutating func models(_ query: QueryID, at now: Instant) -> [Order] {
        errands.append(.models(query))
        return advance(at: now)
    }

    mutating func abort(_ run: RunID, at now: Instant) -> [Order] {
        if let dropped = dropWords(of: run) { return dropped }
        let isQueued = isToWrite(run)
        errands.removeAll { $0.isPrompt(of: run) }
        if isQueued { asked[run] = nil }
        if errands.isEmpty, seat.isAwaited { return giveUpPlace() + [.observed([.abortAnswered(run)])] }
        guard !isQueued, turn?.run == run, turn?.isStopping == false else {
            return turn?.run == run ? [] : [.observed([.abortAnswered(run)])]
        }
        turn?.state = .stopping(until: now + PiTurn.stopPatience)
        return [.write(PiFrames.abort(requests.add(.abort(run), for: PiTurn.stopPatience, at: now)))]
    }

    /// All places for processes are taken: it is started when one is free.
    mutating func awaitsPlace(running: Int, behind chats: [WaitingChat]) -> [Order] {
        guard process == .starting else { return [] }
        let changed = seat.awaits(running: running, behind: chats)
        return cards(changed + seat.show(waitingPrompts)) + [.note("\(seat.note); a message waits")]
    }

    /// Nothing is left that its process was to be started for.
    private mutating func giveUpPlace() -> [Order] {
        _ = seat.isFree([])
        process = .absent
        return [.kill]
    }

    private var waitingPrompts: [RunID] { errands.compactMap { if case .prompt(let run, _) = $0 { run } else { nil } } }

    private func cards(_ cards: [(run: RunID, card: ToolEvent)]) -> [Order] {
        cards.map { .observed([signal(.tool($0.card), of: $0.run)]) }
    }

    /// Its place is wanted, or what is queued in it is not.
    mutating func leave(at now: Instant) -> [Order] {
        switch process {
        case .ready:
            process = .leaving(until: now + Self.leaveLimit)
            return [.closeInput]
        case .absent, .starting, .keeping, .leaving, .waiting: return []
        }
    }

    // MARK: The process

    mutating func spawned(at now: Instant) -> [Order] {
        guard process == .starting else { return [] }
        return cards(seat.isFree(waitingPrompts))
            + [.write(PiFrames.state(requests.add(.barrier, for: Self.startLimit, at: now)))]
    }

    mutating func received(_ root: FrameNode, at now: Instant) -> [Order] {
        let isResponse = root["type"]?.holds("response") == true
        silence.heard(isResponse ? .answer : .event, at: now)
        var orders: [Order] = []
        if root["type"]?.holds("extension_ui_request") == true {
            switch dialogs.requested(root, isHeard: isHeard, at: now) {
            case .notice, .ask: break
            case .cancel(let id):
                let method = root["method"]?.string ?? "?"
                return [.write(PiFrames.answer(.cancelled, to: id)), .note("a dialog (\(method)) cannot be shown")]
            }
        }
        orders += heard(decoder.received(root, at: now), at: now)
        if isResponse { orders += answered(root, at: now) }
        return orders + advance(at: now)
    }

    mutating func kept(_ isKept: Bool, at now: Instant) -> [Order] {
        guard case .keeping(let path) = process else { return [] }
        process = .ready
        guard isKept else {
            let sentence =
                "The bridge could not write down pi's session, so the message was not sent. Is the disk full?"
            return refuseErrands(sentence, prompts: true) + advance(at: now)
        }
        home.wasKept(path)
        return advance(at: now)
    }

    /// `reason`: how it ended, in words.
    mutating func ended(_ reason: String, hasRun: Bool, at now: Instant) -> [Order] {
        let failed = process == .starting || { if case .keeping = process { true } else { false } }()
        failures.doom = nil
        var orders = cards(seat.isFree(waitingPrompts)) + heard(decoder.settle(), at: now)
        orders += loseTurn(reason)
        decoder.abandonRun()
        leavesQueue = false
        orders += dialogs.takeAll().map { .observed([gone($0, isExpired: false)]) }
        for purpose in requests.takeAll() { orders += unanswered(purpose) }
        orders += processEnded() + levelOfEndedProcess()
        process = .absent
        idleSince = nil
        guard failed else { return orders + advance(at: now) }
        guard hasRun, let delay = failures.next() else {
            failures.forget()
            return orders + refuseErrands("pi could not be started: \(reason)", prompts: false)
        }
        process = .waiting(until: now + delay)
        return orders
    }

    // MARK: Time

    mutating func timePassed(at now: Instant) -> [Order] {
        var orders: [Order] = []
        switch process {
        case .waiting(let until) where until <= now: process = .absent
        case .leaving(let until) where until <= now: failures.doom = "it did not end by itself"
        case .absent, .starting, .keeping, .ready, .leaving, .waiting: break
        }
        for purpose in requests.takeExpired(at: now) { orders += overdue(purpose, at: now) }
        if let deadline = decoder.nextDeadline, deadline <= now {
            orders += heard(decoder.deadlineHit(at: now), at: now)
        }
        orders += dialogs.takeExpired(at: now).map { .observed([gone($0, isExpired: true)]) }
        if let deadline = turn?.stopDeadline, deadline <= now { orders += stopOverdue() }
        if let nextProbe, nextProbe <= now {
            // Of a prompt that is unanswered the limit counts from the last sign of life.
            let limit = turn?.state == .prompted ? PiSilence.limit - PiTurn.startPatience : Self.answerLimit
            orders.append(.write(PiFrames.state(requests.add(.probe, for: limit, at: now))))
        }
        if mayLeave, let idleSince, idleSince + Self.idleLimit <= now { orders += leave(at: now) }
        return orders + advance(at: now)
    }

    /// The computer slept, and pi with it: that it said nothing meanwhile proves nothing, and what is awaited of it has its
    /// whole time again.
    mutating func slept(at now: Instant) {
        silence.heard(.event, at: now)
        requests.slept(at: now)
        decoder.slept(at: now)
        if case .leaving = process { process = .leaving(until: now + Self.leaveLimit) }
        if turn?.isStopping == true { turn?.state = .stopping(until: now + PiTurn.stopPatience) }
    }
}

extension PiChat {
    // MARK: What is next

    mutating func advance(at now: Instant) -> [Order] {
        if let doom = failures.doom { return [.kill] + ended(doom, hasRun: true, at: now) }
        defer { idleSince = isWanted || process != .ready || !decoder.isIdle ? nil : idleSince ?? now }
        switch process {
        case .absent:
            guard !errands.isEmpty else { return forgetIfLeft() }
            process = .starting
            home.isStarted()
            return [.start(file: file)]
        case .ready where leavesQueue && turn == nil: return leave(at: now)
        case .ready: return nextErrand(at: now) + leaveIfLeft(at: now)
        case .starting, .keeping, .leaving, .waiting: return []
        }
    }

    private mutating func nextErrand(at now: Instant) -> [Order] {
        var orders: [Order] = []
        while let errand = errands.first {
            switch errand {
            case .prompt(let run, let prompt):
                if let steering = steer(run, prompt, at: now) {
                    errands.removeFirst()
                    return orders + steering
                }
                // A prompt into a loop that is going would be queued there, and its answer be another run's.
                guard turn == nil, decoder.isIdle else { return orders }
                // The next process works where it is to be carried out.
                if home.isElsewhere { return orders + leave(at: now) }
                let (said, mayGo) = choose(prompt.model, for: run, at: now)
                orders += said
                guard mayGo else { return orders }
                let (saidOfLevel, isLevelSet) = choose(prompt.level, for: run, at: now)
                orders += saidOfLevel
                guard isLevelSet else { return orders }
                guard prompt.isReady else { return orders + [.load(run, prompt.pictures)] }
                let id = requests.add(.prompt(run), for: PiTurn.promptLimit, at: now)
                decoder.willBegin(run, prompt.frameText, request: id)
                turn = PiTurn(run: run)
                silence.heard(.event, at: now)
                orders.append(.write(PiFrames.prompt(prompt, id)))
            case .lookUp(let run, _):
                let id = requests.add(.history(run, isLive: false), for: Self.answerLimit, at: now)
                orders.append(.write(PiFrames.messages(id)))
            case .models(let query):
                let id = requests.add(.models(query), for: Self.answerLimit, at: now)
                orders.append(.write(PiFrames.models(id)))
            }
            errands.removeFirst()
        }
        return orders
    }
}
