import Vocabulary

/// Messages on their way to the gateway, the runs they begin, and the stops of these.
///
/// - A run is open until its end was seen, its message was refused, or it was not found for too long (`missesLimit`).
/// - A message leaves again only under its own key, and never after it was stopped.
/// - The gateway may put a message into a run of another name: from then on only that name is open (`accepted`).
struct GatewayRuns {
    struct Run {
        enum Stage: Hashable {
            /// Not a byte has left. Can transition to: asked (`leaves`).
            case held(since: Instant)
            /// It left, `since` for the first time, and the gateway has not taken it. `resendAt`: it asked for a pause.
            /// Can transition to: accepted, held (the gateway does not have it).
            case asked(since: Instant, tries: Int, resendAt: Instant? = nil)
            case accepted
        }

        let session: AgentSession
        /// Nil for a run that was not begun by this session.
        let text: String?
        fileprivate(set) var files: RunFiles
        fileprivate(set) var stage: Stage
        /// An instant of the reading clock.
        fileprivate(set) var lastHeard: Instant
        /// The agent began to work on the run.
        fileprivate(set) var hasBegun = false
        /// A frame of it was seen.
        fileprivate(set) var isHeard = false
        /// A row with its key was seen.
        fileprivate var isWritten = false
        /// The person does not want it any more: it must not leave again.
        fileprivate(set) var isStopped: Bool
        /// Whose runs that stop ends.
        fileprivate var stopReach: StopReach
        /// The gateway does not stop it.
        fileprivate(set) var isUnstoppable = false
        /// Its frames were lost for a while.
        fileprivate(set) var hasMissed = false
        /// Its end came, with the newest segment alone: the history is asked for those that were missed.
        fileprivate(set) var heldEnd: RunEnd?
        /// An end without words came, maybe that of its queueing.
        fileprivate(set) var hasEmptyEnd = false
        /// It left on the socket that is open.
        fileprivate(set) var isOnSocket = false
        /// Its files wait for those of another message: it is not given up.
        fileprivate var isQueued = false
        /// Look-ups in a row that found nothing.
        fileprivate var misses = 0

        init(
            session: AgentSession, text: String? = nil, files: RunFiles = RunFiles(), stage: Stage,
            isStopped: Bool = false, stopReach: StopReach = .everyRun, lastHeard: Instant
        ) {
            self.session = session
            self.text = text
            self.files = files
            self.stage = stage
            self.isStopped = isStopped
            self.stopReach = stopReach
            self.lastHeard = lastHeard
        }

        var isFollowed: Bool { stage == .accepted }
        /// All that there was of it was seen, and its agent has not begun.
        var isUntouched: Bool { isOnSocket && !hasMissed && !hasBegun }
        var isHeld: Bool { if case .held = stage { true } else { false } }
        var isAsked: Bool { if case .asked = stage { true } else { false } }
        /// It may have arrived: the gateway did not say that it has not.
        var isInDoubt: Bool { isAsked && resendAt == nil }
        var resendAt: Instant? { if case .asked(_, _, let resendAt) = stage { resendAt } else { nil } }

        /// When a frame or an answer is missed.
        fileprivate var quietAt: Instant? { isFollowed ? lastHeard + GatewayRuns.quietLimit : nil }

        /// The core explains a message that never left after 2 minutes (DESIGN.md#a-runs-journey), and closes a turn after 30.
        fileprivate var givenUpAt: Instant? {
            switch stage {
            case .held(let since): isQueued ? nil : since + .seconds(120)
            case .asked(let since, _, _): since + .seconds(1_800)
            case .accepted: nil
            }
        }
    }

    private static let limit = 256
    private static let missesLimit = 30
    private static let quietLimit = Duration.seconds(60)

    private var runs: [RunID: Run] = [:]
    var stops = KeptStops()
    var questions = RunQuestions()
    var models = SessionModels()
    var levels = SessionLevels()
    var verdicts = RunVerdicts()
    var teardowns = Teardowns()
    var adopted = AdoptedRuns()
    /// Whose chat is over, and whose runs are not.
    private var left: Set<AgentSession> = []

    subscript(run: RunID) -> Run? { runs[run] }

    var isEmpty: Bool { runs.isEmpty }

    var hasRoom: Bool { runs.count < Self.limit }

    var sessions: [AgentSession] { runs.values.map(\.session) }

    // Each list is in an order that is the same everywhere.

    var all: [RunID] { runs.keys.sorted() }

    var held: [RunID] { runs(where: { $0.isHeld }) }

    var followed: [RunID] { runs(where: { $0.isFollowed }) }

    func due(at now: Instant) -> [RunID] { runs(where: { $0.resendAt.map { $0 <= now } == true }) }

