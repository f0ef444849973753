import Vocabulary

/// Runs of the gateway's own that answer a message of ours (openclaw.md#chatsend, openclaw.md#disconnects).
///
/// Where a session is busy with another client's run, or with one that was stopped and not let go of, our run ends at once, without a word
/// and without having begun. Its answer comes in a run that the gateway names (E1, E2), or within the other client's run, behind our
/// message's row (E3). After a restart a gateway of the newer kind goes on with a run under another name.
///
/// States of a run of ours:
/// - `orphaned`: it ended so. Can transition to: taken (the other client's run took our message), adopted, given up (a while after nothing
///   else was at work in the session: `Patience`).
/// - `dead`: its gateway is younger than it. Can transition to: adopted, given up (`resumption` after the greeting, and at the latest
///   `latestResumption` after the gateway began; where the gateway shows that it is about to go on, `resumption` after that, and at the
///   latest `latestSettlement` after it began).
/// - `taken`: rows of the assistant are its answer, until the run that took it ends. Then the history has the rest.
/// - `adopted`: the frames of the other run are its own, until that ends. Then the history has what was not seen.
///
/// Invariants:
/// - Nothing is adopted for its time alone: a row has our message's key or its words, or says that the gateway goes on after its
///   restart. Where a gateway tells no rows (E1), the run that began next is a candidate, of which nothing is shown before the history has
///   our message in front of its answer.
/// - A run answers one message of ours, and a run that we began answers no other.
/// - The other client's run takes our message with the second row that has our key: the first is that of its acceptance.
/// - What is at work in a session is known by frames of any kind, and by histories that say it; a lost socket forgets it, and keeps what
///   was adopted.
struct AdoptedRuns {
    enum Stage: Hashable {
        case orphaned(since: Instant)
        case dead(until: Instant, latest: Instant)
        case taken(by: RunID)
        case adopted(as: RunID)
    }

    /// How long an orphan is waited for while nothing is known to be at work in its session.
    enum Patience {
        /// What was at work was seen.
        case known
        /// On this socket nothing was seen of the session's other runs.
        case unseen
        /// Another process of this bridge, or another socket, had the end.
        case unheard

        fileprivate var duration: Duration {
            switch self {
            case .known: .seconds(15)
            case .unseen: .seconds(120)
            case .unheard: .seconds(600)
            }
        }
    }

    /// Which run answers a message of ours.
    struct Adoption {
        let run: RunID
        let stage: Stage
        /// The gateway announced it before that was known.
        let hasMissed: Bool
    }

    fileprivate struct Waiting {
        let session: AgentSession
        /// Its message; nil: none of ours began it.
        let text: String?
        var stage: Stage
        /// Began next in its session, of a name that nobody knows.
        var candidate: RunID?
        /// Something of the candidate was not shown.
        var hasMissed = false
        /// Since when nothing is known to be at work in the session.
        var freeSince: Instant?
        var patience = Patience.known
    }

    static let resumption = Duration.seconds(15)
    static let latestResumption = Duration.seconds(45)
    static let latestSettlement = Duration.seconds(120)
    private static let limit = 256

    private var waiting: [RunID: Waiting] = [:]
    /// What is at work in each session: it said something, and has not ended.
    private var active: [AgentSession: Set<RunID>] = [:]
    /// When the agent let go of a run that was stopped.
    private var stopped: [AgentSession: Instant] = [:]

    func stage(of run: RunID) -> Stage? { waiting[run]?.stage }

    /// Its answer is in no rows of its own while this lasts.
    func isAwaited(_ run: RunID) -> Bool { waiting[run] != nil }

    /// Another run than this is at work in its session, or was stopped a moment ago: the gateway may not have let go of it.
    func isBusy(_ session: AgentSession, besides run: RunID, at now: Instant) -> Bool {
        if stopped[session].map({ now - $0 < .seconds(2) }) == true { return true }
        return active[session]?.contains { $0 != run } == true
    }

