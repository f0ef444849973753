import AgentKit
import Vocabulary

/// One prompt of ours and the run that it begins.
///
/// States:
/// - `held`: not written, or known not to have arrived. Can transition to `written`, and to an end (stopped, refused).
/// - `written`: sent on this socket, unanswered. Can transition to `accepted` (`turn_ack`, the answer, a
///   conflict), `unanswered` (timeout), `doubtful` (the socket is lost), and to an end (refused).
/// - `unanswered`: a subscription was sent behind the prompt. Can transition to `held` (the subscription
///   is answered, so the server has read everything before it), and as from `written`.
/// - `doubtful`: the prompt may have arrived. The trace decides: `accepted` (it is
///   there), `held` (it is not), or an end that reports the doubt.
/// - `accepted`: the server has the prompt. Can transition to `going` (`agent_start`), and to an end.
/// - `going`: the run is at work. Can transition to an end.
struct OppiTurn {
    enum State: Hashable { case held, written, unanswered, doubtful, accepted, going }

    /// Whether the agent keeps the prompt in its queue, behind a run that did not end well.
    enum Queue: Hashable { case unknown, asked, left, stays }

    enum Stop: Hashable {
        case no, due
        case asked(until: Instant)
    }

    /// An agent may work silently before a run, so the prompt is kept for minutes.
    static let startPatience = Duration.seconds(120)
    /// Patience for a command, which may run nothing, and for a message behind a run that has ended.
    static let shortStartPatience = Duration.seconds(10)
    static let probeBeforeStart = Duration.seconds(10)
    /// From a cancelled retry to a look at the run's outcome.
    static let afterAbortedRetry = Duration.seconds(3)
    /// The server ends a silent session after ten minutes, even during a run; a new
    /// subscription counts as activity (oppi.md#keepalive-pressure-timers).
    static let renewAfter = Duration.seconds(180)
    static let probeAfter = Duration.seconds(15)
    static let redialAfter = Duration.seconds(45)
    static let stopPatience = Duration.seconds(15)
    static let stopTries = 3
    /// Pause between two looks at a trace that lacks the end.
    static let lookAgain = Duration.seconds(2)
    static let lookTries = 4
    static let lookSeldom = Duration.seconds(10)
    /// A turn without progress is given up after this.
    static let limit = Duration.seconds(120)
    /// The server remembers a turn's id for 15 minutes (oppi.md#turn-delivery-clientturnid-and-turn_ack).
    static let idLife = Duration.seconds(14 * 60)

    let run: RunID
    var prompt: PicturePrompt
    /// The run is an earlier process's: its frames so far are unknown.
    let isAdopted: Bool
    var state: State {
        didSet { if isTaken { prompt.forgetPictures() } }
    }
    /// When the prompt was first written.
    var writtenAt: Instant?
    var tries = 0
    /// The prompt was sent as a follow-up to another client's run.
    var waits: Bool?
    /// When the agent last showed that it prepares for the run.
    var preparesSince: Instant?
    var stop = Stop.no
    /// Which runs the stop covers.
    var stopReach = StopReach.everyRun
    /// The server had this prompt before its first write: a bridge on a copy of
    /// this one's state directory wrote it and owns the run.
    var isAnothers = false
    var stopTries = 0
    /// The wait between two attempts was cancelled for the stop.
    var hasAbortedRetry = false
    var queue = Queue.unknown
    var look = Look()
    var watch: Watch
    /// Since when the turn makes no progress (`OppiChat+Limits.swift`).
    var stuckSince: Instant?

