package import AgentKit
package import JSONReading
package import Vocabulary

/// One kind of agent with a child for each chat: the way to the child, and the reading and writing of its frames.
///
/// - A dialect holds no state of a conversation. `Reading` keeps what reading needs between two frames. The engine makes a new one
///   for each child, so a dead child and a restarted bridge look the same to a dialect.
/// - A dialect reports what it reads. The engine decides (`ConversationRules`) whether a prompt leaves, or leaves again, whether an
///   answer still counts and what a Stop ends.
/// - Seven functions are walks (`Step`). The engine calls one with `.begin`, carries out its step and calls it again with the
///   outcome, until it returns `.done` or `.failed`. A child's end breaks the walk off.
package protocol Dialect: Sendable, SendableMetatype {
    associatedtype Settings: Sendable
    associatedtype Reading: ConversationReading
    /// Parts of an ask that its answer needs.
    associatedtype Slip: Hashable & Sendable

    init(_ settings: Settings)

    /// The name of the agent in sentences.
    var name: String { get }
    /// The command, for `status` and `doctor`.
    var program: String { get }
    /// The remedy for a program that does not run.
    var remedy: String { get }
    var habits: Habits { get }
    /// Folder of children whose chat names none.
    var folder: String { get }
    /// A running child of a dialect with other terms gets no more prompts.
    var terms: String { get }
    /// `mark` begins the names of runs without a prompt of the bridge; no other reading has it.
    func reading(of session: AgentSession, mark: String) -> Reading

    // MARK: Walks

    /// Walks to a child that can be started, for example past another process that has the session. The only walk without a child.
    func reach(_ heard: Heard, _ reading: inout Reading, _ here: Here) -> Step<Reached>
    /// Walks from the start of a child to one that answers. No step waits for a line: `read` remembers an unasked greeting, and the
    /// walk looks at the reading once its own request is answered. A side child (`examine`, `list`) is not read.
    func greet(_ heard: Heard, _ reading: inout Reading, _ here: Here) -> Step<Void>
    /// Walks on to the session, and returns its place if known. A child without a place never gives its seat to another chat,
    /// because it alone has the conversation; an agent that stores nothing returns a constant name.
    func join(_ heard: Heard, _ reading: inout Reading, _ here: Here) -> Step<Place?>
    /// Finds the fate of a prompt in all that the agent stores. An agent that stores nothing fails: `.absent` would claim that the
    /// prompt never arrived. The child is started for the look all the same.
    func find(_ sought: Sought, _ heard: Heard, _ reading: inout Reading, _ here: Here) -> Step<Found>
    func choose(_ model: ModelChoice, _ heard: Heard, _ reading: inout Reading, _ here: Here) -> Step<ModelAnswer>
    func choose(_ level: LevelChoice, _ heard: Heard, _ reading: inout Reading, _ here: Here) -> Step<LevelAnswer>
    /// Lists the models of a child, of a chat or of `sidePlan`.
    func list(_ heard: Heard, _ reading: inout Reading, _ here: Here) -> Step<AgentReply>

    // MARK: Beside the chats

    /// A child without a session, for `list` and `doctor`.
    var sidePlan: ChildPlan { get }
    /// `doctor`'s look at that child.
    func examine(_ heard: Heard, _ reading: inout Reading, _ here: Here) -> Step<Examined>

    // MARK: Frames

    /// A line of the child as a record, or nil if it is none. A meaningful line that is no JSON is parsed as an object made from
    /// it, whose bytes may be gone afterwards.
    func parse(_ line: UnsafeRawBufferPointer, capacity: Int, with parser: FrameParser) -> FrameNode?
    /// The request that a frame answers, or nil for any other frame.
    func answer(in frame: FrameNode) -> RequestAnswer?
    /// The hot path. A node is valid only during the call. `line`: its bytes, for a reply that repeats them unchanged.
    func read(
        _ frame: FrameNode, of line: UnsafeRawBufferPointer, _ reading: inout Reading, _ here: Here,
        into reports: inout [Report<Slip>])
    /// Frames of a wish, with the name `here.request` if it is a request. Empty if the agent has no such request.
    ///
    /// Each agent has a `probe`, a harmless request that it always answers: a child that leaves it unanswered is ended, also while
    /// a person decides. A written `stop` is answered within `ChildTurn.stopPatience`; it reaches `reading.going`, or else the
    /// waiting prompt. An observation settles a `prompt`, which may carry the run's name.
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

/// Fixed differences between dialects. A property stands here only if two of them have different values.
package struct Habits: Hashable, Sendable {
    package enum Again: Hashable, Sendable {
        /// A written prompt is never written again: a finding proves nothing.
        case never
        /// A prompt is written again if `find` has proven that the agent never had it.
        case whereAbsent
    }

    package var again = Again.never
    /// A message can enter the run under way.
    package var steers = false
    /// A child without its bridge works to the end of its turn.
    package var finishesAlone = false
    /// The words of a refusal go with the denial.
    package var deniesInWords = false
    /// Asks beside the bridge's own runs reach a person too.
    package var asksBetweenRuns = false
    /// Room for the pictures of one prompt, in bytes of base64.
    package var pictureRoom = 10 << 20
    /// Longest silence of a run before its child is probed.
    package var silence = Duration.seconds(60)

    package init() {}
}

/// The state of reading one child's frames, as far as the engine needs it.
package protocol ConversationReading {
    /// No run is open, and no prompt of the bridge is about to begin one: a prompt may be written.
    var isFree: Bool { get }
    /// Free, and without work in the background: the child could end without a loss.
    var isIdle: Bool { get }
    /// The background work in words, or nil without any.
    var background: String? { get }
    /// The open run, of the bridge or of the agent, or nil if the agent names none.
    var going: RunID? { get }
    /// A loop may still run, according to the frames.
    var mayRun: Bool { get }
    /// The agent works before it takes a prompt, and no run shows it.
    var isPreparing: Bool { get }
    /// The run has failed, and the agent has announced another try.
    var isRetrying: Bool { get }
    /// The announced try is due.
    func isRetryDue(at now: Instant) -> Bool
    var nextDeadline: Instant? { get }
    mutating func deadlineHit(at now: Instant) -> [Observation]
    /// Gives each deadline its whole time again.
    mutating func slept(at now: Instant)
    /// The child is idle: what was to follow does not come. Returns the end of the run.
    mutating func giveUp() -> [Observation]
    /// Closes the run although the frames did not end it.
    mutating func abandonRun()
    /// No frame follows: an ended loop ends its run.
    mutating func settle() -> [Observation]
    /// A message into the run (`Wish.steer`) was withdrawn, or the run ended without it.
    mutating func forgetWords()
    /// A line for the bubble of the next run, once.
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
    /// The place in the journal.
    package var place: Place?
    /// Working folder of the next child, or nil for the configured one.
    package var folder: String?
    /// Name of the next request.
    package var request: String
    /// The bridge's current run.
    package var run: RunID?
    package var isStopping = false
    /// A fate must be found before the next prompt leaves.
    package var seeks = false
    /// The agent lost the chat's session: `place` is that of its successor.
    package var hasLostSession = false
    /// Processes of earlier bridges that are not known to have ended.
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

/// The agent's session of a chat, and the folder of its child.
package struct Place: Hashable, Sendable {
    package var native: String?
    package var folder: String?

    package init(native: String? = nil, folder: String? = nil) {
        self.native = native
        self.folder = folder
    }
}

/// A prompt whose fate is unknown.
package struct Sought: Hashable, Sendable {
    package var run: RunID
    /// Nil if the record lacks the text.
    package var text: String?
    /// Milliseconds since 1970: an older row has the same words by chance.
    package var notBefore: Int64?
    /// The only child that had the prompt has died.
    package var isOfTurn = false

    package init(_ run: RunID, text: String?, notBefore: Int64? = nil) {
        self.run = run
        self.text = text
        self.notBefore = notBefore
    }
}

package enum Found: Hashable, Sendable {
    /// The prompt never arrived: otherwise the agent would have stored it.
    case absent
    case fate(RunLookup)
}

package struct Reached: Hashable, Sendable {
    package var plan: ChildPlan
    /// The stored session is gone: the child begins another one.
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
    /// Nil if the agent omitted the name: the answer belongs to the only open request.
    package var request: String?
    package var isRefusal: Bool

    package init(_ request: String?, isRefusal: Bool) {
        self.request = request
        self.isRefusal = isRefusal
    }
}

/// A child's activity, as the child reports it.
package enum Activity: Hashable, Sendable {
    case busy
    /// No run is open. `hasQueue`: messages wait in the agent, and would run with the next prompt.
    case idle(hasQueue: Bool)
    /// The child answers, and says nothing of its runs.
    case alive
}

package enum Report<Slip: Hashable & Sendable>: Sendable {
    case seen([Observation])
    case asks(Ask<Slip>)
    /// The agent no longer waits for the answer.
    case withdrawn(String)
    /// A reply that needs no person, written at once.
    case replies([UInt8])
    /// The agent moved to another session by itself.
    case moved(Place)
    /// The child has become unusable; the next one takes over.
    case broken(String)
    /// The child must not get the next prompt.
    case outdated
    /// The agent does not know the session: the next child begins another.
    case sessionIsGone
    /// The agent had this prompt before, and begins no run for it: its fate is looked up.
    case hadBefore(RunID)
    /// A line for the bubble of the open run.
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
    /// Written before the child's input ends.
    case leave
}
