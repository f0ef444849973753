import Vocabulary

/// Ends without a terminal frame, and ends that may not be final (openclaw.md#order-of-frames-in-one-run).
///
/// - In the second era, a failed run that a message began has no terminal frame: its session's
///   row reports the failure later, and the last lifecycle error has the cause.
/// - In the first era, each failed attempt has a terminal frame at once. It is final if no frame of the run follows
///   within the grace period of later eras; an attempt that follows has no terminal frame at all.
/// - If the lifecycle ends without a terminal frame, the run is looked up in the history.
/// - A look-up tells whether a failed attempt was the last one, long before the gateway reports it.
/// - In the third era, failed attempts are `finishing`, and the one lifecycle error
///   after them ends the run. Its terminal frame may come 15 s later.
/// - In the third era, an answer without words is reported as stopped, and as failed right after.
/// - A restarting gateway reports its runs as over, and resumes them when it is back:
///   such an end is not final. If no restart follows, the run is looked up.
/// - In the second era, another attempt may follow a terminal frame (`OpenClawSession.doubts`).
///
/// A verdict is due after a delay. A new attempt cancels it, text or a tool cancels a look-up, and a terminal frame voids it.
struct RunVerdicts {
    enum Verdict: Hashable {
        case failed(RunFailure)
        case stopped(RunEnd)
        case lookUp
    }

    /// Counted from the lifecycle error: another attempt begins by then, or none does.
    static let grace = Duration.seconds(15)
    static let patience = Duration.seconds(1)
    /// From the cut to the end of the socket: the gateway waits for its other runs.
    private static let restartPatience = Duration.seconds(60)
    private static let limit = 512

    private var decided: [RunID: (verdict: Verdict, due: Instant)] = [:]
    /// When to look up whether a failed attempt was the last one.
    private var questions: [RunID: (due: Instant?, backOff: BackOff)] = [:]
    /// `at`: when an attempt failed, or nil if only a row says so. `isLast`:
    /// no frame of the run came since, and none was missed.
    private var failures: [RunID: (words: String, at: Instant?, isLast: Bool)] = [:]
    /// Runs with failed attempts that were `finishing`.
    private var finishing: Set<RunID> = []
    private var brokenOff: Set<RunID> = []
    /// Ends that another attempt may follow.
    private var doubtful: [RunID: (end: RunEnd, since: Instant)] = [:]
    /// Runs that a restart of the gateway cut off.
    private var cutOff: Set<RunID> = []

    var nextDue: Instant? {
        [decided.values.lazy.map(\.due).min(), questions.values.lazy.compactMap(\.due).min()].compactMap(\.self).min()
    }

    /// Why the last attempt of the run failed.
    func cause(of run: RunID) -> String? { failures[run]?.words }

    /// Whether the run was silent since an attempt failed: an ended run then failed, whatever text it had before.
    func failedLast(_ run: RunID) -> Bool { failures[run]?.isLast == true }

    mutating func attemptFailed(_ run: RunID, _ words: String, at now: Instant) {
        if failures.count >= Self.limit { failures.removeAll() }
        failures[run] = (words.isEmpty ? failures[run]?.words ?? "" : words, now, true)
        var backOff = BackOff(first: Self.patience, longest: .seconds(16))
        questions[run] = (now + backOff.next(), backOff)
    }

    /// An attempt failed, and a frame of the run will tell whether it was the last.
    mutating func finishes(_ run: RunID) {
        if finishing.count >= Self.limit { finishing.removeAll() }
        finishing.insert(run)
    }

    /// A lifecycle error, which is final after `finishing`.
    mutating func errs(_ run: RunID, at now: Instant) {
        if finishing.contains(run) { isSaidToHaveFailed(run, at: now) }
    }

    /// The look-up does not report the run as over.
    mutating func isUndecided(_ run: RunID, at now: Instant) {
        guard failures[run]?.at != nil, var backOff = questions[run]?.backOff, questions[run]?.due == nil else {
            return
        }
        questions[run] = (now + backOff.next(), backOff)
    }

