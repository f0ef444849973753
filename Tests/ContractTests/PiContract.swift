import AgentKit
import BridgeModel
import BridgeTesting
import FoundationEssentials
import Pi

/// pi: a program for each chat. What it was doing ends with it; its session file holds the messages that had ended.
struct PiContract: ContractAgent {
    var plugin: any AgentPlugin { PiPlugin() }
    var survives: Survival { .transcript }
    var forgives: Set<MachineFault> { [] }

    /// A message ends before its tools run, and the texts of a run's messages are joined by a blank line.
    func text(of prompt: String) -> String? {
        switch prompt {
        case "Tool.": "I look. \n\nIt is full."
        case "Ask.": "May I? \n\nDone."
        default: ScriptedRuns.texts[prompt]
        }
    }

    func stage(seed: UInt64) -> ContractStage {
        let world = LiveWorld(.e4, scripts: [:], seed: seed)
        let double = PiDouble(world.time)
        return ContractStage(plugin, double, double.runs, world, seed: seed)
    }
}

/// `pi --mode rpc` (pi.md) on virtual time.
private final class PiDouble: AgentDouble {
    private struct Frame: Codable {
        struct Content: Codable {
            var type = "text"
            var text: String
        }
        struct Message: Codable {
            var role: String
            var content: [Content]
            var stopReason: String?
        }
        struct Delta: Codable {
            var type = "text_delta"
            var contentIndex = 0
            var delta: String
        }
        struct Result: Codable { var content: [Content] }
        struct State: Codable {
            var sessionFile: String?
            var isStreaming: Bool?
            var isCompacting: Bool?
            var pendingMessageCount: Int?
            var messages: [Message]?
        }

        var type: String
        var id: String?
        var command: String?
        var success: Bool?
        var message: Message?
        var messages: [Message]?
        var assistantMessageEvent: Delta?
        var toolCallId: String?
        var toolName: String?
        var result: Result?
        var isError: Bool?
        var method: String?
        var title: String?
        var data: State?
    }

    private struct Command: Codable {
        var type: String
        var id: String?
        var message: String?
        var confirmed: Bool?
    }

    /// One process: the session that it has loaded, and its run.
    private struct Process {
        var line: DoubleLine
        var session: String
        var run: String?
        /// The text of the message that is being written.
        var said = ""
        var aborts: [String] = []
    }

    let runs: ScriptedRuns
    private var processes: [Int: Process] = [:]
    private var files: [String: [Frame.Message]] = [:]
    private var runCount = 0

    init(_ time: VirtualTime) {
        runs = ScriptedRuns(time)
        runs.emit = { [weak self] run, event in self?.happened(run, event) }
    }

    func opened(_ line: DoubleLine) -> Bool {
        let given = line.arguments.firstIndex(of: "--session").map { line.arguments[$0 + 1] }
        processes[line.number] = Process(line: line, session: given ?? "/sessions/\(line.number)")
        return true
    }

    func ended(_ line: DoubleLine) {
        if let run = processes.removeValue(forKey: line.number)?.run { runs.lose([run]) }
    }

    func received(_ bytes: [UInt8], on line: DoubleLine) {
        guard let command = try? JSONDecoder().decode(Command.self, from: Data(bytes)),
            let process = processes[line.number]
        else { return runs.breaches.append("frame \(String(decoding: bytes, as: UTF8.self))") }
        switch command.type {
        case "get_state":
            var state = Frame.State(isStreaming: process.run != nil, isCompacting: false, pendingMessageCount: 0)
            if !line.arguments.contains("--no-session") { state.sessionFile = process.session }
            answer(command, state, on: line)
        case "get_messages":
            answer(command, Frame.State(messages: files[process.session] ?? []), on: line)
        case "prompt": prompt(command, process)
        case "abort":
            guard let run = process.run else { return answer(command, on: line) }
            processes[line.number]?.aborts.append(command.id ?? "")
            runs.stop(run)
        case "extension_ui_response": runs.decide(command.id ?? "", isYes: command.confirmed == true)
        default: runs.breaches.append("command \(command.type)")
        }
    }

    private func prompt(_ command: Command, _ process: Process) {
        let text = command.message ?? ""
        guard process.run == nil else { return runs.breaches.append("a prompt in the middle of a run: \(text)") }
        runCount += 1
        let run = "run-\(runCount)"
        processes[process.line.number]?.run = run
        answer(command, on: process.line)
        say(Frame(type: "agent_start"), on: process.line)
        files[process.session, default: []].append(
            Frame.Message(role: "user", content: [Frame.Content(text: text)]))
        runs.prompt(run, text)
    }

    private func happened(_ run: String, _ event: ScriptedRuns.Event) {
        guard let (number, process) = processes.first(where: { $0.value.run == run }) else { return }
        let line = process.line
        switch event {
        case .text(let text):
            processes[number]?.said += text
            say(Frame(type: "message_update", assistantMessageEvent: Frame.Delta(delta: text)), on: line)
        case .tool(let id, let name):
            endMessage("toolUse", number)
            say(Frame(type: "tool_execution_start", toolCallId: id, toolName: name), on: line)
        case .tooled(let id, let result):
            let content = Frame.Result(content: [Frame.Content(text: result)])
            say(
                Frame(type: "tool_execution_end", toolCallId: id, toolName: "df", result: content, isError: false),
                on: line)
        case .ask(let id, let title):
            endMessage("toolUse", number)
            say(Frame(type: "extension_ui_request", id: id, method: "confirm", title: title), on: line)
        case .decided: break
        case .end(_, let isAborted):
            endMessage(isAborted ? "aborted" : "stop", number)
            say(Frame(type: "agent_end", messages: []), on: line)
            processes[number]?.run = nil
            for id in process.aborts { answer(Command(type: "abort", id: id), on: line) }
            processes[number]?.aborts = []
        }
    }

    /// It is in the file from now on.
    private func endMessage(_ stop: String, _ number: Int) {
        guard let process = processes[number] else { return }
        processes[number]?.said = ""
        let message = Frame.Message(
            role: "assistant", content: [Frame.Content(text: process.said)], stopReason: stop)
        files[process.session, default: []].append(message)
        say(Frame(type: "message_end", message: message), on: process.line)
    }

    private func answer(_ command: Command, _ data: Frame.State? = nil, on line: DoubleLine) {
        say(
            Frame(type: "response", id: command.id, command: command.type, success: true, data: data), on: line)
    }

    private func say(_ frame: Frame, on line: DoubleLine) {
        guard let data = try? JSONEncoder().encode(frame) else { return }
        line.say(String(decoding: data, as: UTF8.self))
    }
}
