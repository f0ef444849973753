import Links
import Vocabulary

/// The bridge's own server as a process: the program to start, and the process that runs.
///
/// States of the process:
/// - `unknown`: an earlier bridge may have started the process. Can transition to `queued`, `starting` (its socket does not
///   answer).
/// - `queued`: another server of the same CODEX_HOME is starting. Can transition to `starting` (the other has started, or takes too
///   long), `running` (the socket answered).
/// - `starting`: recorded and ordered; its socket is tried until it answers. Can transition to `running`, `unknown` (the process
///   ended).
/// - `running`: its socket answered. Can transition to `ending` (for another start), `unknown` (the process ended).
/// - `ending`: Can transition to `unknown`.
///
/// All connections and `doctor` start one server at a time, under a lock file: of several first starts with one CODEX_HOME all but
/// one end (codex.md#starting-it).
struct CodexServer {
    enum Process: Hashable { case unknown, queued(until: Instant), starting(until: Instant), running, ending }

    static let startLimit = Duration.seconds(20)
    /// Timeout of the wait for the start lock, whose holder may be suspended.
    static let queueLimit = Duration.seconds(60)
    static let tryAgain = Duration.milliseconds(250)
    static let grace = Duration.seconds(10)

    var process = Process.unknown
    /// Version of the program, or nil before the first look.
    var version: String?
    /// Process of the server, if known.
    var name: ProcessName?
    /// Process that this bridge started.
    var child: ProcessName?
    /// Process known before that start.
    var before: ProcessName?
    /// Mark of the running server's start.
    var startedWith: String?
    /// Paths of the held lock files.
    var locks: [String] = []
    /// The start of the `starting` process is ordered; an exit before that belongs to its predecessor.
    var isOrdered = false
    /// Size of the log at the newest start: text before it may hold words of chats.
    var logStart: Int64?
    /// End of the process that ran last.
    var end: ProcessEnd?
    /// Reason against a start, from the last look at the program.
    var fault: CodexTrouble?
    var tries = CodexTries()
    var rest = CodexRest()

    /// Last words of a second server on one socket (codex.md#starting-it).
    static func isBesideAnother(_ lastWords: String) -> Bool { lastWords.contains("already in use") }

    /// The start has timed out.
    func isLate(at now: Instant) -> Bool { if case .starting(let until) = process { until <= now } else { false } }

    /// Started and not ready, or queued for the start lock.
    var isStarting: Bool {
        switch process {
        case .queued, .starting: true
        case .unknown, .running, .ending: false
        }
    }

    /// Program version, command and environment in one word: a server with another mark is outdated.
    func mark(_ own: CodexSettings.Own) -> String { "\(version ?? "?") \(own.fingerprint)" }

    func isOutdated(_ own: CodexSettings.Own) -> Bool {
        guard let startedWith, version != nil else { return false }
        return startedWith != mark(own)
    }
}

/// History of connection attempts, for the back-off and for finding a wedged server.
struct CodexTries {
    private static let wedgedAfter = Duration.seconds(300)
    private static let steadyAfter = Duration.seconds(60)

    /// Beginning of the live connection, and the back-off of connections that held for less than a minute.
    private var greetedAt: Instant?
    private var shortLinks = BackOff(first: .zero, .seconds(1), longest: .seconds(8))
    /// Consecutive dials that ended without a handshake.
    private var vainDials = BackOff(
        first: .seconds(1), .seconds(1), .seconds(1), .seconds(1), longest: .seconds(8))
    /// Consecutive handshakes without an answer, and the time of the first.
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

    /// Forgets the failures of a process that is replaced.
    mutating func isForgiven() { (unanswered, unansweredSince) = (0, nil) }

    /// A process that accepts connections and answers none is useless to its turns. The bound leaves time to one on a busy
    /// computer.
    func isWedged(at now: Instant) -> Bool {
        unanswered >= 3 && unansweredSince.map { $0 + Self.wedgedAfter <= now } == true
    }

    /// A lost connection redials at once, because an own server that is gone is started again. Connections that end again and again
    /// back off.
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
