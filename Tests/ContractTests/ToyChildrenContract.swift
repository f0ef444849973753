import AgentKit
import FoundationEssentials
import ToyChildren
import Vocabulary
import Worlds

/// The toy of programs. What a program was doing ends with it.
struct ToyChildrenContract: ContractAgent {
    var plugin: any AgentPlugin { ToyChildrenPlugin() }
    var survives: Survival { .transcript }
    var forgives: Set<MachineFault> { [] }

    func stage(seed: UInt64) -> ContractStage {
        let world = LiveWorld(.e4, scripts: [:], seed: seed)
        let double = ToyChildrenDouble(world.time)
        let stage = ContractStage(plugin, double, double.runs, world, seed: seed)
        world.sides[0].files.run = { [network = world.sides[0].agent?.network] arguments in
            guard let network, world.time.now >= network.awayUntil else {
                return .failed(WorkFailure(.absent, "there is no such program"))
            }
            return .ran(.exited(0), output: Array("1.0\n".utf8), errors: "")
        }
        return stage
    }
}

private final class ToyChildrenDouble: AgentDouble {
    private struct Frame: Codable {
        var type = "toy-child"
        var `do`: String?
        var `is`: String?
        var run: String?
        var id: String?
        var text: String?
        var state: String?
        var session: String?
    }

    let runs: ScriptedRuns
    private var lines: [Int: DoubleLine] = [:]
    /// Which program works on each run, and for which session.
    private var workers: [String: Int] = [:]
    private var owners: [String: String] = [:]
    private var sessions: [Int: String] = [:]

    init(_ time: VirtualTime) {
        runs = ScriptedRuns(time)
        runs.emit = { [weak self] run, event in self?.say(Self.frame(run, event), run) }
    }

    func opened(_ line: DoubleLine) -> Bool {
        lines[line.number] = line
        let given = line.arguments.firstIndex(of: "--session").map { line.arguments[$0 + 1] }
        let session = given ?? "native-\(line.number)"
        sessions[line.number] = session
        say(Frame(is: "ready", session: session), on: line)
        return true
    }

    func ended(_ line: DoubleLine) {
        lines[line.number] = nil
        runs.lose(Set(workers.filter { $0.value == line.number }.keys))
    }

    func received(_ bytes: [UInt8], on line: DoubleLine) {
        guard let frame = try? JSONDecoder().decode(Frame.self, from: Data(bytes)), let id = frame.id else {
            return runs.breaches.append("frame \(String(decoding: bytes, as: UTF8.self))")
        }
        switch frame.do {
        case "prompt":
            workers[id] = line.number
            owners[id] = sessions[line.number]
            runs.prompt(id, frame.text ?? "")
        case "stop":
            runs.stop(id)
            say(Frame(is: "stopped", run: id), on: line)
        case "answer": runs.decide(id, isYes: frame.text == "yes")
        case "look":
            // A session has its own transcript alone.
            let isOurs = owners[id] == sessions[line.number]
            let (found, text) = isOurs ? runs.look(id) : (.unknown, "")
            say(Frame(is: "found", run: id, text: text, state: found.rawValue), on: line)
        default: runs.breaches.append("frame \(String(decoding: bytes, as: UTF8.self))")
        }
    }

    private func say(_ frame: Frame, _ run: String) {
        if let line = workers[run].flatMap({ lines[$0] }) { say(frame, on: line) }
    }

    private func say(_ frame: Frame, on line: DoubleLine) {
        guard let data = try? JSONEncoder().encode(frame) else { return }
        line.say(String(decoding: data, as: UTF8.self))
    }

    private static func frame(_ run: String, _ event: ScriptedRuns.Event) -> Frame {
        switch event {
        case .text(let text): Frame(is: "text", run: run, text: text)
        case .tool(let id, let name): Frame(is: "tool", run: run, id: id, text: name)
        case .tooled(let id, let result): Frame(is: "tooled", run: run, id: id, text: result)
        case .ask(let id, let title): Frame(is: "ask", run: run, id: id, text: title)
        case .decided(let id, let isYes): Frame(is: "answered", run: run, id: id, text: isYes ? "yes" : "no")
        case .end(let text, let isAborted):
            Frame(is: "end", run: run, text: text, state: isAborted ? "aborted" : "over")
        }
    }
}
