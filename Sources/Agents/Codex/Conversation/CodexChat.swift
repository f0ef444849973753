import AgentKit
import JSONReading
import Vocabulary

/// One chat's thread, followed while our turn continues in it, and found again after a loss.
///
/// States of its home, the thread:
/// - `unknown`: Can transition to `making` (there is a prompt).
/// - `making`: `thread/start` is unanswered. Can transition to `keeping`, `unknown` (refused, or the link is lost).
/// - `keeping`: the journal writes the fact. Can transition to `kept`.
/// - `kept`: Can transition to `unknown` (the server no longer has the thread).
///
/// States of the way:
/// - `absent`: Can transition to `joining` (there is something to do).
/// - `joining`: the thread is being resumed, step by step. Can transition to `listing` (resumed, with a turn to find), `open`,
///   `waiting` (another process writes the thread), `absent` (refused).
/// - `listing`: the list of turns is unanswered, and frames of the thread wait for it. Can transition to `open`.
/// - `open`: the server sends every frame of the thread.
/// - `waiting`: Can transition to `absent`.
/// A lost link leads from each of them to `absent`.
///
/// Invariants:
/// - A prompt is written only to a thread without a known open turn: Codex would steer that turn in silence. Words that a person
///   adds to a refusal go into our turn that asked, under the turn's id.
/// - A prompt is written again only if the process that it was sent to is alive and has no turn of its label.
/// - Each turn ends: by its own end, by the list of turns if that was lost, or by a sentence.
struct CodexChat {
    enum Order: Hashable {
        case request(Request, String, [UInt8])
        case answer(JSONText, String)
        /// The `kept` event answers it.
        case keep(CodexPlace)
        /// Unanswered; nil deletes the record.
        case record(CodexPlace?)
        case observed([Observation])
        case note(String)
        /// Needs `link.efforts`; the chat continues once they are known.
        case efforts
        /// The server does not answer.
        case redial(String)
    }

    enum Request: Hashable {
        case start, peek, pauseGoal, unarchive, resume
        case list
        /// Items of a turn that a list has in short.
        case items(turn: String)
        case turn(RunID)
        /// A message that steers the active turn.
        case steer(RunID)
        case interrupt(RunID)
        /// Interrupt of an earlier stopped run, while a newer message is looked for. Its answer confirms that stop.
        case stop(RunID)
        case probe
        /// Resumes a sub-agent's thread with its open turn. `isStopping`: that turn shall end.
        case follow(child: String, isStopping: Bool)
        case childTurns(child: String)
        case cleanUp(CodexCleanUp, attempt: Int)
        /// A request whose answer does not matter.
        case aside
    }

    enum Home: Hashable {
        case unknown, making
        case keeping(CodexPlace)
        case kept(CodexPlace)
    }

    enum Way: Hashable {
        case absent, joining, listing, open
        case waiting(until: Instant)
    }

    enum Errand: Hashable {
        case prompt(CodexPrompt)
        case lookUp(RunID)
        /// Stop of an unknown run: the list of turns is searched for it, and an open turn is stopped.
        case abort(RunID, StopReach)

        var run: RunID {
            switch self {
            case .prompt(let prompt): prompt.run
            case .lookUp(let run), .abort(let run, _): run
            }
        }
        var prompt: CodexPrompt? { if case .prompt(let prompt) = self { prompt } else { nil } }
    }

    static let answerLimit = Duration.seconds(30)
    static let interruptLimit = Duration.seconds(3)
    static let probeLimit = Duration.seconds(10)
    /// A look reads five turns whole, one a page, because each command may hold a megabyte; older turns come in short.
    static let wholePages = 5
    static let pageLimit = 10
    static let silenceLimit = 2
    static let refusalLimit = 5
    /// Connections lost while one thread was joined: from `lossesOfWhole` on less is requested, and at `lossLimit` the thread is
    /// given up.
    static let lossesOfWhole = 2
    static let lossLimit = 5
    static let restAfter = Duration.seconds(300)

    let session: AgentSession
    let settings: CodexSettings
    var home = Home.unknown
    var way = Way.absent
    var turn: CodexTurn?
    /// Messages of an earlier process, in order: each waited for the turn, or had just left.
    var behind: [CodexTurn] = []
    var errands: [Errand] = []
    var thread = CodexThread()
    var conversation = Conversation()
    var asks = CodexOpenAsks()
    var cleanUps = CodexCleanUps()
    var frames = CodexHeldFrames()
    var link = Link()
    var signs = LifeSigns()