    func quiet(at now: Instant) -> [RunID] { runs(where: { $0.quietAt.map { $0 <= now } == true }) }

    /// Kept too long for anybody to wait for it.
    func givenUp(at now: Instant) -> [RunID] { runs(where: { $0.givenUpAt.map { $0 <= now } == true }) }

    private func runs(where isMeant: (Run) -> Bool) -> [RunID] { runs.filter { isMeant($0.value) }.keys.sorted() }

    var nextResend: Instant? { runs.values.lazy.compactMap(\.resendAt).min() }

    var nextQuiet: Instant? { runs.values.lazy.compactMap(\.quietAt).min() }

    var nextGivenUp: Instant? { runs.values.lazy.compactMap(\.givenUpAt).min() }

    // MARK: Messages

    mutating func begins(_ run: RunID, _ known: Run) { runs[run] = known }

    /// `question`: what its history is asked for.
    mutating func begins(_ run: RunID, _ known: Run, _ question: OpenClawHistory.Question, at now: Instant) {
        runs[run] = known
        let open = runs
        questions.makeRoom { open[$0] != nil }
        var question = question
        question.session = known.session
        questions.asked(question, at: now)
    }

    /// It is handed over, maybe again.
    mutating func leaves(_ run: RunID, at now: Instant, read: Instant) {
        switch runs[run]?.stage {
        case .held, .accepted: runs[run]?.stage = .asked(since: now, tries: 1)
        case .asked(let since, let tries, _): runs[run]?.stage = .asked(since: since, tries: tries + 1)
        case nil: return
        }
        runs[run]?.lastHeard = read
        runs[run]?.isOnSocket = true
        runs[run]?.isQueued = false
        questions.left(run, at: now)
    }

    /// The gateway did not take it, and asked for a pause.
    mutating func putOff(_ run: RunID, until moment: Instant) {
        guard case .asked(let since, let tries, _) = runs[run]?.stage else { return }
        runs[run]?.stage = .asked(since: since, tries: tries, resendAt: moment)
    }

    mutating func choose(_ files: RunFiles, of run: RunID) { runs[run]?.files = files }

    /// Its files are being read: it leaves when they are.
    mutating func isLoading(_ run: RunID, at now: Instant) {
        runs[run]?.isQueued = true
        if runs[run]?.resendAt != nil { putOff(run, until: now + .seconds(60)) }
    }

    /// On a new socket it has all its tries again.
    mutating func beginAnew(_ run: RunID) {
        guard case .asked(let since, _, _) = runs[run]?.stage else { return }
        runs[run]?.stage = .asked(since: since, tries: 0)
    }

    /// The gateway does not have it.
    mutating func holdAgain(_ run: RunID, at now: Instant) { runs[run]?.stage = .held(since: now) }

    /// Its frames were its answer.
    mutating func acceptedUnanswered(_ run: RunID) { runs[run]?.stage = .accepted }

    /// The gateway took it, maybe into a run of another name: that one is followed. True: the stop is still to be sent, to that
    /// name. A stop that no person asked for does not move to a run that we did not begin. None moves to a run that was
    /// followed before: the core knows whether that is another turn's (`Bridge.sendAnswered`).
    mutating func accepted(_ run: RunID, as taken: RunID, at now: Instant, read: Instant) -> Bool {
        runs[run]?.stage = .accepted
        runs[run]?.lastHeard = read
        guard var known = runs[run] else { return false }
        if taken != run {
            let goesOn = runs[taken].map { !$0.isStopped } == true
            forget(run)
            if goesOn || !known.stopReach.covers(isOurs: false) { known.isStopped = false }
            if runs[taken] == nil { runs[taken] = known }
            // The same text runs there (openclaw.md#chatsend), under a key that is not ours: its rows are known by the text.
            if questions[taken] == nil, let text = known.text {
                questions.asked(.init(run: taken, text: text), at: questions[run]?.at ?? now)
            }
        }
        // A stop that overtook the message, or named it as we did, stopped nothing.
        guard known.isStopped, taken != run || stops[run] == nil else { return false }
        runs[taken]?.isStopped = true
        runs[taken]?.stopReach = known.stopReach
        stops.keep(taken, in: known.session, at: now)
        return true
    }

    mutating func isStopped(_ run: RunID, _ reach: StopReach = .everyRun) {
        guard let known = runs[run] else { return }
        runs[run]?.stopReach = known.isStopped && known.stopReach == .everyRun ? .everyRun : reach
        runs[run]?.isStopped = true
    }

    // MARK: Runs

    mutating func heard(_ run: RunID, at now: Instant) { runs[run]?.lastHeard = now }

    mutating func begun(_ run: RunID) { runs[run]?.hasBegun = true }

