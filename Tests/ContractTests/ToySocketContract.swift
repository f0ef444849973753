import AgentKit
import ToySocket
import Worlds

/// The toy on a socket. Its agent knows a prompt by its run.
struct ToySocketContract: ContractAgent {
    var plugin: any AgentPlugin { ToySocketPlugin() }
    var survives: Survival { .run }
    // Its agent asks for a prompt's answer by no other word than the run's own frames.
    var forgives: Set<MachineFault> { [] }

    func stage(seed: UInt64) -> ContractStage {
        let world = LiveWorld(.e4, scripts: [:], seed: seed)
        let double = ToySocketDouble(world.time)
        return ContractStage(plugin, double, double.runs, world, seed: seed)
    }
}

private final class ToySocketDouble: AgentDouble {
    let runs: ScriptedRuns
    private var line: DoubleLine?

    init(_ time: VirtualTime) {
        runs = ScriptedRuns(time)
        runs.emit = { [weak self] run, event in self?.say(Self.words(run, event)) }
    }

    func opened(_ line: DoubleLine) -> Bool {
        self.line = line
        return true
    }

    func ended(_ line: DoubleLine) { if self.line === line { self.line = nil } }

    func received(_ frame: [UInt8], on line: DoubleLine) {
        let text = String(decoding: frame, as: UTF8.self)
        // Words without quotes in them: the contract's own.
        let words = text.split(separator: "[").last?.split(separator: "\"").map(String.init).filter { $0 != "," } ?? []
        switch words.first {
        case "hello":
            say(["ready", "1.0"])
            // What is open is asked again: the bridge may have been away.
            for (run, approval) in runs.open { say(["ask", run, approval, "Reboot?"]) }
        case "prompt" where words.count >= 4:
            say(["taken", words[1]])
            runs.prompt(words[1], words[3])
        case "stop":
            runs.stop(words[1])
            say(["stopped", words[1]])
        case "decide": runs.decide(words[1], isYes: words[2] == "yes")
        case "look":
            let (found, text) = runs.look(words[1])
            say(["found", words[1], found.rawValue, text])
        default: runs.breaches.append("frame \(text)")
        }
    }

    private func say(_ words: [String]) {
        line?.say(#"{"type":"toy-socket","words":[\#(words.map { "\"\($0)\"" }.joined(separator: ","))]}"#)
    }

    private static func words(_ run: String, _ event: ScriptedRuns.Event) -> [String] {
        switch event {
        case .text(let text): ["text", run, text]
        case .tool(let id, let name): ["tool", run, id, name]
        case .tooled(let id, let result): ["tooled", run, id, result]
        case .ask(let id, let title): ["ask", run, id, title]
        case .decided(let id, let isYes): ["decided", id, isYes ? "yes" : "no"]
        case .end(let text, let isAborted): ["end", run, text, isAborted ? "aborted" : "stop"]
        }
    }
}
