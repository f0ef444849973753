import AgentKit
import JSONReading
import Vocabulary

/// One chat's conversation with an agent that is its child. The child exists while it is needed, the place of its session always.
///
/// The way to the child:
///
/// | state | means | leads to |
/// |---|---|---|
/// | `absent` | no child | `reaching`: there is something to do |
/// | `reaching` | the walk to a plan (`Dialect.reach`) | `opening` · `waiting`, `absent`: it failed |
/// | `opening` | the host starts it, or has no place for it yet | `greeting`: it runs · `waiting`, `absent`: it died · `absent`: nobody waits |
/// | `greeting`, `joining` | the walks to a child that answers and has its session | `keeping` · `open` · `waiting`, `absent`: it died |
/// | `keeping` | the journal writes its place | `open`, without the prompts if the disk is full · `waiting`, `absent`: it died |
/// | `open` | prompts may begin | `keeping`: its place is unwritten, and a prompt waits · `leaving`: idle, its place or its queue is wanted, the chat was left or moved · `absent`: it died |
/// | `leaving` | asked to end | `absent` |
/// | `waiting` | the start failed; a later try is due | `reaching` · `absent`: three failed, twelve beside a run in doubt, and all that waits gets a sentence |
///
/// Invariants:
/// - A prompt is written to a child that is `open` and free, after its place was kept; written again only by
///   `ConversationRules.mayBeWrittenAgain`.
/// - Each request has a deadline; a child that misses one is ended. Silence is no death: a probe without an answer is.
/// - Everything that waits gets an answer: from the child, or by a sentence after the last failed start.
/// - One walk is under way at a time.
struct ChildChat<D: Dialect> {
    enum Order {
        case start(ChildPlan)
        case write([UInt8])
        /// The child ends by itself; `kill` follows if it does not.
        case closeInput
        /// The child counts as ended: its exit is not reported.
        case kill
        case keep(Place)
        /// The next process shall find nothing of the chat.
        case forget
        /// Reads these files for the prompt of that run; `loaded` answers.
        case load(RunID, [MessageFile])
        /// A look of the walk at the outside; `finished` answers.
        case work(Work, walk: Int)
        case observed([Observation])
        case replied(QueryID, AgentReply)
        case note(String)
    }

    enum WayState: Equatable {
        case absent, reaching, opening, greeting, joining
        case keeping(Place)
        case open
        case leaving(until: Instant)
        case waiting(until: Instant)
    }

    struct Way {
        var state = WayState.absent
        /// Reason to end the child, once the current event is handled.
        var doom: String?
        var starts = BackOff.link
        /// When the chat ran out of work, or nil while it has some.
        var idleSince: Instant?
        var children = 0
        /// The next prompt must not meet this child: a message waits in its queue, or its login is out of date.
        var endsAfterTurn = false
    }

    /// Looks and lists beside the prompts.
    struct Errands {
        var walk: ChildWalk?
        var walks = 0
        /// A run of the agent's own that a person named for a Stop, while a prompt of the bridge waits behind it.
        var namedStop: RunID?
        var finds: [RunID] = []
        var lists: [QueryID] = []
        var isEmpty: Bool { walk == nil && finds.isEmpty && lists.isEmpty }
        /// Someone outside this chat waits for an answer.
        var hasQuestions: Bool {
            guard finds.isEmpty, lists.isEmpty else { return true }
            switch walk?.kind {
            case .find, .list: return true
            case .reach, .greet, .join, .model, .level, nil: return false
            }
        }
    }

    static var answerLimit: Duration { .seconds(30) }
    private static var idleLimit: Duration { .seconds(600) }
    static var startTries: Int { 3 }
    /// Consecutive failed starts after which a doubtful turn, or a run that the chat shows, fails: three minutes of pauses.
    static var doubtTries: Int { 12 }
    /// Time from the end of the child's input to SIGKILL.
    static var leaveLimit: Duration { .seconds(3) }

    let session: AgentSession
    /// Names the runs that no prompt began.
    private let mark: String
    var dialect: D
    var reading: D.Reading
    var home: Home
    var way = Way()
    var errands = Errands()
    var prompts = Prompts()
    var choosing = Choosing()
    var requests = Requests()
    var asks = Asks<D.Slip>()
    var silence = Silence()
    var seat = Seat()
    /// A copy of the machine's own.
    var pastProcesses: [ProcessName] = []

    /// `mark` begins the names of runs without a prompt; another process of the bridge must not use the same names. `life` counts
    /// the wakings of all chats, so no two walks have one number.
    init(_ session: AgentSession, _ dialect: D, place: Place, mark: String, life: Int) {
        self.session = session
        self.mark = mark
        self.dialect = dialect
        home = Home(place)
        errands.walks = life << 32
        reading = dialect.reading(of: session, mark: "\(session)-\(mark)-0-")
    }

