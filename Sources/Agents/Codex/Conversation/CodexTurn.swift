import Vocabulary

/// A message for Codex. Its run is also its label there (codex.md#what-survives).
struct CodexPrompt: Hashable {
    var run: RunID
    var text: String
    /// Paths that Codex reads.
    var images: [String] = []
    /// All of it is known: of an earlier process's message the files are not.
    var isWhole = true
    var model: String?
    var level = LevelChoice.unchanged
    /// The message is to steer the active turn, if that is ours.
    var steers = false
    /// Where the chat's thread begins, if it has none.
    var folder: String?

    var heldBytes: Int { text.utf8.count + images.reduce(0) { $0 + $1.utf8.count } + HeldBytes.entryCost }
}

/// The turn of ours that one thread is at.
///
/// States:
/// - `written`: on this connection, unanswered. Can transition to `accepted` (the answer, or the turn itself), `doubtful` (the
///   connection is gone), and to an end (refused).
/// - `doubtful`: it may have arrived. The list of turns decides: to `accepted` (it is there), or to an end; where the process that would have
///   it still lives and does not, the prompt is written again.
/// - `accepted`: Codex has named it. Can transition to `going` (`turn/started`), and to an end.
/// - `going`: Can transition to an end, and back to `accepted` (another client's message began it, and ours is not in it yet).
struct CodexTurn {
    enum State: Hashable { case written, doubtful, accepted, going }

    enum Stop: Hashable {
        case no
        /// It is interrupted as soon as it has begun: earlier ones are refused, and the turn runs on (codex.md#stop-steer-busy).
        case due(until: Instant)
        case asked(until: Instant)
    }

    static let startPatience = Duration.seconds(5)
    static let stopPatience = Duration.seconds(15)
    /// From the idle status to a look, where the turn's end does not come (codex.md#known-bugs).
    static let idlePatience = Duration.seconds(2)
    static let silence = Duration.seconds(360)
    /// From an answer of a person to the server's word that it has it.
    static let answerPatience = Duration.seconds(30)
    /// Between two looks at a list that does not have the turn.
    static let lookAgain = Duration.seconds(1)

    let prompt: CodexPrompt
    var state: State
    /// Of an earlier process of the bridge.
    var isAdopted = false
    /// Codex has answered for it, in this process or in an earlier one.
    var wasAccepted = false
    /// The bridge knows that it was accepted.
    var isReported = false
    /// Codex's name of it.
    var id: String?
    var stop = Stop.no
    var stopReach = StopReach.everyRun
    /// What was said into it, and is not among its items yet.
    var words: CodexPrompt?
    var watch: Watch

    /// What it holds, where a list has it in short.
    enum Items { case unread, reading, read, refused }

    struct Watch {
        var lastHeard: Instant
        /// Looks at the list in a row that did not have it.
        var emptyLooks = 0
        var lookDue: Instant?
        /// When an interrupt is repeated that was refused, or had no answer.
        var interruptDue: Instant?
        /// The process in which it would be is the one that it was sent to. Nil before the first look; once it was another one, it stays
        /// so.
        var isOfSameServer: Bool?
        var items = Items.unread
        /// Another client's turn behind it, which goes on while its items are read.
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
    /// Where it is known that it did not arrive.
    var mayBeRepeated: Bool { !wasAccepted && !isStopping && prompt.isWhole }

    /// Why it ends where Codex does not have it.
    var lossSentence: String {
        wasAccepted
            ? "Codex does not have this turn any more"
            : "Codex's server was started again, and whether the message had reached it cannot be known"
    }

    mutating func heard(at now: Instant) { watch.lastHeard = now }

    /// Only what something is done about when it comes. `silence`: nil while it says nothing, because a person is asked.
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