    /// State of the way to the server.
    struct Link {
        /// The connection is live and the server has no trouble.
        var isUp = false
        /// Folder of the chat's current or last thread.
        var folder: String?
        /// Consecutive refusals of the thread or its list of turns.
        var refusals = 0
        /// Consecutive connections lost while the thread was joining or listing.
        var losses = 0
        /// Pages read of the current list.
        var pages = 0
        /// Consecutive requests to begin something that got no answer.
        var silences = 0
        /// Consecutive writes of the prompt that were refused for now.
        var tries = 0
        var backOff = BackOff.link
        var random: UInt64 = 0
        /// Nil if unknown on this connection.
        var efforts: CodexEfforts?
        var status = Status.idle(since: nil)
        /// When an idle thread is unloaded.
        var restDue: Instant?
        /// When Codex is probed, because a message waits for a turn that is not ours.
        var watchDue: Instant?
        /// When asks count as answered elsewhere: not repeated after a resume, or answered without an end of their call.
        var asksDue: Instant?
    }

    /// Newest status of the thread from the server.
    enum Status: Hashable {
        case active
        /// `since`: the turn's end is missing, and the list is read for it.
        case idle(since: Instant?)

        var idleSince: Instant? { if case .idle(let since) = self { since } else { nil } }
    }

    /// State of the conversation for the person.
    struct Conversation {
        /// A thread with turns was lost; the next message's bubble says so.
        var isLost = false
        /// The person deleted the chat: its place is forgotten once nothing of it continues.
        var isDeleted = false
    }

    init(_ session: AgentSession, _ place: CodexPlace?, _ settings: CodexSettings) {
        self.session = session
        self.settings = settings
        if let place { home = .kept(place) }
        link.folder = place?.folder
    }

    var place: CodexPlace? {
        switch home {
        case .kept(let place), .keeping(let place): place
        case .unknown, .making: nil
        }
    }

    /// The thread or a sub-agent's thread.
    func has(_ id: String) -> Bool { place?.thread == id || thread.subAgents.contains(id) }

    var isBusy: Bool { turn != nil || !behind.isEmpty || thread.turn != nil }
    /// The chat's place is all that needs to be remembered.
    var isAtRest: Bool {
        !isBusy && errands.isEmpty && asks.isEmpty && !asks.hasEarlier && cleanUps.isEmpty && way == .absent
            && !conversation.isLost && { if case .keeping = home { false } else { home != .making } }()
    }
    var heldBytes: Int {
        let waiting = errands.reduce(0) { sum, errand in
            if case .prompt(let prompt) = errand { sum + prompt.heldBytes } else { sum }
        }
        return behind.reduce(waiting) { $0 + $1.prompt.heldBytes } + (turn?.prompt.heldBytes ?? 0) + frames.heldBytes
    }

    var nextDeadline: Instant? {
        var moments = [turn?.nextDeadline(isOpen: way == .open, silence: silence)]
        if way == .open {
            let idleDue = link.status.idleSince.map { $0 + CodexTurn.idlePatience }
            moments += [link.watchDue, link.asksDue, cleanUps.nextDue, idleDue]
            if mayRest { moments.append(link.restDue) }
        }
        if case .waiting(let until) = way { moments.append(until) }
        return moments.compactMap(\.self).min()
    }

    /// Patience before Codex is probed, or nil while a person is asked, who may take any time.
    var silence: Duration? {
        if asks.isEmpty { return CodexTurn.silence }
        return asks.areAnswered ? CodexTurn.answerPatience : nil
    }
    /// A loaded thread belongs to this server alone: a person's own programs cannot open it (codex.md#one-writer-several-clients).
    /// A working sub-agent keeps it loaded, because its asks need an answer.
    var mayRest: Bool {
        way == .open && !isBusy && errands.isEmpty && asks.isEmpty && cleanUps.isEmpty && !thread.hasWorkingChild
    }

    // MARK: Commands

    mutating func send(_ prompt: CodexPrompt, at now: Instant) -> [Order] {
        guard turn?.run != prompt.run, turn?.words?.run != prompt.run, !isBehind(prompt.run),
            !errands.contains(.prompt(prompt))
        else { return [] }
        errands.append(.prompt(prompt))
        return advance(at: now)
    }

    mutating func lookUp(_ run: RunID, at now: Instant) -> [Order] {
        if let known = known(run) { return [.observed([.lookedUp(run, known)])] }
        guard link.isUp, place != nil else { return [.observed([.lookedUp(run, .unknown)])] }
        if !errands.contains(.lookUp(run)) { errands.append(.lookUp(run)) }
        return advance(at: now)
    }

    mutating func resolve(
        _ approval: ApprovalID, _ decision: ApprovalDecision, isUnanswered: Bool, shown: AskFingerprint?,
        at now: Instant
    ) -> [Order] {
        turn?.heard(at: now)
        return say(
            asks.decide(approval, decision, isUnanswered: isUnanswered, shown: shown, isStopping: isStopping))
            + advance(at: now)
    }

    mutating func answer(
        _ question: QuestionID, _ answer: QuestionAnswer, shown: AskFingerprint?, at now: Instant
    ) -> [Order] {
        turn?.heard(at: now)
        return say(asks.answer(question, answer, shown: shown)) + advance(at: now)
    }

    /// The person archived or deleted the chat.
    mutating func release(isDeleted: Bool, at now: Instant) -> [Order] {
        if isDeleted { conversation.isDeleted = true }
        guard mayRest || way == .absent, !isBusy, errands.isEmpty, cleanUps.isEmpty else { return [] }
        return leave()
    }