    var isWanted: Bool { !prompts.held.isEmpty || prompts.turn != nil || errands.hasQuestions }
    /// Work of the child beside messages, in words for those that wait for its place.
    var background: String? { isOpen && prompts.turn == nil && !isWanted ? reading.background : nil }
    /// The chat's place is all that needs to be kept.
    var isAtRest: Bool {
        way.state == .absent && !isWanted && prompts.sought.isEmpty && reading.isIdle && home.unkept == nil
    }
    /// The child could end without a loss: its session can be loaded again, or never had a prompt.
    var mayLeave: Bool {
        way.state == .open && way.idleSince != nil && (home.kept.native != nil || home.unkept != nil)
    }
    var heldBytes: Int { prompts.heldBytes }
    var isOpen: Bool { way.state == .open }
    /// The child has its session.
    var hasSession: Bool { if case .keeping = way.state { true } else { isOpen } }

    var nextDeadline: Instant? {
        var moments = [requests.nextDeadline, reading.nextDeadline, asks.nextExpiry, prompts.turn?.stopDeadline]
        moments += [nextProbe, errands.walk?.deadline]
        if mayLeave { moments.append(way.idleSince.map { $0 + Self.idleLimit }) }
        switch way.state {
        case .waiting(let until), .leaving(let until): moments.append(until)
        case .absent, .reaching, .opening, .greeting, .joining, .keeping, .open: break
        }
        return moments.compactMap(\.self).min()
    }

    private var nextProbe: Instant? {
        guard way.state == .open, way.doom == nil, !requests.isProbing, prompts.turn != nil || !reading.isFree else {
            return nil
        }
        return silence.nextProbe(of: prompts.turn, after: dialect.habits.silence)
    }

    func here(_ now: Occasion) -> Here {
        var here = Here(now: now, session: session, place: home.kept, folder: home.folder, request: requests.next)
        here.run = prompts.turn?.run
        here.isStopping =
            prompts.turn?.isStopping == true || errands.finds.contains { prompts.sought[$0]?.isStopped == true }
        here.pastProcesses = pastProcesses
        here.seeks = prompts.turn?.state == .doubtful || !errands.finds.isEmpty
        here.hasLostSession = home.hasLostSession
        return here
    }

    /// Begins the names of runs that no prompt began.
    var runMark: String { "\(session)-\(mark)-\(way.children)-" }

    /// Gives the next child a new reading.
    mutating func readsAnew() {
        way.children += 1
        reading = dialect.reading(of: session, mark: runMark)
    }

    // MARK: Commands

    mutating func send(_ run: RunID, _ prompt: PicturePrompt, in folder: String? = nil, _ now: Occasion) -> [Order] {
        prompts.remember(.init(sought: Sought(run, text: prompt.text, notBefore: now.wallMilliseconds)))
        (home.isLeft, home.isForgotten) = (false, false)
        if prompt.steers, let denial = denyInWords(run, prompt.text, now) {
            prompts.forget(run)
            return denial + advance(now)
        }
        prompts.hold(run, prompt, in: folder)
        return advance(now) + cards(seat.show(prompts.held.map(\.run)))
    }

    mutating func lookUp(_ run: RunID, _ now: Occasion) -> [Order] {
        if prompts.turn?.run == run { return [.observed([.lookedUp(run, .running(text: nil))])] }
        if prompts.words?.run == run || prompts.isHeld(run) { return [.observed([.lookedUp(run, .waits)])] }
        guard !errands.finds.contains(run) else { return saysThatTheyRun() }
        errands.finds.append(run)
        return advance(now) + saysThatTheyRun()
    }

    /// An orphan that works on the run, or the limit of places, blocks the look-up. Either may exceed the core's timeout.
    func isHeldUp() -> Bool {
        switch way.state {
        case .reaching: errands.walk?.isPausing == true
        case .opening: seat.isAwaited
        case .absent, .greeting, .joining, .keeping, .open, .leaving, .waiting: false
        }
    }

    mutating func saysThatTheyRun() -> [Order] {
        guard isHeldUp() else { return [] }
        return errands.finds.compactMap { run in
            guard prompts.sought[run]?.isSaidToRun == false else { return nil }
            prompts.changeSought(run) { $0.isSaidToRun = true }
            return .observed([.lookedUp(run, .running(text: nil))])
        }
    }

    mutating func list(_ query: QueryID, _ now: Occasion) -> [Order] {
        errands.lists.append(query)
        return advance(now)
    }

    mutating func release(isDeleted: Bool, _ now: Occasion) -> [Order] {
        (home.isLeft, home.isForgotten) = (true, isDeleted)
        return advance(now)
    }

    // MARK: Events

