import Links
import Vocabulary

/// The server of the bridge's own, as a process: which program would be started, and which one runs.
///
/// States of the process:
/// - `unknown`: an earlier bridge may have started it. Can transition to `queued`, `starting` (its socket does not answer).
/// - `queued`: another server of the same CODEX_HOME is being started. Can transition to `starting` (it has started, or takes too long),
///   `running` (its socket answered).
/// - `starting`: written down and ordered; its socket is tried until it answers. Can transition to `running`, `unknown` (it ended).
/// - `running`: its socket answered. Can transition to `ending` (it is to be started again), `unknown` (it ended).
/// - `ending`: Can transition to `unknown`.
///
/// One is started and awaited at a time, by all connections and `doctor`, under a lock file: several first starts with one CODEX_HOME
/// end all but one (codex.md#starting-it).
struct CodexServer {
    enum Process: Hashable { case unknown, queued(until: Instant), starting(until: Instant), running, ending }

    static let startLimit = Duration.seconds(20)
    /// Timeout of the wait for the start lock, whose holder may be suspended.
    static let queueLimit = Duration.seconds(60)
    static let tryAgain = Duration.milliseconds(250)
    static let grace = Duration.seconds(10)

    var process = Process.unknown
    /// Of the program; nil: not asked yet.
    var version: String?
    /// The process, where it is known.
    var name: ProcessName?
    /// The one that this bridge has started.
    var child: ProcessName?
    /// The process that was known before that.
    var before: ProcessName?
    /// What the running one was started with.
    var startedWith: String?
    /// Lock files that are held.
    var locks: [String] = []
    /// The one that is `starting` has been ordered: an end before that is of the one before it.
    var isOrdered = false
    /// Size of the log when the last one was started: what is before it may hold words of chats.
    var logStart: Int64?
    /// How the last one ended.
    var end: ProcessEnd?
    /// Why the program cannot be started, by its last look.
    var fault: CodexTrouble?
    var tries = CodexTries()
    var rest = CodexRest()

    /// What a second server on one socket says and ends with (codex.md#starting-it).
    static func isBesideAnother(_ lastWords: String) -> Bool { lastWords.contains("already in use") }

    /// Its start has timed out.
    func isLate(at now: Instant) -> Bool { if case .starting(let until) = process { until <= now } else { false } }

    /// Started and not ready, or queued for the start lock.
    var isStarting: Bool {
        switch process {
        case .queued, .starting: true
        case .unknown, .running, .ending: false
        }
    }

    /// Differs where a server that runs is to be started again: other program, version, command or environment.
    func mark(_ own: CodexSettings.Own) -> String { "\(version ?? "?") \(own.fingerprint)" }

    func isOutdated(_ own: CodexSettings.Own) -> Bool {
        guard let startedWith, version != nil else { return false }
        return startedWith != mark(own)
    }
}

/// The history of connection attempts, for the back-off and for finding a wedged server.
struct CodexTries {
    private static let wedgedAfter = Duration.seconds(300)
    private static let steadyAfter = Duration.seconds(60)

    /// The connection that is live, and how many in a row did not hold for a minute.
    private var greetedAt: Instant?
    private var shortLinks = BackOff(first: .zero, .seconds(1), longest: .seconds(8))
    /// Consecutive dials that ended without a handshake.
    private var vainDials = BackOff(
        first: .seconds(1), .seconds(1), .seconds(1), .seconds(1), longest: .seconds(8))
    /// Handshakes in a row that it did not answer, and since when.
    private var unanswered = 0
    private var unansweredSince: Instant?

    mutating func doesNotAnswer(at now: Instant) {
        unanswered += 1
        unansweredSince = unansweredSince ?? now
    }

    mutating func greeted(at now: Instant) {
        greetedAt = now
        vainDials.succeeded()
        isForgiven()
    }

    /// The process is replaced: its failures do not count against the next one.
    mutating func isForgiven() { (unanswered, unansweredSince) = (0, nil) }

    /// A process that takes connections and answers none is of no use to its turns; on a busy computer it is only slow.
    func isWedged(at now: Instant) -> Bool {
        unanswered >= 3 && unansweredSince.map { $0 + Self.wedgedAfter <= now } == true
    }

    /// A connection is lost. The own server is started again where it is gone, so that to wait helps nothing; but for one that ends
    /// again and again.
    mutating func isLost(at now: Instant) -> Redial {
        guard let since = greetedAt.take() else { return .after(vainDials.next()) }
        guard now - since < Self.steadyAfter else {
            shortLinks.succeeded()
            return .atOnce
        }
        let pause = shortLinks.next()
        return pause == .zero ? .atOnce : .after(pause)
    }
}
