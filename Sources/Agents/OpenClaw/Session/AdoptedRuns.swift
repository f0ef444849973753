import Vocabulary

/// Runs of the gateway's own that answer a message of ours (openclaw.md#chatsend, openclaw.md#disconnects).
///
/// While a session is busy with another client's run, or with a stopped run whose agent has not let go, our run ends at once,
/// without words and without having begun. The answer comes in a run that the gateway names (E1, E2), or within the other
/// client's run, after our message's row (E3). After a restart, a newer gateway resumes a run under another name.
///
/// States of our run:
/// - `orphaned`: the run ended this way. Can transition to: taken (the other client's run took
///   our message), adopted, given up (`Patience` after the session's last other run).
/// - `dead`: the gateway's process is younger than the run. Can transition to: adopted, given up (`resumption` after
///   the greeting, at most `latestResumption` after the process began; once the gateway shows that it will resume the
///   run, `resumption` after that, at most `latestSettlement` after the process began).
/// - `taken`: assistant rows are the answer until the run that took the message ends. The history then has the rest.
/// - `adopted`: frames of the other run are the answer until that run ends. The history then has the frames that were missed.
///
/// Invariants:
/// - Timing alone adopts nothing: a row must have our message's key or words, or report that the gateway
///   resumes after its restart. Without rows (E1), the run that begins next is a candidate, and none of it
///   is shown before the history has our message in front of its answer.
/// - A run answers one message of ours, and a run that we began answers no other.
/// - The other client's run takes our message with the second row of our key; the first marks its acceptance.
/// - Runs at work in a session are known from frames of any kind and from
///   histories. A lost socket clears them and keeps adoptions.
struct AdoptedRuns {
    enum Stage: Hashable {
        case orphaned(since: Instant)
        case dead(until: Instant, latest: Instant)
        case taken(by: RunID)
        case adopted(as: RunID)
    }

    /// How long an orphan waits while no run is known to be at work in its session.
    enum Patience {
        /// The session's other run was seen at work.
        case known
        /// No other run of the session was seen on this socket.
        case unseen
        /// The run's end reached an earlier process of this bridge, or another socket.
        case unheard

        fileprivate var duration: Duration {
            switch self {
            case .known: .seconds(15)
            case .unseen: .seconds(120)
            case .unheard: .seconds(600)
            }
        }
    }

    /// The run that answers a message of ours.
    struct Adoption {
        let run: RunID
        let stage: Stage
        /// The gateway announced the run before it was known to be the answer, so frames were missed.
        let hasMissed: Bool
    }

    fileprivate struct Waiting {
        let session: AgentSession
        /// Words of the message, or nil if no message of ours began the run.
        let text: String?
        var stage: Stage
        /// A run of an unknown name, the next to begin in the session.
        var candidate: RunID?
        /// A frame of the candidate was not shown.
        var hasMissed = false
        /// Since when no run is known to be at work in the session.
        var freeSince: Instant?
        var patience = Patience.known
    }

    static let resumption = Duration.seconds(15)
    static let latestResumption = Duration.seconds(45)
    static let latestSettlement = Duration.seconds(120)
    private static let limit = 256

    private var waiting: [RunID: Waiting] = [:]
    /// Runs at work in each session: a frame of theirs came, and no end.
    private var active: [AgentSession: Set<RunID>] = [:]
    /// When the agent last let go of a stopped run.
    private var stopped: [AgentSession: Instant] = [:]

    func stage(of run: RunID) -> Stage? { waiting[run]?.stage }

    /// The answer does not come in the run's own rows.
    func isAwaited(_ run: RunID) -> Bool { waiting[run] != nil }

    /// Another run is at work in the session, or one was stopped a moment ago and the gateway may not have let go of it.
    func isBusy(_ session: AgentSession, besides run: RunID, at now: Instant) -> Bool {
        if stopped[session].map({ now - $0 < .seconds(2) }) == true { return true }
        return active[session]?.contains { $0 != run } == true
    }

    mutating func wasStopped(in session: AgentSession, at now: Instant) {
        if stopped.count >= Self.limit { stopped.removeAll() }
        stopped[session] = now
    }

