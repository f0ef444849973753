package import Vocabulary

/// `claude -p` with JSON lines in both directions: programs on virtual time that share no code with the bridge. A
/// program has one session and one turn at a time, and writes only complete blocks to its session file. Once its
/// input ends, it denies every question and works on to the end.
package final class ScriptedClaude: ScriptedAgent {
    /// How versions and days of the program differ.
    package struct Habits: Sendable {
        /// Leaves out the fates of prompts, the ids of prompts in results, and the reasons of ends.
        package var isOld = false
        /// Share of frames with a line before them that is no frame.
        package var noise = 0.0
        /// Share of turns with frames of undocumented kinds.
        package var strangeness = 0.0
        /// Share of texts whose stream breaks off within the block and begins again.
        package var cuts = 0.0
        /// Share of texts that come whole, without a delta before.
        package var wholeTexts = 0.0
        /// Share of turns after which the session starts one of its own.
        package var ownTurns = 0.0
        /// Share of those turns that ask before a call.
        package var ownAsks = 0.0
        /// Share of the other ones that last for seconds.
        package var longOwnTurns = 0.0
        /// Share of turns that start a helper in the background.
        package var helpers = 0.0
        /// Reports each change of the session's state.
        package var tellsStates = false

        package init() {}

        package static func drawn(using random: inout SeededGenerator) -> Habits {
            var habits = Habits()
            habits.isOld = random.happens(0.3)
            habits.noise = random.pick([0, 0, 0.05, 0.2])
            habits.strangeness = random.pick([0, 0.5, 1])
            habits.cuts = random.pick([0, 0, 0.3])
            habits.wholeTexts = random.pick([0, 0, 0.3])
            habits.ownTurns = random.pick([0, 0, 0.4])
            habits.tellsStates = random.happens(0.6)
            return habits
        }
    }

    /// Text of a turn that the session starts by itself.
    package static let ownWords = "The work in the background is done."

    struct Prompt {
        var key: String
        var text: String
        var content: GatewayValue
    }

    struct Run {
        var number: Int
        var prompts: [Prompt]
        /// Prompts that arrived during a tool call; the model heard them with its result.
        var folded: [String] = []
        var steps: ArraySlice<GatewayScript.Timed>
        /// Text of the open block, or nil between blocks.
        var said: String?
        /// The text comes in one frame at its end, without deltas.
        var isWhole = false
        /// Blocks of the open message, with the uuids of their rows.
        var blocks: [(key: String, block: GatewayValue)] = []
        var texts: [String] = []
        /// The open question: the command, and the script's name for it.
        var ask: (command: String, name: String)?
        var tool: (id: String, command: String)?
        var denials: [GatewayValue] = []
        /// The session started this turn without a prompt.
        var isOwn = false
        var startedAt: Instant
        var hasBegun = false
    }

    struct Process {
        var line: DoubleLine
        var session: String
        var run: Run?
        var queue: [Prompt] = []
        /// Prompts already accepted. A second copy is ignored.
        var seen: Set<String> = []
        /// Commands allowed for the rest of the session.
        var allowed: Set<String> = []
        /// The bridge closed the line: the process has no reader, and questions get no answer.
        var isLeft = false
        /// An interrupt arrived before the turn had begun.
        var isLatched = false
        var results = 0
        var lastFailed = false
        /// The helper in the background.
        var helper: Helper?
        /// A helper ended, and the turn behind it has not begun.
        var owesTurn = false
        var isDone: Bool { run == nil && queue.isEmpty && helper == nil && !owesTurn }
    }

    package var scripts: [String: GatewayScript] = [:]
    package internal(set) var asked: [AgentAsked] = []
    package internal(set) var decided: [AgentDecided] = []
    package internal(set) var executed: [AgentExecuted] = []
    package internal(set) var attached: [GatewayFiles] = []
    package internal(set) var breaches: [String] = []
    package let tally = HabitTally()
    /// Prompts whose whole answer is in a session file.
    package internal(set) var finished: Set<String> = []
    /// Prompts that never get an answer of their own.
    package internal(set) var lost: Set<String> = []
    /// Sessions with an ask that the program denied without a reader.
    var unheard: Set<String> = []
    /// Prompts whose turn the session had begun by itself, or had to begin for the end of a helper.
    package internal(set) var joined: Set<String> = []
    /// Number of turns of its own in each session: begun, and finished while somebody read them.
    package internal(set) var ownTurns: [String: (begun: Int, read: Int)] = [:]
    var processes: [Int: Process] = [:]
    var files: [String: [GatewayValue]] = [:]
    private var sessions: [String: String] = [:]
    var ends: [String: Instant] = [:]
    var serial = 0
    private var answered: Set<String> = []
    /// Uuids of prompts that began. One without any answer may begin again, as the same run.
    var began: Set<String> = []
    /// Session by program, as the program's file names it. The file outlives a killed program.
    private var holders: [Int: String] = [:]
    let time: VirtualTime
    let habits: Habits
    var random: SeededGenerator

    package init(_ time: VirtualTime, _ habits: Habits = Habits(), seed: UInt64 = 1) {
        self.time = time
        self.habits = habits
        random = SeededGenerator(seed: seed)
    }

    package var isBusy: Bool { processes.values.contains { !$0.isDone } }
    package func isAtWork(since then: Instant) -> Bool {
        processes.values.contains { process in
            // The session may start a turn of its own until its process ends.
            process.run.map { $0.hasBegun && (!$0.prompts.isEmpty || $0.startedAt <= then) } == true
        }
    }
    package func endedAt(_ prompt: String) -> Instant? { ends[prompt] }
    package func isLost(_ prompt: String) -> Bool { lost.contains(prompt) }

    /// The program denied an ask of the prompt's session without a reader.
    package func deniesUnheard(_ prompt: String) -> Bool { sessions[prompt].map { unheard.contains($0) } ?? false }

    /// Rows of a session file, one per line, or nil if there is no such file.
    package func transcript(of session: String) -> [UInt8]? {
        files[session].map { rows in rows.flatMap { $0.bytes + [UInt8(ascii: "\n")] } }
    }

    /// The living program that has the session open.
    package func holder(of session: String) -> Int? { processes.first { $0.value.session == session }?.key }

    /// The session that received the prompt.
    package func session(of prompt: String) -> String? { sessions[prompt] }

    // MARK: The folder

    package static let folder = "/home/ada/.claude"
    private static let transcripts = "\(folder)/projects/-work/"
    private static let programs = "\(folder)/sessions/"

    package var paths: [String] {
        files.keys.map { "\(Self.transcripts)\($0).jsonl" } + holders.keys.map { "\(Self.programs)\(1_000 + $0).json" }
    }

    package func file(at path: String) -> [UInt8]? {
        if path.hasPrefix(Self.transcripts) {
            return transcript(of: String(path.dropFirst(Self.transcripts.count).dropLast(6)))
        }
        let number = Int(path.dropFirst(Self.programs.count).dropLast(5)) ?? 0
        guard path.hasPrefix(Self.programs), let session = holders[number - 1_000] else { return nil }
        let holder: GatewayValue = [
            "pid": .integer(number), "sessionId": "\(session)", "procStart": "1", "status": "busy",
        ]
        return holder.bytes
    }

    // MARK: Programs

    package func opened(_ line: DoubleLine) -> Bool {
        func value(_ flag: String) -> String? {
            line.arguments.first { $0.hasPrefix(flag + "=") }.map { String($0.dropFirst(flag.count + 1)) }
        }
        let words = line.arguments.joined(separator: " ")
        for needed in [
            "--output-format", "--input-format", "--verbose", "--permission-prompt-tool", "--permission-mode",
        ]
        where !words.contains(needed) { breaches.append("started without \(needed)") }
        if let session = value("--resume") {
            guard files[session] != nil else {
                return refuse(line, "No conversation found with session ID: \(session)")
            }
            if holder(of: session) != nil { breaches.append("a second program on \(session)") }
            return begin(line, session)
        }
        let session = value("--session-id") ?? "session-\(line.number)"
        if files[session] != nil { return refuse(line, nil) }
        return begin(line, session)
    }

    private func begin(_ line: DoubleLine, _ session: String) -> Bool {
        processes[line.number] = Process(line: line, session: session)
        holders[line.number] = session
        return true
    }

    /// Ends a program that has nothing under way.
    func exit(_ number: Int) -> DoubleLine? {
        holders[number] = nil
        return processes.removeValue(forKey: number)?.line
    }

    /// Ends the program at once. A reason also goes out as a frame.
    private func refuse(_ line: DoubleLine, _ reason: String?) -> Bool {
        if let reason {
            let end: GatewayValue = [
                "type": "result", "subtype": "error_during_execution", "is_error": true, "errors": ["\(reason)"],
            ]
            time.after(.milliseconds(400)) { line.say(String(decoding: end.bytes, as: UTF8.self)) }
        }
        time.after(.milliseconds(410)) { line.end(.failed(words: reason ?? "Error: Session ID is already in use.")) }
        return true
    }

    /// A kill loses the message under way; the end of input does not.
    package func broken(_ line: DoubleLine) { processes[line.number] = nil }
    package func runs(_ line: DoubleLine) -> Bool { processes[line.number] != nil }

    package func ended(_ line: DoubleLine) {
        guard let process = processes[line.number], !process.isDone else {
            _ = exit(line.number)
            return
        }
        tally.note("claude: works on alone")
        processes[line.number]?.isLeft = true
        denyHelper(on: line.number)
        if processes[line.number]?.run?.ask != nil { deny(Self.noAnswer, isPersons: false, on: line.number) }
    }

    static let noAnswer =
        "Tool permission request failed: AbortError: Tool permission stream closed before response received"
    static let noStream = "Tool permission request failed: AbortError: Stream closed"

    package func received(_ bytes: [UInt8], on line: DoubleLine) {
        guard processes[line.number] != nil, !bytes.allSatisfy({ $0 == 32 || $0 == 10 }) else { return }
        guard let frame = GatewayValue.parse(bytes), let type = frame["type"]?.string else {
            breaches.append("no frame: \(String(decoding: bytes, as: UTF8.self))")
            _ = exit(line.number)
            return line.end(.failed(words: "Error parsing streaming input line"))
        }
        switch type {
        case "user": take(frame, on: line.number)
        case "control_request": control(frame, on: line.number)
        case "control_response": decide(frame["response"] ?? [:], on: line.number)
        case "keep_alive": break
        default: breaches.append("a frame \(type)")
        }
    }

    // MARK: Prompts

    private func take(_ frame: GatewayValue, on number: Int) {
        let content = frame["message"]?["content"] ?? .null
        if frame["message"]?["role"]?.string != "user" { breaches.append("a message of another role") }
        let parts = content.elements
        let whole = content.string ?? parts.compactMap { $0["text"]?.string }.joined(separator: "\n")
        let text = asked(ScriptedGateway.asked(whole))
        guard let key = frame["uuid"]?.string else { return breaches.append("\(text) has no uuid") }
        guard scripts[text] != nil else { return breaches.append("prompt \(text)") }
        guard processes[number]?.seen.insert(key).inserted == true else { return }
        guard !isAnswered(key, on: number) else { return tellFate(key, "completed", on: number) }
        let pictures = parts.filter { $0["type"]?.string == "image" }
        if !pictures.isEmpty { attached.append(GatewayFiles(pictures: pictures.compactMap { $0["source"] }, of: text)) }
        if let session = processes[number]?.session { sessions[text] = session }
        tellFate(key, "queued", on: number)
        processes[number]?.queue.append(Prompt(key: key, text: text, content: content))
        if processes[number]?.run == nil { startNext(on: number) }
    }

    /// The prompt without the text that the bridge puts before it.
    private func asked(_ whole: String) -> String {
        guard scripts[whole] == nil, let end = whole.ranges(of: "\n\n").last?.upperBound else { return whole }
        return String(whole[end...])
    }

    /// Whether the session's file holds the beginning of an answer to the prompt.
    private func isAnswered(_ key: String, on number: Int) -> Bool {
        var isFound = false
        for row in files[processes[number]?.session ?? ""] ?? [] {
            let merged = row["mergedSendUuids"]?.elements.contains { $0.string == key } == true
            if merged || row["uuid"]?.string == key || row["attachment"]?["source_uuid"]?.string == key {
                isFound = true
            } else if isFound, row["promptSource"] != nil {
                return false
            } else if isFound, row["type"]?.string == "assistant" {
                return true
            }
        }
        return false
    }

    // MARK: Control requests

    private func control(_ frame: GatewayValue, on number: Int) {
        guard let id = frame["request_id"]?.string, let request = frame["request"] else {
            return breaches.append("a control request without an id")
        }
        switch request["subtype"]?.string ?? "" {
        case "initialize":
            answer(
                id,
                [
                    "pid": .integer(1_000 + number), "current_permission_mode": "default",
                    "session_state": "\(state(of: number))",
                    "account": ["tokenSource": "none", "apiKeySource": "ANTHROPIC_API_KEY"],
                    "models": [["value": "default", "resolvedModel": "claude-model", "displayName": "Default"]],
                    "capabilities": habits.isOld ? [] : ["msg_lifecycle_v1", "interrupt_cancel_queued_v1"],
                ], on: number)
            if processes[number]?.helper != nil { tellTasks(on: number) }
        case "interrupt": interrupt(id, request, on: number)
        case "cancel_async_message" where !habits.isOld: takeBack(id, request, on: number)
        case "set_model": answer(id, ["model": request["model"] ?? .null], on: number)
        case "set_max_thinking_tokens": answer(id, nil, on: number)
        case "mcp_status": answer(id, ["mcpServers": []], on: number)
        case "end_session":
            answer(id, [:], on: number)
            exit(number)?.end()
        case let other:
            let refusal: GatewayValue = [
                "subtype": "error", "request_id": "\(id)", "error": "Unsupported control request subtype: \(other)",
            ]
            say(["type": "control_response", "response": refusal], on: number)
        }
    }

    private func state(of number: Int) -> String {
        guard let process = processes[number] else { return "idle" }
        if process.run?.ask != nil || process.helper?.asks == true { return "requires_action" }
        return process.isDone ? "idle" : "running"
    }

    func tellState(on number: Int) {
        guard habits.tellsStates else { return }
        say(["type": "system", "subtype": "session_state_changed", "state": "\(state(of: number))"], on: number)
    }

    /// Between turns an interrupt stops nothing.
    private func interrupt(_ id: String, _ request: GatewayValue, on number: Int) {
        let waiting = processes[number]?.queue ?? []
        let cancels = request["cancel_queued"] == .flag(true)
        if let run = processes[number]?.run, let prompt = run.prompts.first?.text {
            asked.append(AgentAsked(.abort, prompt))
        }
        if cancels, !habits.isOld {
            for prompt in waiting { tellFate(prompt.key, "cancelled", on: number) }
            for prompt in waiting { asked.append(AgentAsked(.abort, prompt.text)) }
            processes[number]?.queue = []
        }
        if request["spare_background_tasks"] != .flag(true) { killHelper(on: number) }
        if let ask = processes[number]?.run?.ask {
            say(["type": "control_cancel_request", "request_id": "\(ask.name)"], on: number)
        }
        let keys: GatewayValue = .array(waiting.map { .text($0.key) })
        let receipt: GatewayValue =
            habits.isOld ? [:] : cancels ? ["still_queued": [], "cancelled": keys] : ["still_queued": keys]
        answer(id, receipt, on: number)
        guard let run = processes[number]?.run else { return }
        if run.hasBegun { abort(on: number) } else { processes[number]?.isLatched = true }
    }

    private func takeBack(_ id: String, _ request: GatewayValue, on number: Int) {
        let key = request["message_uuid"]?.string
        let place = processes[number]?.queue.firstIndex { $0.key == key }
        answer(id, ["cancelled": .flag(place != nil)], on: number)
        guard let place, let prompt = processes[number]?.queue.remove(at: place) else { return }
        tally.note("claude: gives a prompt back")
        asked.append(AgentAsked(.abort, prompt.text))
        tellFate(prompt.key, "cancelled", on: number)
    }

    // MARK: Answers to questions

    /// Ignores a late or second answer, as the real program does.
    private func decide(_ response: GatewayValue, on number: Int) {
        guard let name = response["request_id"]?.string else { return breaches.append("an answer without an id") }
        let answer = response["response"] ?? [:]
        let isYes = answer["behavior"]?.string == "allow"
        if isYes, answer["updatedInput"]?["command"] == nil { breaches.append("\(name) was allowed without its input") }
        if !isYes, answer["message"]?.string?.isEmpty != false { breaches.append("\(name) was denied without a word") }
        if !answered.insert(name).inserted { breaches.append("\(name) was answered twice") }
        decided.append(AgentDecided(name, isYes: isYes))
        if processes[number]?.helper?.name == name { return helperHears(answer, isYes: isYes, on: number) }
        guard let ask = processes[number]?.run?.ask, ask.name == name else { return }
        guard isYes else { return deny(answer["message"]?.string ?? "", isPersons: true, on: number) }
        let command = answer["updatedInput"]?["command"]?.string ?? ""
        if !(answer["updatedPermissions"]?.elements.isEmpty ?? true) { processes[number]?.allowed.insert(ask.command) }
        executed.append(AgentExecuted(name, command: command))
        processes[number]?.run?.ask = nil
        goOn(on: number)
    }

    // MARK: Frames

    func answer(_ id: String, _ body: GatewayValue?, on number: Int) {
        let response: GatewayValue = ["subtype": "success", "request_id": "\(id)"]
        say(["type": "control_response", "response": response.with("response", body)], on: number)
    }

    func tellFate(_ key: String, _ state: String, on number: Int) {
        guard !habits.isOld else { return }
        say(["type": "command_lifecycle", "command_uuid": "\(key)", "state": "\(state)"], on: number)
    }

    func say(_ frame: GatewayValue, on number: Int) {
        guard let process = processes[number], !process.isLeft || process.line.isAlive() else { return }
        if habits.noise > 0, random.happens(habits.noise) {
            process.line.say(random.pick(["DEBUG: warm", "[]", "", "{\"type\":", "\u{1B}[2K"]))
        }
        serial += 1
        let isControl = frame["type"]?.string?.hasPrefix("control_") == true
        let named = isControl ? frame : frame.with(["session_id": "\(process.session)", "uuid": "frame-\(serial)"])
        process.line.say(String(decoding: named.bytes, as: UTF8.self))
    }
}