    mutating func received(_ frame: FrameNode, of line: UnsafeRawBufferPointer, _ now: Occasion) -> [Order] {
        let answer = dialect.answer(in: frame)
        silence.heard(answer == nil ? .frame : .answer, at: now.now)
        var reports: [Report<D.Slip>] = []
        dialect.read(frame, of: line, &reading, here(now), into: &reports)
        var orders: [Order] = []
        for report in reports { orders += reported(report, now) }
        if let answer { orders += answered(answer, frame, now) }
        return orders + advance(now)
    }

    mutating func timePassed(_ now: Occasion) -> [Order] {
        var orders: [Order] = []
        switch way.state {
        case .waiting(let until) where until <= now.now: way.state = .absent
        case .leaving(let until) where until <= now.now: way.doom = "it did not end by itself"
        case .absent, .reaching, .opening, .greeting, .joining, .keeping, .open, .leaving, .waiting: break
        }
        for purpose in requests.takeExpired(at: now.now) { orders += overdue(purpose, now) }
        if let deadline = errands.walk?.deadline, deadline <= now.now { orders += walks(.timeIsOver, now) }
        if let deadline = reading.nextDeadline, deadline <= now.now {
            orders += heard(reading.deadlineHit(at: now.now), now)
        }
        for asked in asks.takeExpired(at: now.now) { orders += expired(asked, now) }
        if let deadline = prompts.turn?.stopDeadline, deadline <= now.now { orders += stopOverdue(now) }
        if let nextProbe, nextProbe <= now.now { orders += probe(now) }
        if mayLeave, let idleSince = way.idleSince, idleSince + Self.idleLimit <= now.now { orders += leave(now) }
        return orders + advance(now)
    }

    /// The computer slept, and the child with it. The silence proves nothing, and every open answer gets its whole time again.
    mutating func slept(_ now: Occasion) {
        silence.heard(.frame, at: now.now)
        requests.slept(at: now.now)
        errands.walk?.slept(at: now.now)
        reading.slept(at: now.now)
        if case .leaving = way.state { way.state = .leaving(until: now.now + Self.leaveLimit) }
        if prompts.turn?.isStopping == true { prompts.turn?.stops(by: now.now + ChildTurn.stopPatience) }
    }

    // MARK: What is next

    mutating func advance(_ now: Occasion) -> [Order] {
        if let doom = way.doom { return [.kill] + died(doom, hasRun: true, now) }
        defer {
            let isBusy = isWanted || way.state != .open || !reading.isIdle || !asks.isEmpty
            way.idleSince = isBusy ? nil : way.idleSince ?? now.now
        }
        switch way.state {
        case .absent:
            guard isWanted else { return forgetIfLeft() }
            way.state = .reaching
            home.moves(to: prompts.turn?.folder ?? prompts.held.first?.folder)
            let orders = begin(.reach, now)
            return way.doom == nil ? orders : orders + advance(now)
        case .open where way.endsAfterTurn && prompts.turn == nil && reading.going == nil && asks.isEmpty:
            return leave(now)
        case .open: return next(now) + leaveIfLeft(now)
        case .reaching, .opening, .greeting, .joining, .keeping, .leaving, .waiting: return []
        }
    }

    /// Finds lost turns first, then answers look-ups and lists, then hands prompts over.
    private mutating func next(_ now: Occasion) -> [Order] {
        var orders: [Order] = []
        while way.state == .open, way.doom == nil, errands.walk == nil {
            if let turn = prompts.turn, turn.state == .doubtful {
                var sought = soughtOf(turn.run)
                sought.isOfTurn = true
                orders += begin(.find(sought, isTurn: true), now)
            } else if !errands.finds.isEmpty {
                let run = errands.finds.removeFirst()
                orders += begin(.find(soughtOf(run), isTurn: false), now)
            } else if !errands.lists.isEmpty {
                orders += begin(.list(errands.lists.removeFirst()), now)
            } else {
                let handed = handOver(now)
                orders += handed.orders
                guard handed.isMore else { break }
            }
        }
        return orders
    }

    func soughtOf(_ run: RunID) -> Sought { prompts.sought[run]?.sought ?? Sought(run, text: nil) }

    private mutating func leaveIfLeft(_ now: Occasion) -> [Order] {
        guard home.isLeft, !isWanted, reading.isIdle else { return [] }
        return leave(now)
    }

    private mutating func forgetIfLeft() -> [Order] {
        home.isLeft = false
        guard home.isForgotten else { return [] }
        home.isForgotten = false
        guard home.kept.native != nil || home.hasLostSession else { return [] }
        home.forgetsSession()
        return [.forget]
    }

    // MARK: What is observed

    func signal(_ event: RunEvent, of run: RunID?) -> Observation {
        .signal(RunSignal(run: run, session: session, event: event))
    }

    func cards(_ cards: [(run: RunID, card: ToolEvent)]) -> [Order] {
        cards.map { .observed([signal(.tool($0.card), of: $0.run)]) }
    }
}
