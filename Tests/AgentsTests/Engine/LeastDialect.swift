import AgentKit
import ConversationEngine
import JSONReading
import Vocabulary

/// The least that an agent on the engine needs: a made-up program that speaks in objects of one line. What it is told stands in `do`, what it
/// says in a member named for it; an answer has the name of its request in `answer`.
struct LeastDialect: Dialect {
    struct Settings: Sendable {
        var habits = Habits()
        /// What `reach` does before it has a plan.
        var reach = Reach.atOnce
    }
    enum Reach { case atOnce, pauses, fails, asksForEver, losesSession }
    typealias Slip = String

    let settings: Settings
    init(_ settings: Settings) { self.settings = settings }

    var name: String { "Least" }
    var program: String { "least" }
    var remedy: String { "install least" }
    var folder: String { "/work" }
    var habits: Habits { settings.habits }
    func reading(of session: AgentSession, mark: String) -> LeastReading { LeastReading(session: session) }

    // MARK: Walks

    func reach(_ heard: Heard, _ reading: inout LeastReading, _ here: Here) -> Step<Reached> {
        let plan = plan(here.place?.native)
        switch settings.reach {
        case .atOnce: return .done(Reached(plan))
        case .losesSession:
            return .done(Reached(self.plan(nil), losesSession: here.place?.native == "gone"))
        case .fails: return .failed("the disk is gone")
        case .asksForEver: return .work(.find(pattern: "/s/*", limit: 1))
        case .pauses:
            if case .begin = heard { return .pause(.seconds(1), showing: "Another process finishes first.") }
            return .done(Reached(plan))
        }
    }

    func greet(_ heard: Heard, _ reading: inout LeastReading, _ here: Here) -> Step<Void> {
        switch heard {
        case .begin: .ask(Self.frame("hello", here))
        case .answer(let frame): frame["no"] == nil ? .done(()) : .failed("it says no")
        case .result, .timeIsOver: .failed("Least does not answer any more")
        }
    }

    func join(_ heard: Heard, _ reading: inout LeastReading, _ here: Here) -> Step<Place?> {
        .done(Place(native: here.place?.native ?? "/s/1"))
    }

    func find(_ sought: Sought, _ heard: Heard, _ reading: inout LeastReading, _ here: Here) -> Step<Found> {
        switch heard {
        case .begin: return .ask(Self.frame("find \(sought.run)", here))
        case .answer(let frame):
            switch frame["found"]?.string {
            case "absent": return .done(.absent)
            case "ended": return .done(.fate(.ended(RunEnd(text: "Found."))))
            default: return .done(.fate(.failed(RunFailure(kind: .agentGone, message: "broken off"))))
            }
        case .result, .timeIsOver: return .failed("Least does not answer any more")
        }
    }

    func choose(
        _ model: ModelChoice, _ heard: Heard, _ reading: inout LeastReading, _ here: Here
    ) -> Step<ModelAnswer> {
        switch heard {
        case .begin: .ask(Self.frame("model", here))
        case .answer: .done(.set(before: nil))
        case .result, .timeIsOver: .done(.refused(message: "no answer"))
        }
    }

    func choose(
        _ level: LevelChoice, _ heard: Heard, _ reading: inout LeastReading, _ here: Here
    ) -> Step<LevelAnswer> { .done(.set(before: nil, instead: nil)) }

    func list(_ heard: Heard, _ reading: inout LeastReading, _ here: Here) -> Step<AgentReply> { .done(.models([])) }

    var sidePlan: ChildPlan { plan(nil) }
    func examine(_ heard: Heard, _ reading: inout LeastReading, _ here: Here) -> Step<Examined> { .done(.runs("")) }

    private func plan(_ session: String?) -> ChildPlan {
        ChildPlan(
            arguments: ["least", "-", "-"] + (session.map { [$0] } ?? []), folder: "/work",
            life: .withBridge(grace: .seconds(1)), pipes: .lines(limit: 1_000))
    }

    // MARK: Frames

    func answer(in frame: FrameNode) -> RequestAnswer? {
        guard let request = frame["answer"]?.string else { return nil }
        return RequestAnswer(request, isRefusal: frame["no"] != nil)
    }