    // MARK: Runs of the session

    /// `isOurs`: a message of ours began the run.
    mutating func began(_ run: RunID, in session: AgentSession, isOurs: Bool) {
        isAtWork(run, in: session)
        guard !isOurs, waiting[run] == nil else { return }
        for (name, known) in waiting where known.session == session && known.isOpen {
            waiting[name]?.candidate = run
            waiting[name]?.hasMissed = false
        }
    }

    func isKnownAtWork(_ run: RunID) -> Bool { active.values.contains { $0.contains(run) } }

    mutating func isAtWork(_ run: RunID, in session: AgentSession) {
        if active.count >= Self.limit, active[session] == nil { active.removeAll() }
        active[session, default: []].insert(run)
        for (name, known) in waiting where known.session == session && name != run {
            waiting[name]?.freeSince = nil
            waiting[name]?.patience = .known
        }
    }

    /// `runs`: all runs at work, from a history.
    mutating func areAtWork(_ runs: [RunID], in session: AgentSession, at now: Instant) {
        active[session] = nil
        for run in runs { isAtWork(run, in: session) }
        if runs.isEmpty { isFree(session, at: now) }
    }

    private mutating func isFree(_ session: AgentSession, at now: Instant) {
        for (name, known) in waiting where known.session == session {
            waiting[name]?.freeSince = known.freeSince ?? now
        }
    }

    /// The run ended, and its agent has let go. Returns the runs of ours that it may have answered.
    mutating func ended(_ run: RunID, in session: AgentSession?, at now: Instant) -> [RunID] {
        for key in session.map({ [$0] }) ?? Array(active.keys) { active[key]?.remove(run) }
        var answered: [RunID] = []
        for (name, known) in waiting where name != run && (session == nil || known.session == session) {
            let isOrphan = if case .orphaned = known.stage { true } else { false }
            if isOrphan || known.stage == .taken(by: run) || known.stage == .adopted(as: run) { answered.append(name) }
            if active[known.session]?.isEmpty ?? true { isFree(known.session, at: now) }
        }
        return answered.sorted()
    }

    /// An adopted run ended: it keeps nobody waiting, although the run of ours may still be open.
    mutating func adoptedEnded(_ other: RunID, at now: Instant) {
        for session in active.keys.sorted() where active[session]?.remove(other) != nil {
            if active[session]?.isEmpty == true { isFree(session, at: now) }
        }
    }

    // MARK: Ours

    /// False if there is no room for the orphan.
    mutating func orphaned(
        _ run: RunID, in session: AgentSession, _ text: String?, _ patience: Patience = .known, at now: Instant
    ) -> Bool {
        guard waiting.count < Self.limit else { return false }
        let isFree = active[session]?.subtracting([run]).isEmpty ?? true
        waiting[run] = Waiting(
            session: session, text: text, stage: .orphaned(since: now), freeSince: isFree ? now : nil,
            patience: isFree ? patience : .known)
        return true
    }

    mutating func died(_ run: RunID, in session: AgentSession, until end: Instant, latest: Instant) {
        guard waiting[run] == nil, waiting.count < Self.limit else { return }
        waiting[run] = Waiting(session: session, text: nil, stage: .dead(until: end, latest: latest))
    }

    /// The gateway took a message of any client: a run begins soon, maybe the one that resumes ours.
    mutating func tookMessage(in session: AgentSession, at now: Instant) {
        for (name, known) in waiting where known.session == session {
            guard case .dead(let end, let latest) = known.stage else { continue }
            waiting[name]?.stage = .dead(until: max(end, min(now + Self.resumption, latest)), latest: latest)
        }
    }

    // MARK: Rows

