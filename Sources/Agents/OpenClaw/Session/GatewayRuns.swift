import Vocabulary

/// Messages on their way to the gateway, the runs they begin, and the stops of those runs.
///
/// - A run is open until its end was seen, its message was refused, or `missesLimit` look-ups in a row did not find it.
/// - A message is sent again only under its own key, and never after a stop.
/// - The gateway may put a message into a run of another name: from then on only that name is open (`accepted`).
struct GatewayRuns {
    struct Run {
        enum Stage: Hashable {
            /// Nothing was sent. Can transition to: asked (`leaves`).
            case held(since: Instant)
            /// Sent, first at `since`, and not accepted. `resendAt`: the gateway requested a pause. Can
            /// transition to: accepted, held (the gateway does not have the message).
            case asked(since: Instant, tries: Int, resendAt: Instant? = nil)
            case accepted
        }

        let session: AgentSession
        /// Words of the message, or nil for a run that this session did not begin.
        let text: String?
        fileprivate(set) var files: RunFiles
        fileprivate(set) var stage: Stage
        /// An instant of the reading clock.
        fileprivate(set) var lastHeard: Instant
        /// The agent began to work on the run.
        fileprivate(set) var hasBegun = false
        /// A frame of the run was seen.
        fileprivate(set) var isHeard = false
        /// A row with the run's key was seen.
        fileprivate var isWritten = false
        /// A person stopped the message: it must not be sent again.
        fileprivate(set) var isStopped: Bool
        /// Which runs the stop covers.
        fileprivate var stopReach: StopReach
        /// The gateway does not stop the run.
        fileprivate(set) var isUnstoppable = false
        /// Frames of the run were lost.
        fileprivate(set) var hasMissed = false
        /// The run's end, held back while the history is fetched: it has the newest segment only, and others were missed.
        fileprivate(set) var heldEnd: RunEnd?
        /// An end without words came, maybe only because the message was queued.
        fileprivate(set) var hasEmptyEnd = false
        /// The message was sent on the open socket.
        fileprivate(set) var isOnSocket = false
        /// The message's files wait behind those of another message, so it is not given up.
        fileprivate var isQueued = false
        /// Look-ups in a row that did not find the run.
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
        /// Every frame of the run was seen, and the agent has not begun.
        var isUntouched: Bool { isOnSocket && !hasMissed && !hasBegun }
        var isHeld: Bool { if case .held = stage { true } else { false } }
        var isAsked: Bool { if case .asked = stage { true } else { false } }
        /// The gateway may have the message: it did not refuse it.
        var isInDoubt: Bool { isAsked && resendAt == nil }
        var resendAt: Instant? { if case .asked(_, _, let resendAt) = stage { resendAt } else { nil } }

        /// When to look up the run for lack of frames and answers.
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
    /// Sessions of chats that ended before their runs.
    private var left: Set<AgentSession> = []

    subscript(run: RunID) -> Run? { runs[run] }

    var isEmpty: Bool { runs.isEmpty }

    var hasRoom: Bool { runs.count < Self.limit }

    var sessions: [AgentSession] { runs.values.map(\.session) }

    // Each list is sorted, so its order is the same on every machine.

    var all: [RunID] { runs.keys.sorted() }

    var held: [RunID] { runs(where: { $0.isHeld }) }

    var followed: [RunID] { runs(where: { $0.isFollowed }) }

    func due(at now: Instant) -> [RunID] { runs(where: { $0.resendAt.map { $0 <= now } == true }) }

    func quiet(at now: Instant) -> [RunID] { runs(where: { $0.quietAt.map { $0 <= now } == true }) }

    /// Runs whose message waited too long.
    func givenUp(at now: Instant) -> [RunID] { runs(where: { $0.givenUpAt.map { $0 <= now } == true }) }

    private func runs(where isMeant: (Run) -> Bool) -> [RunID] { runs.filter { isMeant($0.value) }.keys.sorted() }

    var nextResend: Instant? { runs.values.lazy.compactMap(\.resendAt).min() }

    var nextQuiet: Instant? { runs.values.lazy.compactMap(\.quietAt).min() }

    var nextGivenUp: Instant? { runs.values.lazy.compactMap(\.givenUpAt).min() }

    // MARK: Messages

    mutating func begins(_ run: RunID, _ known: Run) { runs[run] = known }

    /// `question`: the message as a later history request searches for it.
    mutating func begins(_ run: RunID, _ known: Run, _ question: OpenClawHistory.Question, at now: Instant) {
        runs[run] = known
        let open = runs
        questions.makeRoom { open[$0] != nil }
        var question = question
        question.session = known.session
        questions.asked(question, at: now)
    }

    /// The message is sent, maybe again.
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

    /// The gateway refused the message for now and requested a pause.
    mutating func putOff(_ run: RunID, until moment: Instant) {
        guard case .asked(let since, let tries, _) = runs[run]?.stage else { return }
        runs[run]?.stage = .asked(since: since, tries: tries, resendAt: moment)
    }