    func read(
        _ frame: FrameNode, of line: UnsafeRawBufferPointer, _ reading: inout LeastReading, _ here: Here,
        into reports: inout [Report<String>]
    ) {
        let run = frame["run"]?.string.map { RunID($0) }
        func seen(_ event: RunEvent, _ run: String) -> Report<String> {
            .seen([.signal(RunSignal(run: RunID(run), session: reading.session, event: event))])
        }
        for name in frame.names(atMost: 8) {
            let value = frame.member(name)?.string ?? ""
            switch name {
            case "took": reports.append(.seen([.sendAnswered(asked: RunID(value), .accepted(run: RunID(value)))]))
            case "refused": reports.append(.seen([.sendAnswered(asked: RunID(value), .refused(message: "no"))]))
            case "began":
                reading.begins(RunID(value))
                reports.append(seen(.started, value))
            case "ended", "failed":
                reading.abandonRun()
                reports.append(
                    seen(name == "ended" ? .finished(RunEnd()) : .failed(RunFailure(message: "bad")), value))
            case "asks": reports.append(.asks(Self.ask(value, frame["kind"]?.string ?? "card", run)))
            case "withdraws": reports.append(.withdrawn(value))
            case "works": reading.background = value.isEmpty ? nil : value
            case "prepares": reading.isPreparing = value == "yes"
            case "breaks": reports.append(.broken(value))
            case "outdated": reports.append(.outdated)
            default: break
            }
        }
    }

    private static func ask(_ name: String, _ kind: String, _ run: RunID?) -> Ask<String> {
        func question(_ id: String) -> Question { Question(id: QuestionID(id), title: "Which?", message: "") }
        let content: Ask<String>.Content =
            switch kind {
            case "card": .card(ApprovalRequest(id: ApprovalID(name), subject: .dialog, title: "Sure?", message: ""))
            case "question": .questions([question(name)])
            case "two": .questions([question("\(name)-1"), question("\(name)-2")])
            default: .unshowable
            }
        return Ask(name, kind: kind, content, slip: name, run: run)
    }

    func say(_ wish: Wish<String>, _ reading: inout LeastReading, _ here: Here) -> [[UInt8]] {
        switch wish {
        case .prompt(let run, let prompt):
            reading.prompted = run
            return [Self.frame("prompt \(run) \(prompt.text)", here)]
        case .steer(let run, let prompt): return [Self.frame("steer \(run) \(prompt.text)", here)]
        case .stop: return [Self.frame("stop", here)]
        case .takeBack(let run): return [Self.frame("take back \(run)", here)]
        case .probe: return [Self.frame("probe", here)]
        case .settle(_, let verdict):
            return [Array("settle \(here.session.text.isEmpty ? "" : Self.word(verdict))".utf8)]
        case .leave: return []
        }
    }

    private static func word(_ verdict: Verdict) -> String {
        switch verdict {
        case .allow: "yes"
        case .allowAlways: "always"
        case .deny(nil): "no"
        case .deny(let words?): "no: \(words)"
        case .answers(let answers): "answers \(answers.count)"
        case .unanswered: "unanswered"
        case .dropped: "dropped"
        }
    }

    private static func frame(_ words: String, _ here: Here) -> [UInt8] { Array("\(here.request) \(words)".utf8) }

    func probed(_ frame: FrameNode, _ reading: inout LeastReading) -> Activity {
        switch frame["is"]?.string {
        case "idle": .idle(hasQueue: false)
        case "queue": .idle(hasQueue: true)
        case "busy": .busy
        default: .alive
        }
    }
}

struct LeastReading: ConversationReading {
    let session: AgentSession
    var prompted: RunID?
    private(set) var going: RunID?
    var background: String?
    var isPreparing = false

    init(session: AgentSession) { self.session = session }

    mutating func begins(_ run: RunID) {
        going = run
        if prompted == run { prompted = nil }
    }

    var isFree: Bool { going == nil && prompted == nil }
    var isIdle: Bool { isFree && background == nil }
    var mayRun: Bool { !isFree }
    var isRetrying: Bool { false }
    func isRetryDue(at now: Instant) -> Bool { false }
    var nextDeadline: Instant? { nil }
    mutating func deadlineHit(at now: Instant) -> [Observation] { [] }
    mutating func slept(at now: Instant) {}
    mutating func giveUp() -> [Observation] {
        abandonRun()
        return []
    }
    mutating func abandonRun() { (going, prompted) = (nil, nil) }
    mutating func settle() -> [Observation] { [] }
}

typealias LeastConversation = EngineConversation<LeastDialect>

extension EngineConversation where D == LeastDialect {
    static func make(_ habits: (inout Habits) -> Void = { _ in }, reach: LeastDialect.Reach = .atOnce) -> Self {
        var settings = LeastDialect.Settings()
        habits(&settings.habits)
        settings.reach = reach
        return Self(settings: settings)
    }

    /// The newest request of that kind is answered, with more members.
    mutating func confirms(_ kind: String, _ more: String = "", _ channel: Int = 1) -> [String] {
        guard let request = written.last(where: { $0.contains(" \(kind)") })?.prefix(while: { $0 != " " }) else {
            return ["nothing to confirm"]
        }
        return says("{\"answer\":\"\(request)\"\(more)}", channel)
    }

    /// The child answers, and its place is kept.
    mutating func opens(_ channel: Int = 1) -> [String] {
        spawns(channel) + confirms("hello", "", channel) + (channel == 1 ? keeps() : [])
    }
}
