import AgentKit
import BridgeCore
import Claude
import Codex
import Oppi
import Pi
import Vocabulary

/// The agent of a side in a world. A new agent needs a case, its double in `double`, its plug-in in `agent`, and its
/// own texts and losses (`WorldScript.text`, `WorldJudge+Agents`).
package enum WorldAgentKind: String, Sendable, Hashable, CaseIterable {
    case openClaw = "OpenClaw"
    case pi
    case oppi = "Oppi"
    case codex = "Codex"
    case claude = "Claude Code"

    /// A quarter of the worlds draws each of these. Codex and Claude Code are drawn later, and the rest has OpenClaw.
    static let others: [WorldAgentKind] = [.pi, .oppi]

    /// Nil if the side's own gateway is the agent.
    func double(_ time: VirtualTime, seed: UInt64) -> (any ScriptedAgent)? {
        var random = SeededGenerator(seed: seed ^ 0x6861_6269)
        switch self {
        case .openClaw: return nil
        case .pi:
            let habits = ScriptedPi.Habits.drawn(using: &random)
            return ScriptedPi(time, habits, seed: random.next())
        case .oppi:
            let habits = ScriptedOppi.Habits.drawn(using: &random)
            return ScriptedOppi(time, habits, seed: random.next())
        case .codex:
            var habits = ScriptedCodex.Habits.drawn(using: &random)
            // A separate generator, so other worlds stay as they were.
            var later = SeededGenerator(seed: seed ^ 0x6974_656D)
            if habits.elsewhere == 0 { habits.asksAgain = later.pick([0.5, 0.7, 0.9]) }
            habits.lateLists = later.pick([0, 0, 0.5])
            habits.refusesStops = later.pick([0, 0.5, 0.5])
            return ScriptedCodex(time, habits, seed: random.next())
        case .claude:
            var habits = ScriptedClaude.Habits.drawn(using: &random)
            // A separate generator, so other worlds stay as they were.
            var later = SeededGenerator(seed: seed ^ 0x6F77_6E)
            habits.ownAsks = later.pick([0, 0.5, 0.8])
            habits.longOwnTurns = later.pick([0, 0.5, 1])
            habits.helpers = later.pick([0, 0, 0.3, 0.6])
            return ScriptedClaude(time, habits, seed: random.next())
        }
    }

    /// The agent as its plug-in makes it from a configuration.
    func agent(_ double: any ScriptedAgent, _ network: DoubleNetwork, _ context: AgentContext) -> WorldAgent? {
        switch self {
        case .openClaw: return nil
        case .pi: return WorldAgent(PiPlugin(), PiValues(command: ["pi", "--mode", "rpc"]), network, context)
        case .oppi:
            var values = OppiValues()
            values.token = Secret(ScriptedOppi.token)
            return WorldAgent(OppiPlugin(), values, network, context)
        case .codex:
            var values = CodexValues()
            if (double as? ScriptedCodex)?.habits.isNamed == true {
                values.address = .web(WebAddress(.ws, "127.0.0.1", 4_500))
            }
            return WorldAgent(CodexPlugin(), values, network, context)
        case .claude: return WorldAgent(ClaudePlugin(), ClaudeValues(), network, context)
        }
    }

    /// Environment of the bridge's process.
    fileprivate var environment: [String: String] {
        self == .claude ? ["CLAUDE_CONFIG_DIR": ScriptedClaude.folder] : [:]
    }

    /// Whether the frame allows what the agent asked about.
    func isAllow(_ frame: String) -> Bool {
        switch self {
        case .openClaw: frame.contains("approval.resolve\"") && frame.contains("\"allow")
        case .pi:
            frame.contains("\"extension_ui_response\"")
                && (frame.contains("\"confirmed\":true") || frame.contains("\"value\":\"Run "))
        case .oppi:
            frame.contains("\"permission_response\"") && frame.contains("\"allow\"")
                || frame.contains("\"extension_ui_response\"")
                    && (frame.contains("\"confirmed\":true") || frame.contains("\"Run "))
        case .codex:
            frame.contains("\"decision\":\"accept") || frame.contains("\"answers\"") && frame.contains("\"Run ")
        case .claude: frame.contains("\"control_response\"") && frame.contains("\"behavior\":\"allow\"")
        }
    }
}

extension WorldAgent {
    init?(
        _ plugin: any AgentPlugin, _ values: any AgentValues, _ network: DoubleNetwork, _ context: AgentContext
    ) {
        let settings = AgentSettings(plugin.kind, values)
        guard let live = plugin.live(settings, in: context), let reading = try? live.read(settings) else { return nil }
        self.init(plugin.kind, live, reading, network)
    }
}

// The far side, whichever agent it is.
extension WorldSide {
    /// Takes the place of OpenClaw at the next start.
    func uses(_ kind: WorldAgentKind, seed: UInt64) { uses(kind, kind.double(time, seed: seed), seed: seed) }

