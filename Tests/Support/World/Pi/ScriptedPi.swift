package import Vocabulary

/// `pi --mode rpc` as programs on virtual time, written from pi.md without code of the bridge. A program has one
/// session and one run; its session file holds the messages that had ended (pi.md#process-end).
package final class ScriptedPi: ScriptedAgent {
    /// How one pi differs from another.
    package struct Habits: Sendable {
        /// The later protocol line (pi.md#later-lines-l-what-changes).
        package var isLater = false
        /// Share of records with something else on a line before them, or glued to their front (pi.md#framing).
        package var noise = 0.0
        /// Share of messages with a delta behind their end.
        package var lateness = 0.0
        /// Share of asks that offer three options instead of yes and no.
        package var choices = 0.0
        /// Share of prompts before which pi compacts. The earlier line answers the prompt first (pi.md#shape).
        package var compactsFirst = 0.0
        /// Share of prompts about which an extension asks first.
        package var asksFirst = 0.0
        /// Share of loops with undocumented events behind their end.
        package var strangeness = 0.0
        /// Share of whole answers with a compaction behind them.
        package var compactsBehind = 0.0
        /// Appends the sizes of pictures to the words of a prompt.
        package var notesPictures = false
        /// Options of an extension that guards the shell and shows the whole command in the title. Nil without such
        /// an extension.
        package var guards: [String]?
        /// After a yes the same id asks about another command.
        package var asksForAnother = false

        package init() {}

        package static func drawn(using random: inout SeededGenerator) -> Habits {
            var habits = Habits()
            habits.isLater = random.happens(0.5)
            habits.noise = random.pick([0, 0, 0.05, 0.2])
            habits.lateness = random.pick([0, 0.3])
            habits.choices = random.pick([0, 0.5, 1])
            habits.compactsFirst = random.pick([0, 0, 0.4, 1])
            habits.asksFirst = random.pick([0, 0.5])
            habits.strangeness = random.pick([0, 0.5, 1])
            habits.compactsBehind = random.pick([0, 0, 0.5])
            habits.notesPictures = random.happens(0.95)
            return habits
        }
    }

    /// Number of prompts that met each habit.
    package struct Counts: Sendable {
        package internal(set) var compactedFirst = 0
        package internal(set) var askedFirst = 0
        package internal(set) var strange = 0
        package internal(set) var compactedBehind = 0
    }

    struct Run {
        var number: Int
        var prompt: String
        /// The prompt as it arrived, with the bridge's notes and pi's.
        var text: String
        var pictures: [GatewayValue] = []
        var steps: ArraySlice<GatewayScript.Timed>
        /// Text of the open message, or nil between messages.
        var said: String?
        /// Id of the dialog that holds the run.
        var dialog: String?
        /// Command that runs after a yes, and the script's name of the ask.
        var asked: (command: String, name: String)?
        /// The tool that has begun and not ended.
        var tool: (id: String, command: String)?
        /// An attempt failed, and the next one has not begun.
        var isRetrying = false
        var hasRetried = false
        /// The run's loop has begun.
        var hasBegun = false
        /// The prompt's command while a compaction or an extension delays it.
        var untaken: GatewayValue?
        var isCompacting = false
        /// A person denied an extension's question that came before the prompt.
        var isDenied = false
        /// Messages for the next model request.
        var steers: [String] = []
        /// Messages of this loop.
        var produced: [GatewayValue] = []
    }

    struct Process {
        var line: DoubleLine
        var session: String
        var run: Run?
        /// Abort requests that get their answer once the loop is idle.
        var aborts: [String?] = []
        /// Messages left in the queue. The next prompt takes them along.
        var queued: [String] = []
    }

    package var scripts: [String: GatewayScript] = [:]
    package internal(set) var asked: [AgentAsked] = []
    package internal(set) var decided: [AgentDecided] = []
    package internal(set) var executed: [AgentExecuted] = []
    package internal(set) var attached: [GatewayFiles] = []
    package internal(set) var breaches: [String] = []
    package internal(set) var questions: Set<String> = []
    package let tally = HabitTally()
    private var answered: Set<String> = []
    /// Prompts whose whole answer is in a session file.
    package internal(set) var finished: Set<String> = []
    var processes: [Int: Process] = [:]
    var files: [String: [GatewayValue]] = [:]
    var ends: [String: Instant] = [:]
    private var sessions: [String: String] = [:]
    var runCount = 0
    /// Prompts that never get an answer of their own.
    package internal(set) var lost: Set<String> = []
    package internal(set) var counts = Counts()
    let time: VirtualTime
    let habits: Habits
    var random: SeededGenerator

    package init(_ time: VirtualTime, _ habits: Habits = Habits(), seed: UInt64 = 1) {
        self.time = time
        self.habits = habits
        random = SeededGenerator(seed: seed)
    }

    package var isBusy: Bool { processes.values.contains { $0.run != nil } }
    /// A compaction behind a whole answer is no work, nor is a run that has not begun.
    package func isAtWork(since then: Instant) -> Bool {
        processes.values.contains { process in process.run.map { $0.hasBegun && !$0.isCompacting } == true }
    }
    package func endedAt(_ prompt: String) -> Instant? { ends[prompt] }
    package func session(of prompt: String) -> String? { sessions[prompt] }

    // MARK: Programs

    package func opened(_ line: DoubleLine) -> Bool {
        let given = line.arguments.firstIndex(of: "--session").map { line.arguments[$0 + 1] }
        processes[line.number] = Process(line: line, session: given ?? "/sessions/\(line.number).jsonl")
        return true
    }

    package func ended(_ line: DoubleLine) { processes[line.number] = nil }

    package func received(_ bytes: [UInt8], on line: DoubleLine) {
        guard let process = processes[line.number] else { return }
        guard let command = GatewayValue.parse(bytes), let type = command["type"]?.string else {
            return breaches.append("no command: \(String(decoding: bytes, as: UTF8.self))")
        }
        switch type {
        case "get_state": answer(command, state(of: process), on: line.number)
        case "get_messages":
            answer(command, ["messages": .array(files[process.session] ?? [])], on: line.number)
        case "get_available_thinking_levels":
            answer(command, ["levels": .array(Self.levels.map { .text($0) })], on: line.number)
        case "set_thinking_level":
            let level = command["level"]?.string ?? ""
            if !Self.levels.contains(level) { breaches.append("the level \(level)") }
            answer(command, on: line.number)
        case "get_available_models": answer(command, ["models": []], on: line.number)
        case "prompt": prompt(command, on: line.number)
        case "steer": steer(command, on: line.number)
        case "abort": abort(command, on: line.number)
        case "extension_ui_response": decide(command, on: line.number)
        default: breaches.append("command \(type)")
        }
    }

    private static let levels = ["off", "minimal", "low", "medium", "high"]

    private func state(of process: Process) -> GatewayValue {
        let state: GatewayValue = [
            "isStreaming": .flag(process.run?.hasBegun == true),
            "isCompacting": .flag(process.run?.isCompacting == true),
            "pendingMessageCount": .integer(process.queued.count + (process.run?.steers.count ?? 0)),
        ]
        let hasFile = !process.line.arguments.contains("--no-session")
        return state.with("sessionFile", hasFile ? "\(process.session)" : nil)
    }

    private func prompt(_ command: GatewayValue, on number: Int) {
        let whole = command["message"]?.string ?? ""
        let text = ScriptedGateway.asked(whole)
        guard let script = scripts[text] else { return breaches.append("prompt \(text)") }
        guard processes[number]?.run == nil else { return breaches.append("\(text) came in the middle of a run") }
        if command["streamingBehavior"] == nil { breaches.append("\(text) says nothing for a busy loop") }
        asked.append(AgentAsked(.prompt, text))
        sessions[text] = processes[number]?.session
        runCount += 1
        let run = runCount
        let pictures = command["images"]?.elements ?? []
        if !pictures.isEmpty { attached.append(GatewayFiles(pictures: pictures, of: text)) }
        if habits.notesPictures, !pictures.isEmpty { tally.note("pi: adds notes to pictures") }
        let notes = habits.notesPictures ? pictures.map { _ in Self.pictureNote }.joined() : ""
        processes[number]?.run = Run(
            number: run, prompt: text, text: whole + notes, pictures: pictures, steps: script.steps[...])
        let queued = processes[number]?.queued ?? []
        processes[number]?.run?.steers = queued
        processes[number]?.queued = []
        if random.happens(habits.asksFirst), asksFirst(command, on: number) { return }
        if random.happens(habits.compactsFirst) { return compactsFirst(command, on: number) }
        if script.speaksFirst { begin(run, on: number) }
        time.after(script.answersAfter) { [self] in
            answer(command, on: number)
            if !script.speaksFirst { begin(run, on: number) }
        }
    }

    /// Queues a message behind the running tool. While the loop is idle it stays queued
    /// (pi.md#steering-and-queueing).
    private func steer(_ command: GatewayValue, on number: Int) {
        let text = ScriptedGateway.asked(command["message"]?.string ?? "")
        guard scripts[text] != nil else { return breaches.append("words \(text)") }
        answer(command, on: number)
        guard processes[number]?.run?.hasBegun == true else { return processes[number]?.queued.append(text) ?? () }
        processes[number]?.run?.steers.append(text)
        if let run = processes[number]?.run, run.tool == nil, run.dialog == nil { takesSteers(on: number) }
    }

    private static let pictureNote =
        "\n\n[Image: original 4032x3024, displayed at 2000x1500. Multiply coordinates by 2.02 to map to original image.]"

    private func abort(_ command: GatewayValue, on number: Int) {
        let id = command["id"]?.string
        guard let run = processes[number]?.run else { return answer(command, on: number) }
        asked.append(AgentAsked(.abort, run.prompt))
        // The loop is idle, so there is nothing to abort: the prompt or the compaction continues (pi.md#abort).
        guard run.hasBegun, !run.isCompacting else {
            if run.isCompacting { tally.meets(run.hasBegun ? Self.compactingBehind : Self.compactingFirst, stops: 1) }
            if run.untaken != nil { tally.meets(Self.askingFirst, stops: 1) }
            return answer(command, on: number)
        }
        processes[number]?.aborts.append(id)
        stop(on: number)
    }

    /// Ignores a late or unknown answer (pi.md#extension-ui).
    private func decide(_ command: GatewayValue, on number: Int) {
        guard let dialog = command["id"]?.string else { return breaches.append("an answer without an id") }
        let value = command["value"]?.string
        let isYes =
            command["confirmed"] == .flag(true) || value == ScriptedChoice.yes(dialog)
            || habits.guards.map { $0.first == value } == true
        let isOpen = processes[number]?.run?.dialog == dialog
        let asked = isOpen ? processes[number]?.run?.asked : nil
        let name = asked?.name ?? dialog
        if command["cancelled"] == nil, !answered.insert(name).inserted {
            breaches.append("\(name) was answered twice")
        }
        decided.append(AgentDecided(name, isYes: isYes))
        guard isOpen else { return }
        if isYes, !questions.contains(dialog), let asked {
            if habits.asksForAnother, name == dialog {
                processes[number]?.run?.asked = (AskTricks.another(than: asked.command), "\(name)-2")
                return askAgain(dialog, on: number)
            }
            executed.append(AgentExecuted(name, command: asked.command))
        }
        guard let untaken = processes[number]?.run?.untaken else { return goOn(afterYes: isYes, on: number) }
        processes[number]?.run?.isDenied = !isYes
        processes[number]?.run?.dialog = nil
        takes(untaken, on: number)
    }

    // MARK: Frames

    func answer(_ command: GatewayValue, _ data: GatewayValue? = nil, on number: Int) {
        answer(command["type"]?.string ?? "", command["id"]?.string, data, on: number)
    }

    func answer(_ type: String, _ id: String?, _ data: GatewayValue? = nil, on number: Int) {
        let frame: GatewayValue = ["type": "response", "command": "\(type)", "success": true]
        say(frame.with("id", id.map { .text($0) }).with("data", data), on: number)
    }

    func say(_ frame: GatewayValue, on number: Int) {
        guard let line = processes[number]?.line else { return }
        var glued = ""
        if habits.noise > 0, random.happens(habits.noise) {
            if random.happens(0.5) {
                line.say(random.pick(["npm warn deprecated", "{\"type\":", "[]", "", "{\"level\":30}", "\u{2028}"]))
            } else {
                glued = random.pick(["\u{1B}]777;notify;pi;done\u{7}", "> ", "{"])
            }
        }
        line.say(glued + String(decoding: frame.bytes, as: UTF8.self))
    }
}
