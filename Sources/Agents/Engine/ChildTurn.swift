import AgentKit
import Vocabulary

/// The bridge's run that one child works on.
///
/// | state | means | leads to |
/// |---|---|---|
/// | `written` | its prompt was written | `taken` · `going` · `doubtful` · its end |
/// | `taken` | the agent has answered for it | `going` · `doubtful` · its end, also without a run: the prompt was a command |
/// | `going` | its run has begun | `doubtful` · its end |
/// | `doubtful` | its child died; the next one looks for it | held again (`ConversationRules.mayBeWrittenAgain`) · its end |
///
/// A Stop is written at once, and again when the run begins: before that it has stopped nothing. `stopDeadline`: if the run has not
/// ended by then, its child is ended.
struct ChildTurn {
    enum State: Equatable { case written, taken, going, doubtful }

    /// Pause between the last sign of life and a probe, while a prompt is unanswered or its run has not begun.
    static let startPatience = Duration.seconds(10)
    /// Pause between the last sign of life and the end of a child that has not answered a prompt.
    static let startLimit = Duration.seconds(60)
    /// Limit for the agent's work before it takes a prompt: compactions, asks of extensions.
    static let promptLimit = Duration.seconds(1_800)
    static let stopPatience = Duration.seconds(15)
    /// Pause between the answer to a Stop and the end of its run.
    static let afterStop = Duration.seconds(2)

    /// Children that died over one prompt, or never had it; after the last the prompt ends with a sentence.
    static let losses = 3

    let run: RunID
    var state = State.written { didSet { if state == .going { hasBegun = true } } }
    private(set) var hasBegun = false
    /// The bridge saw a tool of the run: a transcript without the prompt is late, and proves nothing.
    var hasWorked = false
    private(set) var stopDeadline: Instant?
    /// The prompt for another child, or nil if none may get it.
    var prompt: PicturePrompt?
    /// Working folder of the run.
    let folder: String?
    var losses: Int

    init(_ run: RunID, prompt: PicturePrompt?, in folder: String? = nil, losses: Int = 0) {
        self.run = run
        self.prompt = prompt
        self.folder = folder
        self.losses = losses
    }

    var isStopping: Bool { stopDeadline != nil }

    mutating func stops(by deadline: Instant) { stopDeadline = deadline }
}

/// The time without a sign of life from one child, and its answers in that time.
struct Silence {
    enum Sign { case frame, answer }

    private(set) var since = Instant.zero
    /// Answers in a row that call the child idle although the end of its run was not seen.
    var idleAnswers = 0

    /// When a silent child is probed.
    func nextProbe(of turn: ChildTurn?, after limit: Duration) -> Instant? {
        if turn?.isStopping == true { return nil }
        return switch turn?.state {
        case .written, .taken: since + ChildTurn.startPatience
        case .going, nil: since + (idleAnswers > 0 ? .seconds(1) : limit)
        case .doubtful: nil
        }
    }

    /// An answer does not prove that a run is under way; any other frame does.
    mutating func heard(_ sign: Sign, at now: Instant) {
        since = now
        if sign == .frame { idleAnswers = 0 }
    }
}