    /// The run's row has the vendor's words; those of the lifecycle take precedence.
    mutating func isWritten(_ run: RunID, _ words: String) {
        guard failures[run]?.words.isEmpty ?? true else { return }
        if failures.count >= Self.limit { failures.removeAll() }
        failures[run] = (words, failures[run]?.at, failures[run]?.isLast ?? false)
    }

    mutating func attemptBegan(_ run: RunID) {
        cutOff.remove(run)
        brokenOff.remove(run)
        doubtful[run] = nil
        decided[run] = nil
        questions[run] = nil
        failures[run] = nil
    }

    mutating func spoke(_ run: RunID) {
        failures[run]?.isLast = false
        if case .lookUp? = decided[run]?.verdict { decided[run] = nil }
    }

    /// A terminal frame reports a failure. True if another attempt may follow,
    /// so the failure is held back until the grace period ends.
    mutating func mayGoOn(_ run: RunID, _ failure: RunFailure, at now: Instant) -> Bool {
        guard let failedAt = failures[run]?.at, now - failedAt < Self.grace - .seconds(1) else { return false }
        decided[run] = (.failed(failure), failedAt + Self.grace)
        return true
    }

    /// The session's row reports that the run failed.
    mutating func isSaidToHaveFailed(_ run: RunID, at now: Instant) {
        if case .failed? = decided[run]?.verdict { return }
        let words = failures[run]?.words ?? ""
        decided[run] = (.failed(RunFailure(message: words)), now + Self.patience)
    }

    /// The run ended as stopped; an error that follows tells why.
    mutating func holds(_ end: RunEnd, of run: RunID, at now: Instant) {
        decided[run] = (.stopped(end), now + Self.patience)
    }

    mutating func isCutOff(_ run: RunID, at now: Instant) {
        if cutOff.count >= Self.limit { cutOff.removeAll() }
        cutOff.insert(run)
        decided[run] = (.lookUp, now + Self.restartPatience)
    }

    func isCutOff(_ run: RunID) -> Bool { cutOff.contains(run) }

    /// True if the end must be confirmed by the gateway; false the second time.
    mutating func doubts(_ end: RunEnd, of run: RunID, at now: Instant) -> Bool {
        guard doubtful[run] == nil, doubtful.count < Self.limit else { return false }
        doubtful[run] = (end, now)
        return true
    }

    func doubted(_ run: RunID) -> (end: RunEnd, since: Instant)? { doubtful[run] }

    /// The run's last row was written as cut short.
    mutating func brokeOff(_ run: RunID) {
        if brokenOff.count >= Self.limit { brokenOff.removeAll() }
        brokenOff.insert(run)
    }

    func isBrokenOff(_ run: RunID) -> Bool { brokenOff.contains(run) }

    func isHeld(_ run: RunID) -> Bool { if case .stopped? = decided[run]?.verdict { true } else { false } }

    mutating func endedWithoutAWord(_ run: RunID, at now: Instant) {
        guard decided[run] == nil else { return }
        decided[run] = (.lookUp, now + Self.patience)
    }

    mutating func due(at now: Instant) -> [(run: RunID, verdict: Verdict)] {
        let due = decided.filter { $0.value.due <= now }.sorted { $0.key < $1.key }
        for (run, _) in due { decided[run] = nil }
        let open = questions.filter { $0.value.due.map { $0 <= now } == true }.keys.sorted()
        for run in open { questions[run]?.due = nil }
        return due.map { ($0.key, $0.value.verdict) } + open.map { ($0, .lookUp) }
    }

    /// Attempts may have begun and ended meanwhile: look-ups after the reconnect report them.
    mutating func socketLost() {
        decided.removeAll()
        questions.removeAll()
        cutOff.removeAll()
        doubtful.removeAll()
        for run in failures.keys { failures[run]?.isLast = false }
    }

    mutating func forget(_ run: RunID) {
        finishing.remove(run)
        cutOff.remove(run)
        brokenOff.remove(run)
        doubtful[run] = nil
        decided[run] = nil
        questions[run] = nil
        failures[run] = nil
    }
}
