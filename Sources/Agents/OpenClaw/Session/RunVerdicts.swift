import Vocabulary

/// Ends that no terminal frame brings, or that may be none (openclaw.md#order-of-frames-in-one-run).
///
/// - A failed run that a message began has no terminal frame in the second era: its session's row says later that it failed, and the last
///   lifecycle error says why.
/// - In the first era each attempt that fails has a terminal frame, at once. It is an end where nothing of the run comes within the time
///   that later eras take for that; what comes then has no terminal frame at all.
/// - Where the lifecycle ends and no terminal frame follows, the history says what became of the run.
/// - Whether an attempt that failed was the last one the gateway says when it is asked, long before it says so by itself.
/// - In the third era failed attempts are `finishing`, and the one lifecycle error behind them is the run's end. Its terminal frame may
///   come a quarter of a minute later.
/// - An answer without words is said to be stopped, and to have failed right after that.
///
/// - A gateway that restarts says that its runs are over, and goes on with them when it is back: such an end is none. Where no restart
///   follows, the history says what became of the run.
/// - In the second era another attempt may follow a terminal frame (`OpenClawSession.doubts`).
///
/// What is decided is due after a while. A new attempt undoes it, any other sign of life puts a look-up off, and a terminal frame that
/// comes makes it void.
struct RunVerdicts {
    enum Verdict: Hashable {
        case failed(RunFailure)
        case stopped(RunEnd)
        case lookUp
    }

    /// From the lifecycle error on: another attempt begins by then, or none does.
    static let grace = Duration.seconds(15)
    static let patience = Duration.seconds(1)
    /// From the cut to the end of the socket: the gateway waits for its other runs.
    private static let restartPatience = Duration.seconds(60)
    private static let limit = 512

    private var decided: [RunID: (verdict: Verdict, due: Instant)] = [:]
    /// When to ask whether an attempt that failed was the last one.
    private var questions: [RunID: (due: Instant?, backOff: BackOff)] = [:]
    /// `at`: an attempt failed then; nil: its row alone says so. `isLast`: nothing of the run came since, and no frame was missed.
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

    /// The run said nothing since an attempt failed: where it is over, that was its end, whatever it had said before.
    func failedLast(_ run: RunID) -> Bool { failures[run]?.isLast == true }

    mutating func attemptFailed(_ run: RunID, _ words: String, at now: Instant) {
        if failures.count >= Self.limit { failures.removeAll() }
        failures[run] = (words.isEmpty ? failures[run]?.words ?? "" : words, now, true)
        var backOff = BackOff(first: Self.patience, longest: .seconds(16))
        questions[run] = (now + backOff.next(), backOff)
    }

    /// An attempt failed, and the run says by itself whether it was the last one.
    mutating func finishes(_ run: RunID) {
        if finishing.count >= Self.limit { finishing.removeAll() }
        finishing.insert(run)
    }

    /// A lifecycle error.
    mutating func errs(_ run: RunID, at now: Instant) {
        if finishing.contains(run) { isSaidToHaveFailed(run, at: now) }
    }

    /// The gateway was asked, and does not say that the run is over.
    mutating func isUndecided(_ run: RunID, at now: Instant) {
        guard failures[run]?.at != nil, var backOff = questions[run]?.backOff, questions[run]?.due == nil else {
            return
        }
        questions[run] = (now + backOff.next(), backOff)
    }

    /// Its row says why, in the vendor's words: those of the lifecycle are better.
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

    /// A terminal frame says that it failed. Nil: that is its end. Else it is one then.
    mutating func mayGoOn(_ run: RunID, _ failure: RunFailure, at now: Instant) -> Bool {
        guard let failedAt = failures[run]?.at, now - failedAt < Self.grace - .seconds(1) else { return false }
        decided[run] = (.failed(failure), failedAt + Self.grace)
        return true
    }

    /// Its session's row says that it failed.
    mutating func isSaidToHaveFailed(_ run: RunID, at now: Instant) {
        if case .failed? = decided[run]?.verdict { return }
        let words = failures[run]?.words ?? ""
        decided[run] = (.failed(RunFailure(message: words)), now + Self.patience)
    }

    /// It ended as one that was stopped; an error that follows is why.
    mutating func holds(_ end: RunEnd, of run: RunID, at now: Instant) {
        decided[run] = (.stopped(end), now + Self.patience)
    }

    mutating func isCutOff(_ run: RunID, at now: Instant) {
        if cutOff.count >= Self.limit { cutOff.removeAll() }
        cutOff.insert(run)
        decided[run] = (.lookUp, now + Self.restartPatience)
    }

    func isCutOff(_ run: RunID) -> Bool { cutOff.contains(run) }

    /// True: the gateway is to say whether it is one. False the second time.
    mutating func doubts(_ end: RunEnd, of run: RunID, at now: Instant) -> Bool {
        guard doubtful[run] == nil, doubtful.count < Self.limit else { return false }
        doubtful[run] = (end, now)
        return true
    }

    func doubted(_ run: RunID) -> (end: RunEnd, since: Instant)? { doubtful[run] }

    /// Its last row was written as one that was cut short.
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

    /// Another attempt may have begun meanwhile, and ended: the history says it.
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