    /// `double` is nil for the side's own gateway.
    func uses(_ kind: WorldAgentKind, _ double: (any ScriptedAgent)?, seed: UInt64) {
        guard let double else { return }
        let network = DoubleNetwork(double, time, seed: seed &+ 5)
        network.reportsLoss = kind == .codex
        network.onSend = { [weak self, weak double] in
            double?.passes($0, toBridge: false)
            self?.onFrameToAgent?($0)
        }
        network.onFrame = { [weak self, weak double] isIncoming, frame in
            if isIncoming { double?.passes(frame, toBridge: true) }
            self?.note("bridge \(isIncoming ? "<-" : "->") agent ", frame)
        }
        files.http = { [weak self, weak double, weak network] request in
            guard let double, let network else { return .failed(WorkFailure(.unreachable, "there is no agent")) }
            if EdgeFaults.isLost(request) { return .failed(WorkFailure(.unreachable, "connection refused")) }
            let answer = EdgeFaults.fromServer(network.answer(request, from: double))
            if case .answered(let response) = answer {
                self?.note("\(request.method) \(request.url) answered \(response.status) ", response.body)
            }
            return answer
        }
        files.run = { arguments in
            guard arguments.last == "--version" else {
                return .failed(WorkFailure(.absent, "there is no such thing here"))
            }
            return .ran(.exited(0), output: Array("codex-cli 0.163.0\n".utf8), errors: "")
        }
        files.log = { [weak double] path in
            path.hasSuffix(".log") ? (double as? ScriptedCodex)?.log : double?.file(at: path)
        }
        files.paths = { [weak double] in double?.paths ?? [] }
        files.runs = { [weak network] in network?.runs($0) ?? false }
        files.ends = { [weak network] in network?.end($0) }
        let context = AgentContext(
            connection: name, environment: kind.environment, configDirectory: nil, displayName: "Test bridge",
            version: "1.0.0",
            clock: time)
        if kind == .codex { bridge.words.workspaces = Workspaces(standard: Workspace(folder: "/home/ada/site")) }
        // The program asks the plug-in. Oppi's double knows no levels.
        bridge.choosesModels = kind != .oppi
        agent = kind.agent(double, network, context)
        scripted = double
        double.tally.meets = { [weak self] in self?.underWay ?? HabitTally.Met() }
    }

    func gives(_ script: GatewayScript, to prompt: String) {
        gateway.scripts[prompt] = script
        scripted?.scripts[prompt] = script
    }

    /// Number of runs that began with this prompt.
    func begun(_ prompt: String) -> Int { (scripted?.begun ?? gateway.begun)[prompt, default: 0] }

    var agentIsBusy: Bool { scripted?.isBusy ?? gateway.isBusy }
    var agentBreaches: [String] { scripted?.breaches ?? gateway.breaches }

    /// When the run that answers a message finished by itself.
    func runEnded(_ message: Sent) -> Instant? {
        scripted.map { $0.endedAt(message.text) } ?? gateway.endedAt(runID(of: message))
    }

    /// The run of this prompt has ended, and its answer can be found.
    func isFinished(_ prompt: String) -> Bool { scripted?.endedAt(prompt) != nil }

    /// Prompts and aborts that the agent heard about a message's run, in order.
    func asked(about message: Sent) -> [AgentAsked.What] {
        if let scripted { return scripted.asked.filter { $0.prompt == message.text }.map(\.what) }
        let run = runID(of: message)
        return gateway.heard.filter { $0.name == run }.compactMap { heard in
            switch heard.method {
            case "chat.send": .prompt
            case "chat.abort": .abort
            default: nil
            }
        }
    }

    /// Approvals that the agent heard a denial for.
    var denied: [String] {
        // The bridge declines a question that cannot be shown, whatever the person would have said.
        if let scripted {
            return scripted.decided.filter { !$0.isYes && !scripted.questions.contains($0.approval) }.map(\.approval)
        }
        return gateway.heard.filter { $0.decision == "deny" }.map(\.name)
    }

    // MARK: Misfortunes

    func cutAgent(away: Duration) {
        if let network = agent?.network { network.cut(away: away) } else { cutGateway(away: away) }
    }

    func cutAgent(behind frames: Int, away: Duration) {
        if let network = agent?.network {
            network.cutAfter = (frames, away)
        } else {
            network.cutGatewayAfter = gatewayFrames + frames
            network.insteadOfCut = { [weak self] in self?.cutGateway(away: away) }
        }
    }

    func agentIsDeaf(for duration: Duration) {
        agent?.network?.deafUntil = now + duration
        network.gatewayDeafUntil = now + duration
    }

    func happens(_ trouble: OppiTrouble) {
        scripted?.happens(trouble)
        if case .restarts(let down) = trouble { agent?.network?.cut(away: down) }
    }

    func happens(_ trouble: CodexMisfortune) { scripted?.happens(trouble) }

    func agentRestarts(down: Duration) {
        scripted?.restarts()
        if let network = agent?.network { network.cut(away: down) } else { gateway.restart(down: down, at: now) }
    }

    /// The agent's owner must act before the agent works again.
    func agentRefuses(for duration: Duration) {
        if scripted?.refuses(for: duration) == true { return }
        agent?.network?.refusesUntil = now + duration
        gateway.refusal = .pairing
        time.after(duration) { [weak self] in self?.gateway.refusal = nil }
    }

    func distortsAgent(
        for duration: Duration, _ distort: @escaping ([UInt8], inout SeededGenerator) -> [UInt8]
    ) {
        network.distort = distort
        agent?.network?.distort = { [weak self] frame, random in
            self?.scripted?.mayDistort(frame) == false ? frame : distort(frame, &random)
        }
        time.after(duration) { [weak self] in
            self?.network.distort = nil
            self?.agent?.network?.distort = nil
        }
    }

    func agentIsWell() {
        gateway.refusal = nil
        agent?.network?.calm()
        scripted?.isWell()
    }
}
