import AgentKit
import Vocabulary

/// The run of the bridge's that one child works on.
///
/// | state | means | leads to |
/// |---|---|---|
/// | `written` | its prompt was written | `taken` · `going` · `doubtful` · its end |
/// | `taken` | the agent has answered for it | `going` · `doubtful` · its end, also without a run: the prompt was a command |
/// | `going` | its run has begun | `doubtful` · its end |
/// | `doubtful` | its child died, and the next one is to find it | held once more (`ConversationRules.mayBeWrittenAgain`) · its end |
///
/// A Stop is written at once, and once more when the run begins: before that it has stopped nothing. `stop`: the run ends by then, else its
/// child is ended.
struct ChildTurn {
    enum State: Equatable { case written, taken, going, doubtful }

    /// From the last sign of life to a probe, while a prompt is unanswered and while its run has not begun.
    static let startPatience = Duration.seconds(10)
    /// From the last sign of life to the end of a child that has not answered a prompt.
    static let startLimit = Duration.seconds(60)
    /// The limit for all that an agent does before it takes a prompt: compactions, asks of extensions.
    static let promptLimit = Duration.seconds(1_800)
    static let stopPatience = Duration.seconds(15)
    /// From the answer to a Stop to the end of its run.
    static let afterStop = Duration.seconds(2)

    /// Children that died over one prompt, or proved that they never had it: then it ends with a sentence.
    static let losses = 3

    let run: RunID
    var state = State.written { didSet { if state == .going { hasBegun = true } } }
    private(set) var hasBegun = false
    /// The bridge saw a tool of it at work: a transcript without the prompt is late, and proves nothing.
    var hasWorked = false
    private(set) var stopDeadline: Instant?
    /// The prompt for another child; nil if none may get it.
    var prompt: PicturePrompt?
    /// Where it is carried out.
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

/// The time without a sign of life from one child, and what it answered meanwhile.
struct Silence {
    enum Sign { case frame, answer }

    private(set) var since = Instant.zero
    /// Answers in a row that call the child idle although the end of its run was not seen.
    var idleAnswers = 0

    /// When the child is probed, if it says nothing until then.
    func nextProbe(of turn: ChildTurn?, after limit: Duration) -> Instant? {
        if turn?.isStopping == true { return nil }
        return switch turn?.state {
        case .written, .taken: since + ChildTurn.startPatience
        case .going, nil: since + (idleAnswers > 0 ? .seconds(1) : limit)
        case .doubtful: nil
        }
    }

    /// Only a frame that is no answer proves that a run is under way.
    mutating func heard(_ sign: Sign, at now: Instant) {
        since = now
        if sign == .frame { idleAnswers = 0 }
    }
}
