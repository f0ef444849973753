import AgentKit
import LeastAgent
import Vocabulary
import Worlds

/// The made-up program on the engine. A run dies with its program.
struct LeastContract: ContractAgent {
    var plugin: any AgentPlugin { LeastPlugin() }
    var survives: Survival { .transcript }
    var forgives: Set<MachineFault> { [] }

    func stage(seed: UInt64) -> ContractStage {
        let world = LiveWorld(.e4, scripts: [:], seed: seed)
        let double = LeastDouble(world.time)
        return ContractStage(plugin, double, double.runs, world, seed: seed)
    }
}

private final class LeastDouble: AgentDouble {
    let runs: ScriptedRuns
    private var lines: [Int: DoubleLine] = [:]
    private var sessions: [Int: String] = [:]
    /// Program that works on each run, and session that owns it.
    private var workers: [String: Int] = [:]
    private var owners: [String: String] = [:]

    init(_ time: VirtualTime) {
        runs = ScriptedRuns(time)
        runs.emit = { [weak self] run, event in
            guard let self, let line = workers[run].flatMap({ self.lines[$0] }) else { return }
            Self.say(event, of: run, on: line)
        }
    }

    func opened(_ line: DoubleLine) -> Bool {
        lines[line.number] = line
        sessions[line.number] = line.arguments.dropFirst().first ?? "/s/\(line.number)"
        return true
    }

    func ended(_ line: DoubleLine) {
        lines[line.number] = nil
        runs.lose(Set(workers.filter { $0.value == line.number }.keys))
    }

    func received(_ frame: [UInt8], on line: DoubleLine) {
        let words = String(decoding: frame, as: UTF8.self).split(separator: " ", maxSplits: 3).map(String.init)
        let session = sessions[line.number] ?? ""
        let going = workers.first { $0.value == line.number && runs.look($0.key).found == .running }?.key
        switch words.count > 1 ? words[words[0] == "settle" ? 0 : 1] : "" {
        case "hello": Self.say(["answer": words[0], "session": session], on: line)
        case "prompt" where words.count == 4:
            workers[words[2]] = line.number
            owners[words[2]] = session
            Self.say(["answer": words[0], "took": words[2], "began": words[2]], on: line)
            runs.prompt(words[2], words[3])
        case "stop":
            if let going { runs.stop(going) }
            Self.say(["answer": words[0]], on: line)
        case "settle": runs.decide(words[1], isYes: words[2] == "yes")
        case "probe": Self.say(["answer": words[0], "is": going == nil ? "idle" : "busy"], on: line)
        case "find":
            // A session sees its own transcript alone.
            let (found, text) = owners[words[2]] == session ? runs.look(words[2]) : (.unknown, "")
            Self.say(["answer": words[0], "found": found == .unknown ? "" : "ended", "text": text], on: line)
        default: runs.breaches.append("line \(words)")
        }
    }

    private static func say(_ event: ScriptedRuns.Event, of run: String, on line: DoubleLine) {
        switch event {
        case .text(let text): say(["run": run, "says": text], on: line)
        case .tool(let id, let name): say(["run": run, "id": id, "tool": name], on: line)
        case .tooled(let id, let result): say(["run": run, "id": id, "tooled": result], on: line)
        case .ask(let id, _): say(["run": run, "asks": id], on: line)
        // The program never confirms a verdict.
        case .decided: break
        case .end(let text, let isAborted):
            say(isAborted ? ["ended": run, "text": text, "stopped": "yes"] : ["ended": run, "text": text], on: line)
        }
    }

    private static func say(_ members: KeyValuePairs<String, String>, on line: DoubleLine) {
        let rest = members.map { ",\"\($0.key)\":\(JSONText.string($0.value).text)" }.joined()
        line.say("{\"type\":\"least\"\(rest)}")
    }
}
