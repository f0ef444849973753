package import AgentKit
package import JSONReading
package import Vocabulary

/// One kind of agent whose chats have a child each: how the child is reached, what its frames say, and how the bridge's are written.
///
/// - A dialect holds no state of a conversation. What reading needs between two frames is its `Reading`, which the engine makes anew for each
///   child, so that a child that died and a bridge that was started again are the same to a dialect.
/// - A dialect reports what it reads. Whether a prompt leaves, leaves once more, whether an answer still counts and what a Stop ends are
///   decided by the engine (`ConversationRules`).
/// - Seven functions are walks (`Step`): the engine calls one with `.begin`, does what it returns, and calls it again with what came of that,
///   until it returns `.done` or `.failed`. A child's end breaks its walk off.
package protocol Dialect: Sendable, SendableMetatype {
    associatedtype Settings: Sendable
    associatedtype Reading: ConversationReading
    /// The parts of an ask that its answer needs.
    associatedtype Slip: Hashable & Sendable

    init(_ settings: Settings)

    /// The name of the agent in sentences.
    var name: String { get }
    /// The command, for `status` and `doctor`.
    var program: String { get }
    /// The remedy for a program that does not run.
    var remedy: String { get }
    var habits: Habits { get }
    /// Where children work whose chat names no folder.
    var folder: String { get }
    /// A running child of a dialect with another one gets no prompt any longer.
    var terms: String { get }
    /// `mark`: begins the names of runs that no prompt of the bridge began; no other reading has it.
    func reading(of session: AgentSession, mark: String) -> Reading

    // MARK: Walks

    /// To a child that can be started: whether another process has the session, for example. The only walk without a child.
    func reach(_ heard: Heard, _ reading: inout Reading, _ here: Here) -> Step<Reached>
    /// From a child that was started to one that answers. No step waits for a line: `read` remembers a greeting that comes unasked, and the walk
    /// looks at the reading once its own request is answered. A side child (`examine`, `list`) is not read.
    func greet(_ heard: Heard, _ reading: inout Reading, _ here: Here) -> Step<Void>
    /// From there to the session: where it is kept, if that is known now. A child without a place never gives its seat to another chat, since
    /// it alone has the conversation: an agent that keeps nothing returns a constant name.
    func join(_ heard: Heard, _ reading: inout Reading, _ here: Here) -> Step<Place?>
    /// Finds the fate of a prompt in all that the agent keeps. An agent that keeps nothing says that it failed: `.absent` claims that the prompt
    /// never arrived. The child is started for the look all the same.
    func find(_ sought: Sought, _ heard: Heard, _ reading: inout Reading, _ here: Here) -> Step<Found>
    func choose(_ model: ModelChoice, _ heard: Heard, _ reading: inout Reading, _ here: Here) -> Step<ModelAnswer>
    func choose(_ level: LevelChoice, _ heard: Heard, _ reading: inout Reading, _ here: Here) -> Step<LevelAnswer>
    /// The models of a child, of a chat or of `sidePlan`.
    func list(_ heard: Heard, _ reading: inout Reading, _ here: Here) -> Step<AgentReply>

    // MARK: Beside the chats

    /// A child without a session, for `list` and `doctor`.
    var sidePlan: ChildPlan { get }
    /// `doctor`'s look at that child.
    func examine(_ heard: Heard, _ reading: inout Reading, _ here: Here) -> Step<Examined>

    // MARK: Frames

    /// A line of the child; nil: no record. A line that is no JSON and means something is parsed as an object made of it, whose bytes may be
    /// gone afterwards.
    func parse(_ line: UnsafeRawBufferPointer, capacity: Int, with parser: FrameParser) -> FrameNode?
    /// The request that a frame answers; nil: none.
    func answer(in frame: FrameNode) -> RequestAnswer?
    /// The hot path. A node is valid during the call alone.
    /// `line`: its bytes, where they must go back as they came.
    func read(
        _ frame: FrameNode, of line: UnsafeRawBufferPointer, _ reading: inout Reading, _ here: Here,
        into reports: inout [Report<Slip>])
    /// The frames of a wish, under the name `here.request` where it is a request; none: the agent has no such request.
    ///
    /// Each agent has a `probe`, a harmless request that it always answers: a child that leaves it unanswered is ended, also while a person
    /// decides. A `stop` that wrote frames is answered within `ChildTurn.stopPatience`, and means `reading.going`, else the prompt that waits.
    /// A `prompt` is settled by its observation, and may bear the run's name.
    func say(_ wish: Wish<Slip>, _ reading: inout Reading, _ here: Here) -> [[UInt8]]
    /// Reads the answer to `Wish.probe`.
    func probed(_ frame: FrameNode, _ reading: inout Reading) -> Activity
}

extension Dialect {
    package var terms: String { "" }

    package func parse(_ line: UnsafeRawBufferPointer, capacity: Int, with parser: FrameParser) -> FrameNode? {
        guard let root = parser.parse(line, capacity: capacity), root.isObject else { return nil }
        return root
    }
}

/// Where two dialects differ before anything is said. A row is here only if two of them have different values.
package struct Habits: Hashable, Sendable {
    package enum Again: Hashable, Sendable {
        /// A prompt that was written is never written again: what was found proves nothing.
        case never
        /// A prompt is written again where `find` has proven that the agent never had it.
        case whereAbsent
    }

    package var again = Again.never
    /// A message can enter the run under way.
    package var steers = false
    /// A child whose bridge is gone works to the end of its turn.
    package var finishesAlone = false
    /// The words of a refusal go with the denial.
    package var deniesInWords = false
    /// Asks beside the bridge's own runs reach a person too.
    package var asksBetweenRuns = false
    /// Room for the pictures of one prompt, in bytes of base64.
    package var pictureRoom = 10 << 20
    /// The time without a frame from a run, until its child is probed.
    package var silence = Duration.seconds(60)

    package init() {}
}

