import BridgeModel

/// Ends that no terminal frame brings, or that may be none (openclaw.md#order-of-frames-in-one-run).
///
/// - A failed run that a message began has no terminal frame in the second era: its session's row says later that it failed, and the last
///   lifecycle error says why.
/// - In the first era each attempt that fails has a terminal frame, at once. It is an end where nothing of the run comes within the time
///   that later eras take for that; what comes then has no terminal frame at all.
/// - Where the lifecycle ends and no terminal frame follows, the history says what became of the run.
/// - Whether an attempt that failed was the last one the gateway says when it is asked, long before it says so by itself.
/// - An answer without words is said to be stopped, and to have failed right after that.
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
    private static let limit = 512

    private var decided: [RunID: (verdict: Verdict, due: Instant)] = [:]
    /// When to ask whether an attempt that failed was the last one, and how long after that once more.
    private var questions: [RunID: (due: Instant?, pause: Duration)] = [:]
    /// `at`: an attempt failed then; nil: its row alone says so. `isLast`: nothing of the run came since, and no frame was missed.
    private var failures: [RunID: (words: String, at: Instant?, isLast: Bool)] = [:]

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
        questions[run] = (now + Self.patience, Self.patience + Self.patience)
    }

    /// The gateway was asked, and does not say that the run is over.
    mutating func isUndecided(_ run: RunID, at now: Instant) {
        guard let failedAt = failures[run]?.at, let known = questions[run], known.due == nil,
            now - failedAt < Self.grace
        else { return }
        questions[run] = (now + known.pause, known.pause + known.pause)
    }

    /// Its row says why, in the vendor's words: those of the lifecycle are better.
    mutating func isWritten(_ run: RunID, _ words: String) {
        guard failures[run]?.words.isEmpty ?? true else { return }
        if failures.count >= Self.limit { failures.removeAll() }
        failures[run] = (words, failures[run]?.at, failures[run]?.isLast ?? false)
    }

    mutating func attemptBegan(_ run: RunID) {
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
        #if PLANTED_FAULTS
            if PlantedFault.errorTakenForEnd.isPlanted { return }
        #endif
        if case .failed? = decided[run]?.verdict { return }
        let words = failures[run]?.words ?? ""
        decided[run] = (.failed(RunFailure(message: words)), now + Self.patience)
    }

    /// It ended as one that was stopped; an error that follows is why.
    mutating func holds(_ end: RunEnd, of run: RunID, at now: Instant) {
        decided[run] = (.stopped(end), now + Self.patience)
    }

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
        for run in failures.keys { failures[run]?.isLast = false }
    }

    mutating func forget(_ run: RunID) {
        decided[run] = nil
        questions[run] = nil
        failures[run] = nil
    }
}
