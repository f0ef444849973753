import AgentKit
import JSONReading
import Vocabulary

/// One chat's thread: followed while a turn of ours continues in it, found again where the way to it was lost.
///
/// States of its home (which thread it is):
/// - `unknown`: Can transition to `making` (there is a prompt).
/// - `making`: `thread/start` is asked. Can transition to `keeping`, `unknown` (refused, or the link is lost).
/// - `keeping`: the fact is being written. Can transition to `kept`.
/// - `kept`: Can transition to `unknown` (the server has no such thread any more).
///
/// States of the way:
/// - `absent`: Can transition to `joining` (there is something to do).
/// - `joining`: it is resumed, step by step. Can transition to `listing` (resumed, and a turn is to be found), `open`, `waiting` (another
///   process writes the thread), `absent` (refused).
/// - `listing`: the list of turns is asked for; frames of the thread wait for its answer. Can transition to `open`.
/// - `open`: every frame of the thread comes.
/// - `waiting`: Can transition to `absent`.
/// From each of them to `absent`, when the link is lost.
///
/// Invariants:
/// - A prompt is written to a thread in which no turn continues, as far as anything said: Codex would steer the turn in silence. The
///   words that a person adds to a refusal go into our turn that asked, by the turn's name.
/// - It is written again only where the process that it was sent to is alive and has no turn of its label.
/// - Each turn ends: by its own end, by the list of turns where that is lost, or by a sentence.
struct CodexChat {
    enum Order: Hashable {
        case request(Request, String, [UInt8])
        case answer(JSONText, String)
        /// Answered by `kept`.
        case keep(CodexPlace)
        /// Has no answer; nil deletes the record.
        case record(CodexPlace?)
        case observed([Observation])
        case note(String)
        /// `link.efforts` is needed, and the chat goes on when it is there.
        case efforts
        /// The server does not answer.
        case redial(String)
    }

    enum Request: Hashable {
        case start, peek, pauseGoal, unarchive, resume
        case list
        /// Of a turn that a list has in short.
        case items(turn: String)
        case turn(RunID)
        /// A message that steers the active turn.
        case steer(RunID)
        case interrupt(RunID)
        /// Of an earlier stop, beside a newer message that is looked for. Its answer is that of the stop.
        case stop(RunID)
        case probe
        /// A sub-agent's thread, and the turn that continues in it. `isStopping`: it is to be ended.
        case follow(child: String, isStopping: Bool)
        case childTurns(child: String)
        case cleanUp(CodexCleanUp, attempt: Int)
        /// Whatever the answer.
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
        /// Of a run that nothing is known of: it is looked for, and stopped if it continues.
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
    /// A look takes one turn at a time, because each of its commands may hold a megabyte; then the older ones in short.
    static let wholePages = 5
    static let pageLimit = 10
    static let silenceLimit = 2
    static let refusalLimit = 5
    /// Connections that were lost over a thread: after the first ones less is asked for, and after the last it is left.
    static let lossesOfWhole = 2
    static let lossLimit = 5
    static let restAfter = Duration.seconds(300)

    let session: AgentSession
    let settings: CodexSettings
    var home = Home.unknown
    var way = Way.absent
    var turn: CodexTurn?
    /// Of an earlier process, in their order: messages that waited for the turn, or had just left.
    var behind: [CodexTurn] = []
    var errands: [Errand] = []
    var thread = CodexThread()
    var conversation = Conversation()
    var asks = CodexOpenAsks()
    var cleanUps = CodexCleanUps()
    var frames = CodexHeldFrames()
    var link = Link()
    var signs = LifeSigns()

    /// What the chat knows of the way to the server.
    struct Link {
        /// The connection is live, and nothing is wrong with the server.
        var isUp = false
        /// Of the thread that the chat has or had last.
        var folder: String?
        /// In a row, of the thread or of its list of turns.
        var refusals = 0
        /// Connections in a row that were lost while it was resumed or listed.
        var losses = 0
        /// Of the list that is asked for.
        var pages = 0
        /// Requests in a row to begin something that had no answer.
        var silences = 0
        /// Tries in a row to write the prompt that were refused as not possible now.
        var tries = 0
        var backOff = BackOff.link
        var random: UInt64 = 0
        /// Nil: not known on this connection.
        var efforts: CodexEfforts?
        var status = Status.idle(since: nil)
        /// When a thread without anything to do is left.
        var restDue: Instant?
        /// When Codex is asked whether it is there, because a message waits for a turn that is not followed.
        var watchDue: Instant?
        /// When asks count as answered that were not asked again, or whose answer did not end their call.
        var asksDue: Instant?
    }

    /// What the server said last of the thread.
    enum Status: Hashable {
        case active
        /// `since`: the end of its turn has not come, and is looked for in the list.
        case idle(since: Instant?)

        var idleSince: Instant? { if case .idle(let since) = self { since } else { nil } }
    }

    /// What the thread holds for the person.
    struct Conversation {
        /// One that had turns is gone, which the next message's bubble says.
        var isLost = false
        /// The person has deleted the chat: its place is forgotten as soon as nothing of it continues.
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

    /// A thread and its sub-agents'.
    func has(_ id: String) -> Bool { place?.thread == id || thread.subAgents.contains(id) }

    var isBusy: Bool { turn != nil || !behind.isEmpty || thread.turn != nil }
    /// Its place is all that is to be known of it.
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

    /// Until Codex is asked whether it is there. Nil: a person is asked, which takes as long as it takes.
    var silence: Duration? {
        if asks.isEmpty { return CodexTurn.silence }
        return asks.areAnswered ? CodexTurn.answerPatience : nil
    }
    /// A thread that is loaded belongs to this server alone: a person's own programs cannot open it (codex.md#one-writer-several-clients).
    /// What a sub-agent asks that still works has to be answered.
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

    /// The messages that wait cannot be sent now.
    mutating func refusePrompts(_ sentence: String) -> [Order] {
        let refused = errands.compactMap { if case .prompt(let prompt) = $0 { prompt.run } else { nil } }
        errands.removeAll { if case .prompt = $0 { true } else { false } }
        return refused.map { .observed([.sendAnswered(asked: $0, .notSent(sentence: sentence))]) }
    }

    // MARK: The link as a whole

    /// `delay`: before it is joined.
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
            case .event(let event): observed(event, of: run)
            }
        }
    }

    /// The turn of an ignored Stop continues, and its bubble has ended.
    var ignoresStop: Bool { thread.turn?.message == .stopped && turn?.id != thread.turn?.id }

    /// Who the turn in the thread belongs to; nil: no run that is shown.
    var owner: RunID? {
        if let turn, let id = thread.turn?.id, turn.id == id, !isTakenIn { return turn.run }
        if ignoresStop { return nil }
        return thread.turn.map { Self.run(of: $0.id) } ?? turn?.run
    }

    /// Another client's.
    static func run(of turn: String) -> RunID { RunID("codex-\(turn)") }
}

/// Frames of a thread that is resumed and whose turn is not found yet.
struct CodexHeldFrames {
    /// Frames of one turn, which a list holds in full.
    static let limit = 16 << 20

    private(set) var frames: [[UInt8]] = []
    private(set) var heldBytes = 0

    /// False: it is too much.
    mutating func hold(_ frame: UnsafeRawBufferPointer) -> Bool {
        guard heldBytes + frame.count <= Self.limit else { return false }
        var bytes = Array(frame)
        bytes.reserveCapacity(bytes.count + 64)
        frames.append(bytes)
        heldBytes += bytes.count + HeldBytes.entryCost
        return true
    }
}