    /// A user's row was written. Returns the run of ours whose answering run this row
    /// decides. `isFirst`: the row is the first with its key, which marks acceptance.
    mutating func asked(
        in session: AgentSession, by asker: String?, _ text: String, isInterruption: Bool, isFirst: Bool = false
    ) -> Adoption? {
        for name in waiting.keys.sorted() {
            guard let known = waiting[name], known.session == session else { continue }
            switch known.stage {
            case .dead where isInterruption && known.candidate != nil: break
            case .orphaned where asker == name.text || (asker == nil && Self.isOurs(text, known.text)): break
            default: continue
            }
            if let candidate = known.candidate {
                waiting[name]?.stage = .adopted(as: candidate)
            } else if asker == name.text, !isFirst, let other = active[session]?.filter({ $0 != name }).min() {
                waiting[name]?.stage = .taken(by: other)
            } else {
                continue
            }
            return waiting[name].map { Adoption(run: name, stage: $0.stage, hasMissed: $0.hasMissed) }
        }
        return nil
    }

    /// The history reports that `other` resumes `run`.
    mutating func adopt(_ other: RunID, for run: RunID, in session: AgentSession) -> Adoption {
        waiting[run] = Waiting(session: session, text: nil, stage: .adopted(as: other))
        active[session, default: []].insert(other)
        return Adoption(run: run, stage: .adopted(as: other), hasMissed: true)
    }

    private static func isOurs(_ text: String, _ asked: String?) -> Bool {
        asked.map { AskedPrompt.holds(text, $0) } ?? false
    }

    /// The run of ours that the next assistant row answers.
    func answered(in session: AgentSession) -> RunID? {
        waiting.filter { known in
            if known.value.session == session, case .taken = known.value.stage { true } else { false }
        }.keys.min()
    }

    /// The run that answers ours; a stop must name that one.
    func answer(to run: RunID) -> RunID? {
        if case .adopted(let other)? = waiting[run]?.stage { other } else { nil }
    }

    /// The run of ours that this one answers.
    func name(of run: RunID) -> RunID? { waiting.first { $0.value.stage == .adopted(as: run) }?.key }

    /// The message may begin, or be resumed, in a run whose name is not known yet.
    func awaitsName(_ run: RunID) -> Bool { waiting[run]?.isOpen == true }

    /// The run that began next, while it is at work.
    func candidate(of run: RunID) -> RunID? {
        guard let known = waiting[run], known.isOpen, let candidate = known.candidate else { return nil }
        return active[known.session]?.contains(candidate) == true ? candidate : nil
    }

    /// Runs of ours that this one may answer.
    func mayBeAnswered(by run: RunID) -> [RunID] {
        waiting.filter { $0.value.candidate == run && $0.value.isOpen }.keys.sorted()
    }

    /// Whether frames of this run stay hidden until the message that it answers
    /// is known. `isNews`: this frame has something to show.
    mutating func isCandidate(_ run: RunID, isNews: Bool) -> Bool {
        let ours = mayBeAnswered(by: run)
        if isNews { for name in ours { waiting[name]?.hasMissed = true } }
        return !ours.isEmpty
    }

    /// The candidate, which has ended, answered another message.
    mutating func isNoAnswer(to run: RunID, at now: Instant) {
        guard let known = waiting[run], known.candidate != nil, candidate(of: run) == nil else { return }
        waiting[run]?.candidate = nil
        if active[known.session]?.isEmpty ?? true { waiting[run]?.freeSince = now }
    }

    // MARK: The end

    mutating func forget(_ run: RunID) { waiting[run] = nil }

    /// Removes and returns the runs that have waited long enough.
    mutating func givenUp(at now: Instant) -> [RunID] {
        let due = waiting.filter { $0.value.givenUpAt.map { $0 <= now } == true }.keys.sorted()
        for run in due { waiting[run] = nil }
        return due
    }

    var nextDue: Instant? { waiting.values.lazy.compactMap(\.givenUpAt).min() }

    mutating func socketLost() { active.removeAll() }
}

extension AdoptedRuns.Waiting {
    fileprivate var isOpen: Bool {
        switch stage {
        case .orphaned, .dead: true
        case .taken, .adopted: false
        }
    }

    fileprivate var givenUpAt: Instant? {
        switch stage {
        case .orphaned(let since):
            candidate == nil ? freeSince.map { max($0, since) + patience.duration } ?? since + .seconds(3_615) : nil
        case .dead(let until, _): candidate == nil ? until : until + .seconds(5)
        case .taken, .adopted: nil
        }
    }
}
