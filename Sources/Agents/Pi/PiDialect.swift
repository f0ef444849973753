package import AgentKit
package import ConversationEngine
package import JSONReading
package import Vocabulary

package typealias PiMachine = ConversationMachine<PiDialect>

/// pi on the conversation engine: a process for each chat, which speaks in lines (pi.md#minimal-connector-loop).
///
/// - A prompt is never repeated. pi's session file lacks unfinished answers, so a missing one proves nothing (pi.md#process-end).
/// - `get_state` is the greeting, the probe and the check.
package struct PiDialect: Dialect {
    /// Options of a dialog that mean yes and no, or nil if `confirmed` answers it.
    package struct Slip: Hashable, Sendable {
        var yes: String?
        var no: String?
    }

    private let settings: PiSettings

    package init(_ settings: PiSettings) { self.settings = settings }

    package var name: String { "pi" }
    package var program: String { settings.program }
    package var folder: String { settings.folder }
    package var remedy: String {
        "install pi, or name the program by `agent.command` or PI_COMMAND, and try `\(program)` in a terminal"
    }

    package var habits: Habits {
        var habits = Habits()
        habits.again = .never
        habits.steers = true
        habits.pictureRoom = PiSettings.pictureRoom
        return habits
    }

    package func reading(of session: AgentSession, mark: String) -> PiReading {
        PiReading(session, mark: mark)
    }

    // MARK: Walks

    private static let silent = "pi does not answer any more"

    package func reach(_ heard: Heard, _ reading: inout PiReading, _ here: Here) -> Step<Reached> {
        .done(Reached(settings.plan(file: here.place?.native, in: here.folder)))
    }

    package func greet(_ heard: Heard, _ reading: inout PiReading, _ here: Here) -> Step<Void> {
        guard case .answer(let root) = heard else { return Self.askState(heard, here) }
        guard root["success"]?.flag != false else {
            return .failed(root["error"]?.string ?? "it refused get_state")
        }
        reading.isReady(root["data"])
        return .done(())
    }

    package func join(_ heard: Heard, _ reading: inout PiReading, _ here: Here) -> Step<Place?> {
        .done(reading.sessionFile.map { Place(native: $0) })
    }

    package func find(
        _ sought: Sought, _ heard: Heard, _ reading: inout PiReading, _ here: Here
    ) -> Step<Found> {
        switch heard {
        case .begin: return .ask(PiFrames.messages(here.request))
        case .answer(let root):
            let question = sought.text.map { PiQuestion(text: $0, notBefore: sought.notBefore) }
            return .done(.fate(PiHistory(root).found(question: question)))
        case .result, .timeIsOver: return .failed(Self.silent)
        }
    }

    package func list(_ heard: Heard, _ reading: inout PiReading, _ here: Here) -> Step<AgentReply> {
        switch heard {
        case .begin: .ask(PiFrames.models(here.request))
        case .answer(let root): .done(PiModel.list(root))
        case .result, .timeIsOver: .done(.refused(message: "pi does not answer"))
        }
    }

    private static func askState<End>(_ heard: Heard, _ here: Here) -> Step<End> {
        if case .begin = heard { .ask(PiFrames.state(here.request)) } else { .failed(silent) }
    }

    // MARK: Beside the chats

    package var sidePlan: ChildPlan { settings.checkPlan }

    package func examine(_ heard: Heard, _ reading: inout PiReading, _ here: Here) -> Step<Examined> {
        guard case .answer(let root) = heard else { return Self.askState(heard, here) }
        guard root["success"]?.flag == true else { return .failed(root["error"]?.string ?? "it refused get_state") }
        return .done(.runs(root["data"]?["model"]?["id"]?.string.map { " with \($0)" } ?? ""))
    }

    // MARK: Frames

    package func parse(_ line: UnsafeRawBufferPointer, capacity: Int, with parser: FrameParser) -> FrameNode? {
        PiLine.parse(line, capacity: capacity, with: parser)
    }

    package func answer(in frame: FrameNode) -> RequestAnswer? {
        guard frame["type"]?.holds("response") == true else { return nil }
        let isRefusal = frame["success"]?.flag == false
        // Early versions answer a failure without its id (pi.md#responses-stdout).
        return RequestAnswer(frame["id"]?.string ?? (isRefusal ? nil : ""), isRefusal: isRefusal)
    }

    package func read(
        _ frame: FrameNode, of line: UnsafeRawBufferPointer, _ reading: inout PiReading, _ here: Here,
        into reports: inout [Report<Slip>]
    ) {
        if let ask = PiDialogs.ask(frame, of: reading.decoder.dialogRun, at: here.now.now) {
            reports.append(.asks(ask))
        } else {
            reports.append(.seen(reading.decoder.received(frame, at: here.now.now)))
        }
    }

    package func say(_ wish: Wish<Slip>, _ reading: inout PiReading, _ here: Here) -> [[UInt8]] {
        switch wish {
        case .prompt(let run, let prompt):
            reading.decoder.willBegin(run, prompt.frameText, request: here.request)
            return [PiFrames.prompt(prompt, here.request)]
        case .steer(let run, let prompt):
            reading.decoder.steers(run, prompt.frameText)
            return [PiFrames.steer(prompt, here.request)]
        case .stop: return [PiFrames.abort(here.request)]
        // pi cannot take a queued prompt back. A Stop ends the run, and the engine ends a child that may still begin the prompt.
        case .takeBack: return []
        case .probe: return [PiFrames.state(here.request)]
        case .settle(let ask, let verdict): return [PiFrames.answer(PiDialogs.answer(ask, verdict), to: ask.name)]
        case .leave: return []
        }
    }

    package func probed(_ frame: FrameNode, _ reading: inout PiReading) -> Activity {
        let state = frame["data"]
        reading.levels.isSaid(state)
        let isBusy = state?["isStreaming"]?.flag != false || state?["isCompacting"]?.flag == true
        let isQueued = state?["pendingMessageCount"]?.integer(in: 1...Int(Int32.max)) != nil
        return isBusy ? .busy : .idle(hasQueue: isQueued)
    }
}

/// The state of reading one process's lines.
package struct PiReading: ConversationReading {
    var decoder: PiDecoder
    private(set) var sessionFile: String?
    /// The model that pi named last: `provider/id`.
    var model: String?
    var levels = PiLevels()

    init(_ session: AgentSession, mark: String) {
        decoder = PiDecoder(session, runPrefix: mark)
        decoder.signs = LifeSigns()
    }

    mutating func isReady(_ state: FrameNode?) {
        model = PiModel.name(state?["model"])
        levels.isSaid(state)
        sessionFile = state?["sessionFile"]?.string
    }

    package var isFree: Bool { decoder.isIdle }
    package var isIdle: Bool { decoder.isIdle }
    package var background: String? { nil }
    package var going: RunID? { decoder.going }
    package var mayRun: Bool { decoder.mayRun }
    package var isPreparing: Bool { decoder.isCompacting }
    package var isRetrying: Bool { decoder.isRetrying }
    package func isRetryDue(at now: Instant) -> Bool { decoder.isRetryDue(at: now) }
    package var nextDeadline: Instant? { decoder.nextDeadline }
    package mutating func deadlineHit(at now: Instant) -> [Observation] { decoder.deadlineHit(at: now) }
    package mutating func slept(at now: Instant) { decoder.slept(at: now) }
    package mutating func giveUp() -> [Observation] { decoder.giveUp() }
    package mutating func abandonRun() { decoder.abandonRun() }
    package mutating func settle() -> [Observation] { decoder.settle() }
    package mutating func forgetWords() { decoder.steers(nil, "") }
}