    mutating func choose(_ files: RunFiles, of run: RunID) { runs[run]?.files = files }

    /// The message's files are being read; it is sent when they are here.
    mutating func isLoading(_ run: RunID, at now: Instant) {
        runs[run]?.isQueued = true
        if runs[run]?.resendAt != nil { putOff(run, until: now + .seconds(60)) }
    }

    /// A new socket grants the message all its tries again.
    mutating func beginAnew(_ run: RunID) {
        guard case .asked(let since, _, _) = runs[run]?.stage else { return }
        runs[run]?.stage = .asked(since: since, tries: 0)
    }

    /// The gateway does not have the message.
    mutating func holdAgain(_ run: RunID, at now: Instant) { runs[run]?.stage = .held(since: now) }

    /// Frames of the run stood in for the missing answer.
    mutating func acceptedUnanswered(_ run: RunID) { runs[run]?.stage = .accepted }

    /// The gateway accepted the message, maybe into a run of another name, which is followed from now on. True if the stop must
    /// still be sent, to that name. A stop that no person requested does not move to a run that we did not begin. No stop moves
    /// to a run that was followed before: only the core knows whether that run belongs to another turn (`Bridge.sendAnswered`).
    mutating func accepted(_ run: RunID, as taken: RunID, at now: Instant, read: Instant) -> Bool {
        runs[run]?.stage = .accepted
        runs[run]?.lastHeard = read
        guard var known = runs[run] else { return false }
        if taken != run {
            let goesOn = runs[taken].map { !$0.isStopped } == true
            forget(run)
            if goesOn || !known.stopReach.covers(isOurs: false) { known.isStopped = false }
            if runs[taken] == nil { runs[taken] = known }
            // The same text runs there (openclaw.md#chatsend) under another client's key: its words identify its rows.
            if questions[taken] == nil, let text = known.text {
                questions.asked(.init(run: taken, text: text), at: questions[run]?.at ?? now)
            }
        }
        // A stop that overtook the message, or used our name for it, stopped nothing.
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

    /// A row of the history has the run's key. True if it is the first.
    mutating func written(_ run: RunID) -> Bool {
        guard runs[run]?.isWritten == false else { return false }
        runs[run]?.isWritten = true
        return true
    }

    /// The session's run on which the agent works, or nil if there are several or none.
    func onlyBegun(in session: AgentSession) -> RunID? {
        let begun = runs.filter { $0.value.session == session && $0.value.hasBegun }.keys
        return begun.count == 1 ? begun.first : nil
    }

    mutating func cannotStop(_ run: RunID) { runs[run]?.isUnstoppable = true }

    func held(in session: AgentSession) -> [RunID] { held.filter { runs[$0]?.session == session } }

    private static let again = ".again"

    /// The key under which the message was last sent.
    func current(_ run: RunID) -> RunID {
        let fresh = RunID(run.text + Self.again)
        return runs[run] == nil && runs[fresh] != nil ? fresh : run
    }

    /// The gateway provably did not run the message: send it again under another
    /// key, a moment later. Nil if it must not be sent again.
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
        models.move(run, to: fresh)
        levels.move(run, to: fresh)
        ended(run)
        return fresh
    }

    /// A frame of the run came. A follow-up is a run of its own, which no message began.
    mutating func told(of run: RunID, in session: AgentSession?, at now: Instant, read: Instant) {
        if runs[run] == nil, run.isFollowUp, let session, hasRoom {
            runs[run] = Run(session: session, stage: .accepted, lastHeard: read)
            questions.asked(.init(run: run), at: now)
        }
        runs[run]?.isHeard = true
        runs[run]?.misses = 0
    }

    /// A history reports that the run continues.
    mutating func found(_ run: RunID, in session: AgentSession, read: Instant) {
        guard runs[run] == nil, hasRoom else { return }
        runs[run] = Run(session: session, stage: .accepted, lastHeard: read)
        runs[run]?.hasMissed = true
    }

    mutating func holds(_ end: RunEnd, of run: RunID) { runs[run]?.heldEnd = end }

    /// The message was refused: drop it and its stop.
    mutating func forget(_ run: RunID) {
        runs[run] = nil
        verdicts.forget(run)
        adopted.forget(run)
        models.forget(run)
        levels.forget(run)
        stops.forget(run)
    }

    /// Drops the message. A stop of it stays due.
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

    /// The session's chat has ended, and so have its runs.
    func isLeft(_ session: AgentSession) -> Bool { left.contains(session) && !sessions.contains(session) }

    /// A run that `missesLimit` look-ups did not find is dropped; the core has its own timeout.
    mutating func missed(_ run: RunID) {
        guard var known = runs[run] else { return }
        known.misses += 1
        runs[run] = known.misses >= Self.missesLimit && known.isFollowed ? nil : known
    }

    // MARK: The socket

    /// Frames of the run came before it was known.
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