    /// State of the search in the trace.
    struct Look {
        /// Frames of this run are lost for good: the trace supplies its end.
        var isTorn = false
        /// The session was activated again after the run began; the run ended with its former agent.
        var hasNewAgent = false
        /// How the loop ended just before the socket was lost: a retry might have followed.
        var heldEnd: RunEvent?
        /// The numbers promise a full replay, but they may be another activation's; the trace tells.
        var isInDoubt = false
        /// The session's last run according to the server's ring.
        var told: OppiTold?
        /// The ring showed a running loop, and no frame was missed since: a
        /// complete answer in the trace belongs to an earlier attempt.
        var isLooping = false
        /// The ring showed a loop that may be retried, so the end was held back.
        var isHeld = false
        /// The bridge will look the run up, after a loss of the whole link, and gets the result then.
        var isAwaited = false
        var found: RunLookup?
        var tries = 0
        /// Pauses between looks without a result, which limit how often a long history is fetched.
        var backOff = BackOff(first: .seconds(2), longest: .seconds(32))
        /// When to look next.
        var due: Instant?
        /// The trace is being fetched.
        var isUnderWay = false
        /// The end of a torn run according to its frames.
        var end: RunEnd?
        /// The end came while the trace, which may be older, was being fetched.
        var isOutdated = false
        /// Text of the last message that came during a look; the trace is to supply it.
        var lastText: String?
        /// A run is at work whose first words are not in the trace: a new file is written with the first answer.
        var isEmpty = false
    }

    /// Silence of the socket during the run (oppi.md#keepalive-pressure-timers).
    struct Watch {
        var lastHeard: Instant
        var hasProbed = false
        /// When the agent's last frame, or the last subscription, came.
        var lastSignOfAgent: Instant
    }

    init(_ run: RunID, _ prompt: PicturePrompt, _ state: State, isAdopted: Bool = false, at now: Instant) {
        self.run = run
        self.prompt = prompt
        self.state = state
        self.isAdopted = isAdopted
        watch = Watch(lastHeard: now, lastSignOfAgent: now)
    }

    var isStopping: Bool { stop != .no }
    /// Whether a stop of that reach spares the run.
    func isSpared(by reach: StopReach) -> Bool { isAnothers && !reach.covers(isOurs: false) }

    /// A run that ignores its stop is not kept alive: the server's timer may end it.
    var isRenewed: Bool { !isStopping }
    /// The server may be working on the prompt.
    var isOut: Bool { state != .held }
    var isTaken: Bool { state == .accepted || state == .going }

    /// Whether the prompt may be sent again. A command may not, since the trace may have it in other words and its absence proves
    /// nothing; nor may a prompt whose files an earlier process had.
    var mayBeRepeated: Bool { !isCommand && !prompt.isIncomplete }

    /// A command of the agent or an extension, or a template.
    var isCommand: Bool { prompt.text.hasPrefix("/") }

    mutating func heard(at now: Instant) {
        watch.lastHeard = max(watch.lastHeard, now)
        watch.hasProbed = false
    }

    /// A long frame is being sent, and requests behind it wait.
    mutating func isSilent(until moment: Instant) { heard(at: moment) }

    /// A frame of the agent, or a subscription, restarts the server's timer.
    mutating func agentShowsLife(at now: Instant) { watch.lastSignOfAgent = now }

    /// `isLive`: the socket is open, so its silence counts.
    func nextDeadline(isLive: Bool) -> Instant? {
        // A look in progress sets the next due time itself.
        var moments = [look.isUnderWay ? nil : look.due]
        if isTaken, isLive {
            moments.append(watch.lastHeard + (watch.hasProbed ? Self.redialAfter : probeDelay))
            if isRenewed { moments.append(watch.lastSignOfAgent + Self.renewAfter) }
        }
        if case .asked(let until) = stop { moments.append(until) }
        moments.append(stuckSince.map { $0 + patience })
        return moments.compactMap(\.self).min()
    }

    /// A long frame needs its time, and so does a request behind it.
    var patience: Duration { isTaken ? Self.limit : Self.limit + prompt.frameTime + prompt.frameTime }

    var probeDelay: Duration { state == .accepted ? Self.probeBeforeStart : Self.probeAfter }
}
