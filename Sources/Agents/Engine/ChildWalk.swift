package import AgentKit
package import JSONReading
import Vocabulary

/// An event of a walk.
package enum Heard {
    case begin
    case answer(FrameNode)
    case result(WorkResult)
    /// The answer did not come in time, or the pause has passed.
    case timeIsOver
}

package enum Step<End: Sendable>: Sendable {
    /// A request, named `Here.request`.
    case ask([UInt8], within: Duration = .seconds(30))
    case work(Work)
    /// `showing`: words for the prompts that wait meanwhile.
    case pause(Duration, showing: String? = nil)
    /// Reason, in words that stand behind "… could not be started: ".
    case failed(String)
    case done(End)
}

extension Step {
    package func map<Other>(_ change: (End) -> Other) -> Step<Other> {
        switch self {
        case .ask(let frame, let limit): .ask(frame, within: limit)
        case .work(let work): .work(work)
        case .pause(let time, let words): .pause(time, showing: words)
        case .failed(let reason): .failed(reason)
        case .done(let end): .done(change(end))
        }
    }
}

/// The open walk of a conversation.
struct ChildWalk {
    enum Kind: Hashable {
        case reach, greet, join
        /// `isTurn`: looks for the current turn, whose end is missing or whose child died.
        case find(Sought, isTurn: Bool)
        case model(RunID, ModelChoice)
        case level(RunID, LevelChoice)
        case list(QueryID)
    }

    private enum Waiting: Equatable {
        case nothing, answer(String), work
        case pause(until: Instant)
    }

    /// Bounds of steps and time between two pauses, and of late answers; beyond them a walk has failed. A pause is the dialect's
    /// own choice.
    private static let longest = 2_000
    private static let lateAnswers = 3
    private static let time = Duration.seconds(1_800)

    let kind: Kind
    /// Number that the walk's works carry: a result of an earlier walk does not count.
    let number: Int
    private var since: Instant
    private var waiting = Waiting.nothing
    private var steps = 0
    private var late = 0

    init(_ kind: Kind, number: Int, at now: Instant) {
        self.kind = kind
        self.number = number
        since = now
    }

    var deadline: Instant? { if case .pause(let until) = waiting { until } else { nil } }
    var awaitsWork: Bool { waiting == .work }

    mutating func asked(_ request: String) { (waiting, steps) = (.answer(request), steps + 1) }
    mutating func works() { (waiting, steps) = (.work, steps + 1) }
    mutating func pauses(until: Instant) { (waiting, steps, since) = (.pause(until: until), 0, until) }
    mutating func slept(at now: Instant) { since = now }
    /// The walk waits by its own choice.
    var isPausing: Bool { if case .pause = waiting { true } else { false } }
    mutating func wasLate() { late += 1 }
    mutating func wakes() { waiting = .nothing }
    func isEndless(at now: Instant) -> Bool {
        steps > Self.longest || late >= Self.lateAnswers || since + Self.time <= now
    }
}