    mutating func kept(_ isKept: Bool, at now: Instant) -> [Order] {
        guard case .keeping(let place) = home else { return [] }
        guard isKept else {
            home = .unknown
            way = .absent
            let sentence =
                "The bridge could not write down Codex's thread, so the message was not sent. Is the disk full?"
            return refusePrompts(sentence)
        }
        home = .kept(place)
        return advance(at: now)
    }

    /// Refuses the waiting messages, which cannot be sent now.
    mutating func refusePrompts(_ sentence: String) -> [Order] {
        let refused = errands.compactMap { if case .prompt(let prompt) = $0 { prompt.run } else { nil } }
        errands.removeAll { if case .prompt = $0 { true } else { false } }
        return refused.map { .observed([.sendAnswered(asked: $0, .notSent(sentence: sentence))]) }
    }

    // MARK: The link as a whole

    /// `delay`: pause before the thread is joined.
    mutating func linkUp(after delay: Duration? = nil, at now: Instant) -> [Order] {
        link.isUp = true
        link.tries = 0
        if link.losses >= Self.lossLimit {
            link.losses = 0
            let why = "Codex's server ends whenever this chat's thread is opened."
            return refusePrompts(why) + takeLooks().map { .observed([$0]) } + failTurns(why)
        }
        if let delay, turn != nil || !errands.isEmpty || !cleanUps.isEmpty { way = .waiting(until: now + delay) }
        return advance(at: now)
    }

    mutating func linkDown(at now: Instant) -> [Order] {
        link.isUp = false
        wordsAreInDoubt(at: now)
        link.asksDue = nil
        if way == .joining || way == .listing { link.losses += 1 }
        way = .absent
        if home == .making { home = .unknown }
        thread.linkLost()
        asks.linkLost()
        frames = CodexHeldFrames()
        if turn?.state == .written { turn?.state = .doubtful }
        if case .asked = turn?.stop, let lastHeard = turn?.watch.lastHeard {
            turn?.stop = .due(until: lastHeard + CodexTurn.stopPatience)
        }
        cleanUps.linkLost()
        turn?.watch.lookDue = nil
        turn?.watch.interruptDue = nil
        turn?.watch.items = .unread
        link.watchDue = nil
        link.status = .idle(since: nil)
        let looks = errands.filter { if case .lookUp = $0 { true } else { false } }
        errands.removeAll { if case .lookUp = $0 { true } else { false } }
        return looks.map { .observed([.lookedUp($0.run, .unknown)]) }
    }

    // MARK: Observations

    func observed(_ event: RunEvent, of run: RunID?) -> Order {
        .observed([.signal(RunSignal(run: run, session: session, event: event))])
    }

    mutating func say(_ said: [CodexOpenAsks.Said]) -> [Order] { say(said, of: owner) }

    mutating func say(_ said: [CodexOpenAsks.Said], of run: RunID?) -> [Order] {
        said.map { said in
            switch said {
            case .answer(let id, let result): .answer(id, result)
            case .note(let words): .note(words)
            case .told(let words): run.map { .observed([.told($0, words)]) } ?? .note(words)
            case .event(let event): observed(event, of: run)
            }
        }
    }

    /// The turn ignored a Stop and continues; its bubble has ended.
    var ignoresStop: Bool { thread.turn?.message == .stopped && turn?.id != thread.turn?.id }

    /// Run of the thread's open turn, or nil if no bubble shows it.
    var owner: RunID? {
        if let turn, let id = thread.turn?.id, turn.id == id, !isTakenIn { return turn.run }
        if ignoresStop { return nil }
        return thread.turn.map { Self.run(of: $0.id) } ?? turn?.run
    }

    /// Run of another client's turn.
    static func run(of turn: String) -> RunID { RunID("codex-\(turn)") }
}

/// Frames of a thread that is resumed and whose turn is not found yet.
struct CodexHeldFrames {
    /// Bound for the frames of one turn, which a list holds in full.
    static let limit = 16 << 20

    private(set) var frames: [[UInt8]] = []
    private(set) var heldBytes = 0
    /// A prompt waits: any frame may begin another client's turn.
    var holdsBackPrompts: Bool { isReplayed || !frames.isEmpty }
    private var isReplayed = false

    /// False if the frames exceed the limit.
    mutating func hold(_ frame: UnsafeRawBufferPointer) -> Bool {
        guard heldBytes + frame.count <= Self.limit else { return false }
        var bytes = Array(frame)
        bytes.reserveCapacity(bytes.count + 64)
        frames.append(bytes)
        heldBytes += bytes.count + HeldBytes.entryCost
        return true
    }

    /// Hands the frames over for their replay.
    mutating func take() -> [[UInt8]] {
        defer {
            self = Self()
            isReplayed = true
        }
        return frames
    }

    mutating func replayed() { isReplayed = false }
}