    mutating func wasStopped(in session: AgentSession, at now: Instant) {
        if stopped.count >= Self.limit { stopped.removeAll() }
        stopped[session] = now
    }

    // MARK: Runs of the session

    /// `isOurs`: a message of ours began it.
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

    /// All that is, as a history says it.
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

    /// It ended, and the agent has let go of it. What it may have answered.
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

    /// An adopted run ended: what waits for it does so no longer, whatever becomes of the run of ours.
    mutating func adoptedEnded(_ other: RunID, at now: Instant) {
        for session in active.keys.sorted() where active[session]?.remove(other) != nil {
            if active[session]?.isEmpty == true { isFree(session, at: now) }
        }
    }

    // MARK: Ours

    /// False: there is no room for it.
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

    /// The gateway took a message there, of whoever it is: a run begins soon, maybe the one that goes on.
    mutating func tookMessage(in session: AgentSession, at now: Instant) {
        for (name, known) in waiting where known.session == session {
            guard case .dead(let end, let latest) = known.stage else { continue }
            waiting[name]?.stage = .dead(until: max(end, min(now + Self.resumption, latest)), latest: latest)
        }
    }

    // MARK: Rows

    /// A message of a user was written down. The run of ours that it decides about: which run answers that is known now. `isFirst`: the
    /// row of that key which says that the gateway has it.
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

    /// The history says that this one goes on for it.
    mutating func adopt(_ other: RunID, for run: RunID, in session: AgentSession) -> Adoption {
        waiting[run] = Waiting(session: session, text: nil, stage: .adopted(as: other))
        active[session, default: []].insert(other)
        return Adoption(run: run, stage: .adopted(as: other), hasMissed: true)
    }

    private static func isOurs(_ text: String, _ asked: String?) -> Bool {
        asked.map { AskedPrompt.holds(text, $0) } ?? false
    }

    /// The run of ours whose answer a row of the assistant is.
    func answered(in session: AgentSession) -> RunID? {
        waiting.filter { known in
            if known.value.session == session, case .taken = known.value.stage { true } else { false }
        }.keys.min()
    }

    /// The run that answers it, which its stop has to name.
    func answer(to run: RunID) -> RunID? {
        if case .adopted(let other)? = waiting[run]?.stage { other } else { nil }
    }

    /// The run of ours that this one answers.
    func name(of run: RunID) -> RunID? { waiting.first { $0.value.stage == .adopted(as: run) }?.key }

    /// Its message may begin, or go on, in a run whose name is not known yet.
    func awaitsName(_ run: RunID) -> Bool { waiting[run]?.isOpen == true }

    /// The run that began next, while it is at work.
    func candidate(of run: RunID) -> RunID? {
        guard let known = waiting[run], known.isOpen, let candidate = known.candidate else { return nil }
        return active[known.session]?.contains(candidate) == true ? candidate : nil
    }

    /// The runs of ours that this one may answer.
    func mayBeAnswered(by run: RunID) -> [RunID] {
        waiting.filter { $0.value.candidate == run && $0.value.isOpen }.keys.sorted()
    }

    /// Nothing of it is shown before it is known whose answer it is. `isNews`: that leaves something out.
    mutating func isCandidate(_ run: RunID, isNews: Bool) -> Bool {
        let ours = mayBeAnswered(by: run)
        if isNews { for name in ours { waiting[name]?.hasMissed = true } }
        return !ours.isEmpty
    }

    /// What began next, and has ended, was another's answer.
    mutating func isNoAnswer(to run: RunID, at now: Instant) {
        guard let known = waiting[run], known.candidate != nil, candidate(of: run) == nil else { return }
        waiting[run]?.candidate = nil
        if active[known.session]?.isEmpty ?? true { waiting[run]?.freeSince = now }
    }

    // MARK: The end

    mutating func forget(_ run: RunID) { waiting[run] = nil }

    /// Waited for long enough.
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
