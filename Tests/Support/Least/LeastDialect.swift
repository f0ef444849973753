package import AgentKit
package import ConversationEngine
package import JSONReading
package import Vocabulary

/// The smallest dialect that the engine can drive: a made-up program that reads one line of words per request and
/// answers with objects.
/// The member `answer` of an answer is the first word of its request. A member of `LeastReading.hears` reports an
/// event of the program.
package struct LeastDialect: Dialect {
    package struct Settings: Sendable {
        package var command = ["least", "-", "-"]
        package var folder = "/work"
        package var habits = Habits()
        /// How the walk `reach` goes.
        package var reach = Reach.atOnce

        package init() {}
    }
    package enum Reach: Sendable { case atOnce, pauses, fails, asksForEver, losesSession }
    package typealias Slip = String

    private let settings: Settings
    package init(_ settings: Settings) { self.settings = settings }

    package var name: String { "Least" }
    package var program: String { "least" }
    package var remedy: String { "install least" }
    package var folder: String { settings.folder }
    package var habits: Habits { settings.habits }
    package func reading(of session: AgentSession, mark: String) -> LeastReading { LeastReading(session: session) }

    // MARK: Walks

    package func reach(_ heard: Heard, _ reading: inout LeastReading, _ here: Here) -> Step<Reached> {
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

    package func greet(_ heard: Heard, _ reading: inout LeastReading, _ here: Here) -> Step<Void> {
        switch heard {
        case .begin: return .ask(Self.frame("hello", here))
        case .answer(let frame):
            reading.native = frame["session"]?.string
            return frame["no"] == nil ? .done(()) : .failed("it says no")
        case .result, .timeIsOver: return .failed("Least does not answer any more")
        }
    }

    package func join(_ heard: Heard, _ reading: inout LeastReading, _ here: Here) -> Step<Place?> {
        .done(reading.native.map { Place(native: $0) })
    }

    package func find(_ sought: Sought, _ heard: Heard, _ reading: inout LeastReading, _ here: Here) -> Step<Found> {
        switch heard {
        case .begin: return .ask(Self.frame("find \(sought.run)", here))
        case .answer(let frame):
            switch frame["found"]?.string {
            case "absent": return .done(.absent)
            case "ended": return .done(.fate(.ended(RunEnd(text: frame["text"]?.string))))
            default: return .done(.fate(.failed(RunFailure(kind: .agentGone, message: "broken off"))))
            }
        case .result, .timeIsOver: return .failed("Least does not answer any more")
        }
    }

    package func choose(
        _ model: ModelChoice, _ heard: Heard, _ reading: inout LeastReading, _ here: Here
    ) -> Step<ModelAnswer> {
        switch heard {
        case .begin: .ask(Self.frame("model", here))
        case .answer: .done(.set(before: nil))
        case .result, .timeIsOver: .done(.refused(message: "no answer"))
        }
    }

    package func choose(
        _ level: LevelChoice, _ heard: Heard, _ reading: inout LeastReading, _ here: Here
    ) -> Step<LevelAnswer> { .done(.set(before: nil, instead: nil)) }

    package func list(_ heard: Heard, _ reading: inout LeastReading, _ here: Here) -> Step<AgentReply> {
        .done(.models([]))
    }

    package var sidePlan: ChildPlan { plan(nil) }
    package func examine(_ heard: Heard, _ reading: inout LeastReading, _ here: Here) -> Step<Examined> {
        switch heard {
        case .begin: .ask(Self.frame("hello", here))
        case .answer: .done(.runs(""))
        case .result, .timeIsOver: .failed("it does not answer")
        }
    }

    private func plan(_ session: String?) -> ChildPlan {
        ChildPlan(
            arguments: settings.command + (session.map { [$0] } ?? []), folder: settings.folder,
            life: .withBridge(grace: .seconds(1)), pipes: .lines(limit: 1_000))
    }

    // MARK: Frames

    package func answer(in frame: FrameNode) -> RequestAnswer? {
        guard let request = frame["answer"]?.string else { return nil }
        return RequestAnswer(request, isRefusal: frame["no"] != nil)
    }

    package func read(
        _ frame: FrameNode, of line: UnsafeRawBufferPointer, _ reading: inout LeastReading, _ here: Here,
        into reports: inout [Report<String>]
    ) {
        reading.hears(frame, into: &reports)
    }

    package func say(_ wish: Wish<String>, _ reading: inout LeastReading, _ here: Here) -> [[UInt8]] {
        switch wish {
        case .prompt(let run, let prompt):
            reading.prompted = run
            return [Self.frame("prompt \(run) \(prompt.text)", here)]
        case .steer(let run, let prompt): return [Self.frame("steer \(run) \(prompt.text)", here)]
        case .stop: return [Self.frame("stop", here)]
        case .takeBack(let run): return [Self.frame("take back \(run)", here)]
        case .probe: return [Self.frame("probe", here)]
        case .settle(let ask, let verdict): return [Array("settle \(ask.name) \(Self.word(verdict))".utf8)]
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

    package func probed(_ frame: FrameNode, _ reading: inout LeastReading) -> Activity {
        switch frame["is"]?.string {
        case "idle": .idle(hasQueue: false)
        case "queue": .idle(hasQueue: true)
        case "busy": .busy
        default: .alive
        }
    }
}

package struct LeastReading: ConversationReading {
    let session: AgentSession
    /// Name of the session within the program.
    var native: String?
    var prompted: RunID?
    package private(set) var going: RunID?
    package private(set) var background: String?
    package private(set) var isPreparing = false

    init(session: AgentSession) { self.session = session }

    mutating func hears(_ frame: FrameNode, into reports: inout [Report<String>]) {
        let run = frame["run"]?.string.map { RunID($0) }
        let call = ToolCallID(frame["id"]?.string ?? "")
        for name in frame.names(atMost: 8) {
            let value = frame.member(name)?.string ?? ""
            switch name {
            case "took": reports.append(.seen([.sendAnswered(asked: RunID(value), .accepted(run: RunID(value)))]))
            case "refused": reports.append(.seen([.sendAnswered(asked: RunID(value), .refused(message: "no"))]))
            case "began":
                going = RunID(value)
                if prompted == going { prompted = nil }
                reports.append(seen(.started, RunID(value)))
            case "says": reports.append(seen(.text(.append(value)), run))
            case "tool": reports.append(seen(.tool(.started(ToolStart(call: call, name: value))), run))
            case "tooled":
                let result = ToolResult(call: call, status: .completed, result: .string(value))
                reports.append(seen(.tool(.finished(result)), run))
            case "ended":
                abandonRun()
                let reason: RunEnd.Reason = frame["stopped"] == nil ? .stop : .aborted
                reports.append(seen(.finished(RunEnd(text: frame["text"]?.string, reason: reason)), RunID(value)))
            case "failed":
                abandonRun()
                reports.append(seen(.failed(RunFailure(message: "bad")), RunID(value)))
            case "asks": reports.append(.asks(Self.ask(value, frame["kind"]?.string ?? "card", run)))
            case "withdraws": reports.append(.withdrawn(value))
            case "works": background = value.isEmpty ? nil : value
            case "prepares": isPreparing = value == "yes"
            case "breaks": reports.append(.broken(value))
            case "outdated": reports.append(.outdated)
            default: break
            }
        }
    }

    private func seen(_ event: RunEvent, _ run: RunID?) -> Report<String> {
        .seen([.signal(RunSignal(run: run, session: session, event: event))])
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

    package var isFree: Bool { going == nil && prompted == nil }
    package var isIdle: Bool { isFree && background == nil }
    package var mayRun: Bool { !isFree }
    package var isRetrying: Bool { false }
    package func isRetryDue(at now: Instant) -> Bool { false }
    package var nextDeadline: Instant? { nil }
    package mutating func deadlineHit(at now: Instant) -> [Observation] { [] }
    package mutating func slept(at now: Instant) {}
    package mutating func giveUp() -> [Observation] {
        abandonRun()
        return []
    }
    package mutating func abandonRun() { (going, prompted) = (nil, nil) }
    package mutating func settle() -> [Observation] { [] }
}
