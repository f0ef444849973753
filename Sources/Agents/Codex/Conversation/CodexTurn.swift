import Vocabulary

/// A message for Codex, which carries the run's id as its label (codex.md#what-survives).
struct CodexPrompt: Hashable {
    var run: RunID
    var text: String
    /// Paths of pictures, which Codex reads itself.
    var images: [String] = []
    /// False if files of the message are missing: an earlier process kept its words alone.
    var isWhole = true
    var model: String?
    var level = LevelChoice.unchanged
    /// The message steers the active turn if that is ours.
    var steers = false
    /// Folder of a thread that this message begins.
    var folder: String?

    var heldBytes: Int { text.utf8.count + images.reduce(0) { $0 + $1.utf8.count } + HeldBytes.entryCost }
}

/// Our turn in one thread.
///
/// States:
/// - `written`: sent on this connection, unanswered. Can transition to `accepted` (the answer, or the turn itself), `doubtful` (the
/// connection is lost), and to an end (refused).
/// - `doubtful`: the prompt may have arrived. The list of turns decides: to `accepted` if it has the turn, else to an end, or back
///   to a prompt if the process that it was sent to is alive.
/// - `accepted`: Codex has named the turn. Can transition to `going` (`turn/started`), and to an end.
/// - `going`: Can transition to an end, and back to `accepted` (another client's message began the turn, which lacks ours so far).
struct CodexTurn {
    enum State: Hashable { case written, doubtful, accepted, going }

    enum Stop: Hashable {
        case no
        /// The interrupt waits for `turn/started`: an earlier one is refused, and the turn runs on (codex.md#stop-steer-busy).
        case due(until: Instant)
        case asked(until: Instant)
    }

    static let startPatience = Duration.seconds(5)
    static let stopPatience = Duration.seconds(15)
    /// Pause between the idle status and a look at the list, for a turn whose end does not come (codex.md#known-bugs).
    static let idlePatience = Duration.seconds(2)
    static let silence = Duration.seconds(360)
    /// Pause between a person's answer and the server's confirmation.
    static let answerPatience = Duration.seconds(30)
    /// Pause between two looks at a list that lacks the turn.
    static let lookAgain = Duration.seconds(1)

    let prompt: CodexPrompt
    var state: State
    /// An earlier process of the bridge sent the prompt.
    var isAdopted = false
    /// Codex has answered the prompt, in this process or an earlier one.
    var wasAccepted = false
    /// The core knows that Codex accepted the prompt.
    var isReported = false
    /// Codex's id of the turn.
    var id: String?
    var stop = Stop.no
    var stopReach = StopReach.everyRun
    /// Words that steer the turn and are not among its items yet.
    var words: CodexPrompt?
    var watch: Watch

    /// Items of a turn that a list has in short.
    enum Items { case unread, reading, read, refused }

    struct Watch {
        var lastHeard: Instant
        /// Consecutive looks at a list without the turn.
        var emptyLooks = 0
        var lookDue: Instant?
        /// Next try of an interrupt that was refused or unanswered.
        var interruptDue: Instant?
        /// Whether the process now asked is the one that the prompt was sent to, or nil before the first look. Once false, it stays
        /// false.
        var isOfSameServer: Bool?
        var items = Items.unread
        /// Another client's turn behind ours, which continues while the items of ours are read.
        var other: String?

        mutating func sees(isSameServer isSame: Bool) { isOfSameServer = isSame && isOfSameServer != false }
    }

    init(_ prompt: CodexPrompt, _ state: State, at now: Instant) {
        self.prompt = prompt
        self.state = state
        watch = Watch(lastHeard: now)
    }

    var run: RunID { prompt.run }
    var isStopping: Bool { stop != .no }
    /// A turn that is known not to have arrived may be sent again.
    var mayBeRepeated: Bool { !wasAccepted && !isStopping && prompt.isWhole }

    /// Failure of a turn that Codex does not have.
    var lossSentence: String {
        wasAccepted
            ? "Codex does not have this turn any more"
            : "Codex's server was started again, and whether the message had reached it cannot be known"
    }

    mutating func heard(at now: Instant) { watch.lastHeard = now }

    /// Next moment that needs an action. `silence`: patience without a frame, or nil while a person is asked.
    func nextDeadline(isOpen: Bool, silence: Duration?) -> Instant? {
        var moments: [Instant?] = []
        switch stop {
        case .asked(let until): moments.append(until)
        case .due(let until) where isOpen && (state != .going || stopReach == .ownRuns): moments.append(until)
        case .due, .no: break
        }
        if isOpen { moments += [watch.lookDue, watch.interruptDue, silence.map { watch.lastHeard + $0 }] }
        return moments.compactMap(\.self).min()
    }
}