    /// A row of the history has its key. True: it is the first.
    mutating func written(_ run: RunID) -> Bool {
        guard runs[run]?.isWritten == false else { return false }
        runs[run]?.isWritten = true
        return true
    }

    /// The one run of the session that its agent works on.
    func onlyBegun(in session: AgentSession) -> RunID? {
        let begun = runs.filter { $0.value.session == session && $0.value.hasBegun }.keys
        return begun.count == 1 ? begun.first : nil
    }

    mutating func cannotStop(_ run: RunID) { runs[run]?.isUnstoppable = true }

    func held(in session: AgentSession) -> [RunID] { held.filter { runs[$0]?.session == session } }

    private static let again = ".again"

    /// The key under which its message left last.
    func current(_ run: RunID) -> RunID {
        let fresh = RunID(run.text + Self.again)
        return runs[run] == nil && runs[fresh] != nil ? fresh : run
    }

    /// It provably did not run: it leaves again under another key, a moment later. Nil: it may not.
    mutating func beginsAgain(_ run: RunID, at now: Instant) -> RunID? {
        guard var known = runs[run], known.text != nil, !known.isStopped, !known.files.areGone,
            !run.text.hasSuffix(Self.again)
        else { return nil }
        let fresh = RunID(run.text + Self.again)
        known.stage = .asked(since: now, tries: 0, resendAt: now + .seconds(1))
        known.isHeard = false
        let question = questions.question(about: run)
        begins(
            fresh, known, .init(run: fresh, text: known.text, sentAtMilliseconds: question.sentAtMilliseconds), at: now)
        ended(run)
        return fresh
    }

    /// A frame was about it. A follow-up is a run of its own, which no message began.
    mutating func told(of run: RunID, in session: AgentSession?, at now: Instant, read: Instant) {
        if runs[run] == nil, run.isFollowUp, let session, hasRoom {
            runs[run] = Run(session: session, stage: .accepted, lastHeard: read)
            questions.asked(.init(run: run), at: now)
        }
        runs[run]?.isHeard = true
        runs[run]?.misses = 0
    }

    /// A history says that it continues.
    mutating func found(_ run: RunID, in session: AgentSession, read: Instant) {
        guard runs[run] == nil, hasRoom else { return }
        runs[run] = Run(session: session, stage: .accepted, lastHeard: read)
        runs[run]?.hasMissed = true
    }

    mutating func holds(_ end: RunEnd, of run: RunID) { runs[run]?.heldEnd = end }

    /// The message was refused: neither it nor its stop is owed any more.
    mutating func forget(_ run: RunID) {
        runs[run] = nil
        verdicts.forget(run)
        adopted.forget(run)
        models.forget(run)
        levels.forget(run)
        stops.forget(run)
    }

    /// A stop stays owed.
    mutating func forgetMessage(_ run: RunID) {
        runs[run] = nil
        models.forget(run)
        levels.forget(run)
    }

    mutating func ended(_ run: RunID, isFollowed: Bool = false) {
        if !isFollowed { questions.ended(run) }
        forget(run)
    }

    mutating func isToBeLeft(_ session: AgentSession) { left.insert(session) }
    mutating func isWanted(_ session: AgentSession) { left.remove(session) }

    /// Its chat is over, and so are its runs.
    func isLeft(_ session: AgentSession) -> Bool { left.contains(session) && !sessions.contains(session) }

    /// A run that is not found is not looked for for ever; the core has its own timeout.
    mutating func missed(_ run: RunID) {
        guard var known = runs[run] else { return }
        known.misses += 1
        runs[run] = known.misses >= Self.missesLimit && known.isFollowed ? nil : known
    }

    // MARK: The socket

    /// It went on before it was heard of.
    mutating func missedFrames(of run: RunID) { runs[run]?.hasMissed = true }

    mutating func endedEmpty(_ run: RunID) { runs[run]?.hasEmptyEnd = true }

    /// A new socket: frames were missed before it.
    mutating func missedFrames() {
        for run in runs.keys { runs[run]?.hasMissed = true }
    }

    mutating func socketLost(at now: Instant) {
        for run in runs.keys {
            if runs[run]?.isQueued == true, runs[run]?.isHeld == true { runs[run]?.stage = .held(since: now) }
            runs[run]?.isOnSocket = false
            runs[run]?.isQueued = false
            guard case .asked(let since, let tries, _) = runs[run]?.stage else { continue }
            runs[run]?.stage = .asked(since: since, tries: tries)
        }
        stops.socketLost()
        models.socketLost()
        levels.socketLost()
        verdicts.socketLost()
        teardowns.socketLost()
        adopted.socketLost()
    }
}
