import AgentKit
import Vocabulary

/// One prompt of ours and the run that it begins.
///
/// States:
/// - `held`: not written, or known not to have arrived. Can transition to `written`, and to an end (stopped, refused).
/// - `written`: on this socket, unanswered. Can transition to `accepted` (`turn_ack`, the answer, a conflict), `unanswered` (its time is
///   over), `doubtful` (the socket is gone), and to an end (refused).
/// - `unanswered`: a subscription is written behind it. Can transition to `held` (that one is answered, and all before it had its turn),
///   and as from `written`.
/// - `doubtful`: it may have arrived. The trace decides: to `accepted` (it is there), `held` (it is not), or to an end that says that
///   this cannot be known.
/// - `accepted`: the server has it. Can transition to `going` (`agent_start`), and to an end.
/// - `going`: Can transition to an end.
struct OppiTurn {
    enum State: Hashable { case held, written, unanswered, doubtful, accepted, going }

    /// Whether the agent has it in a queue, behind a run that did not end well.
    enum Queue: Hashable { case unknown, asked, left, stays }

    enum Stop: Hashable {
        case no, due
        case asked(until: Instant)
    }

    /// What an agent does before a run may take long and say nothing: it is not given up for minutes.
    static let startPatience = Duration.seconds(120)
    /// For a command, which may run nothing, and for a message behind a run that is over.
    static let shortStartPatience = Duration.seconds(10)
    static let probeBeforeStart = Duration.seconds(10)
    /// From a cancelled wait to a look at what became of the run.
    static let afterAbortedRetry = Duration.seconds(3)
    /// The server ends a silent session after ten minutes, whatever runs in it; subscribing again is a sign of life (oppi.md#keepalive-pressure-timers).
    static let renewAfter = Duration.seconds(180)
    static let probeAfter = Duration.seconds(15)
    static let redialAfter = Duration.seconds(45)
    static let stopPatience = Duration.seconds(15)
    static let stopTries = 3
    /// Between two looks at a trace that does not have the end yet.
    static let lookAgain = Duration.seconds(2)
    static let lookTries = 4
    static let lookSeldom = Duration.seconds(10)
    /// With no way forward it is given up after this.
    static let limit = Duration.seconds(120)
    /// The server knows a turn's id for 15 minutes (oppi.md#turn-delivery-clientturnid-and-turn_ack).
    static let idLife = Duration.seconds(14 * 60)

    let run: RunID
    var prompt: PicturePrompt
    /// Of an earlier process: its frames until now are unknown.
    let isAdopted: Bool
    var state: State {
        didSet { if isTaken { prompt.forgetPictures() } }
    }
    /// When it was first written.
    var writtenAt: Instant?
    var tries = 0
    /// Written to wait behind the run of another client.
    var waits: Bool?
    /// When an agent that prepares for it was heard last.
    var preparesSince: Instant?
    var stop = Stop.no
    /// Whose runs that stop ends.
    var stopReach = StopReach.everyRun
    /// The server had this prompt before its first write: a bridge on a copy of this one's state directory wrote it, and the run is
    /// that one's.
    var isAnothers = false
    var stopTries = 0
    /// The wait between two attempts was cancelled for the stop.
    var hasAbortedRetry = false
    var queue = Queue.unknown
    var look = Look()
    var watch: Watch
    /// Since when nothing is known that would bring it forward (`OppiChat+Limits.swift`).
    var stuckSince: Instant?

    /// What is to be found out in the trace.
    struct Look {
        /// Frames of this run were missed for good: its end is read from the trace.
        var isTorn = false
        /// The session was activated again behind the run, which ended with the agent before.
        var hasNewAgent = false
        /// How its loop ended just before the socket was lost: a retry could have followed.
        var heldEnd: RunEvent?
        /// The numbers say that all that was missed can be had. The trace says whether they are still those of our run's activation.
        var isInDoubt = false
        /// The session's last run, as the server's ring has it.
        var told: OppiTold?
        /// The ring had a loop of it at work, and all frames since then were heard: what a trace calls whole is an earlier attempt.
        var isLooping = false
        /// By that the run was taken for one that may be tried again.
        var isHeld = false
        /// The bridge asks for the run after a loss of the whole link, and is answered then.
        var isAwaited = false
        var found: RunLookup?
        var tries = 0
        /// The pauses between looks that show nothing: a long history is not fetched without end.
        var backOff = BackOff(first: .seconds(2), longest: .seconds(32))
        /// The next look.
        var due: Instant?
        /// The trace is being fetched.
        var isUnderWay = false
        /// The end of a torn run, as its frames have it.
        var end: RunEnd?
        /// That end came while the trace was being fetched, which may be older.
        var isOutdated = false
        /// What the last message said that came during a look, and is left to the trace.
        var lastText: String?
        /// A run is going on whose first words are not in the trace: a new one is written with the first answer.
        var isEmpty = false
    }

    /// Silence of the socket during the run (oppi.md#keepalive-pressure-timers).
    struct Watch {
        var lastHeard: Instant
        var hasProbed = false
        /// When the agent was heard last, or subscribed to.
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
    /// A stop of that reach leaves the run alone.
    func isSpared(by reach: StopReach) -> Bool { isAnothers && !reach.covers(isOurs: false) }

    /// The server's timer may end a run that does not stop.
    var isRenewed: Bool { !isStopping }
    /// The server may be working on it.
    var isOut: Bool { state != .held }
    var isTaken: Bool { state == .accepted || state == .going }

    /// What is a command of the agent's may be in the trace in other words, so that its absence proves nothing.
    /// And what had files of an earlier process is not whole any more.
    var mayBeRepeated: Bool { !isCommand && !prompt.isIncomplete }

    /// A command of the agent's or of an extension's, or a template.
    var isCommand: Bool { prompt.text.hasPrefix("/") }

    mutating func heard(at now: Instant) {
        watch.lastHeard = max(watch.lastHeard, now)
        watch.hasProbed = false
    }

    /// A long frame leaves, and what would be asked waits behind it.
    mutating func isSilent(until moment: Instant) { heard(at: moment) }

    /// A frame of the agent's, or a subscription: the server's timer begins again.
    mutating func agentShowsLife(at now: Instant) { watch.lastSignOfAgent = now }

    /// `isLive`: its socket is open, so that silence says something.
    func nextDeadline(isLive: Bool) -> Instant? {
        // A look that is under way sees for itself what is next.
        var moments = [look.isUnderWay ? nil : look.due]
        if isTaken, isLive {
            moments.append(watch.lastHeard + (watch.hasProbed ? Self.redialAfter : probeDelay))
            if isRenewed { moments.append(watch.lastSignOfAgent + Self.renewAfter) }
        }
        if case .asked(let until) = stop { moments.append(until) }
        moments.append(stuckSince.map { $0 + patience })
        return moments.compactMap(\.self).min()
    }

    /// A long frame needs its time, and so does what is asked behind it.
    var patience: Duration { isTaken ? Self.limit : Self.limit + prompt.frameTime + prompt.frameTime }

    var probeDelay: Duration { state == .accepted ? Self.probeBeforeStart : Self.probeAfter }
}