/// The state of reading one child's frames, as far as the engine asks for it.
package protocol ConversationReading {
    /// No run is under way, and no prompt of the bridge is about to begin one: a prompt may be written.
    var isFree: Bool { get }
    /// And nothing works in the background: the child could end without a loss.
    var isIdle: Bool { get }
    /// The background work in words; nil without any.
    var background: String? { get }
    /// The run under way, whoever began it; nil if the agent names none.
    var going: RunID? { get }
    /// A loop may run yet, as far as the frames say.
    var mayRun: Bool { get }
    /// The agent works on something that no run shows, before it takes a prompt.
    var isPreparing: Bool { get }
    /// The run has failed, and the agent has announced another try.
    var isRetrying: Bool { get }
    /// And its time has come.
    func isRetryDue(at now: Instant) -> Bool
    var nextDeadline: Instant? { get }
    mutating func deadlineHit(at now: Instant) -> [Observation]
    /// Each deadline has its whole time again.
    mutating func slept(at now: Instant)
    /// The child is idle: what was to follow does not come. Gives the end of the run.
    mutating func giveUp() -> [Observation]
    /// Closes the run although the frames did not end it.
    mutating func abandonRun()
    /// No frame follows: a loop that has ended is the end of its run.
    mutating func settle() -> [Observation]
    /// A message into the run (`Wish.steer`) was taken back, or the run has ended without it.
    mutating func forgetWords()
    /// A line for the bubble of the next run that is heard of, once.
    mutating func takeNews() -> String?
}

extension ConversationReading {
    package mutating func forgetWords() {}
    package mutating func takeNews() -> String? { nil }
}

/// The facts of a conversation that a dialect may read.
package struct Here: Sendable {
    package var now: Occasion
    package var session: AgentSession
    /// The place as the journal has it.
    package var place: Place?
    /// Where the next child is to work; nil: where the settings say.
    package var folder: String?
    /// The name of the request that is written next.
    package var request: String
    /// The bridge's run that is out.
    package var run: RunID?
    package var isStopping = false
    /// A fate has to be found before the next prompt leaves.
    package var seeks = false
    /// Processes that this bridge or one before it started, and of the latter those that are not known to have ended.
    package var ownProcesses: Set<ProcessName> = []
    package var pastProcesses: [ProcessName] = []

    package init(
        now: Occasion, session: AgentSession, place: Place? = nil, folder: String? = nil, request: String
    ) {
        self.now = now
        self.session = session
        self.place = place
        self.folder = folder
        self.request = request
    }
}

/// Where the agent keeps the session of a chat, and where its child works.
package struct Place: Hashable, Sendable {
    package var native: String?
    package var folder: String?

    package init(native: String? = nil, folder: String? = nil) {
        self.native = native
        self.folder = folder
    }
}

/// A prompt whose fate is looked for.
package struct Sought: Hashable, Sendable {
    package var run: RunID
    /// Nil: the record does not say.
    package var text: String?
    /// Since 1970: what is older has the same words by chance.
    package var notBefore: Int64?
    /// The only child that had the prompt is known to have died.
    package var isOfTurn = false

    package init(_ run: RunID, text: String?, notBefore: Int64? = nil) {
        self.run = run
        self.text = text
        self.notBefore = notBefore
    }
}

package enum Found: Hashable, Sendable {
    /// Had it arrived, it would be there.
    case absent
    case fate(RunLookup)
}

package struct Reached: Hashable, Sendable {
    package var plan: ChildPlan
    /// The session that was kept is gone: the child begins another one.
    package var losesSession: Bool

    package init(_ plan: ChildPlan, losesSession: Bool = false) {
        self.plan = plan
        self.losesSession = losesSession
    }
}

package enum Examined: Hashable, Sendable {
    /// Words behind "… runs (program)".
    case runs(String)
    /// Words behind "… cannot be used: ".
    case lacks(String, ExitCode, remedy: String)
}

package struct RequestAnswer: Hashable, Sendable {
    /// Nil: the agent left the name out, and the answer belongs to the only request that is open.
    package var request: String?
    package var isRefusal: Bool

    package init(_ request: String?, isRefusal: Bool) {
        self.request = request
        self.isRefusal = isRefusal
    }
}

/// A child's activity by its own word.
package enum Activity: Hashable, Sendable {
    case busy
    /// No run is under way. `hasQueue`: messages wait in the agent, and would run with the next prompt.
    case idle(hasQueue: Bool)
    /// The child answers, and says nothing of its runs.
    case alive
}

package enum Report<Slip: Hashable & Sendable>: Sendable {
    case seen([Observation])
    case asks(Ask<Slip>)
    /// The agent does not wait for the answer any longer.
    case withdrawn(String)
    /// Written at once: an answer that no person decides.
    case replies([UInt8])
    /// The agent moved to another session by itself.
    case moved(Place)
    /// The child cannot be used any longer; the next one takes over.
    case broken(String)
    /// The child is of no use for the next prompt.
    case outdated
    /// The agent does not know the session: the next child begins another.
    case sessionIsGone
    /// The agent had this prompt before, and no run comes of it: what became of it is looked for.
    case hadBefore(RunID)
    /// A line for the bubble of the run under way.
    case tells(String)
    case note(String)
}

package enum Wish<Slip: Hashable & Sendable>: Sendable {
    case prompt(RunID, PicturePrompt)
    case steer(RunID, PicturePrompt)
    case stop
    /// The agent has the prompt in its queue, behind another run.
    case takeBack(RunID)
    case probe
    case settle(Ask<Slip>, Verdict)
    /// Before its input ends.
    case leave
}
