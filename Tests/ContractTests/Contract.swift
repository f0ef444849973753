import AgentKit
import BridgeCore
import BridgeService
import RelayRules
import Vocabulary
import Worlds

/// The contract of every agent with the bridge. Each check plays worlds and returns what broke, so tests can see that
/// it catches a planted fault.
struct Contract {
    let agent: any ContractAgent
    /// A fault planted between the machine and its host.
    var fault: MachineFault?
    var seed: UInt64 = 1

    static let checks: [(name: String, check: @Sendable (Contract) -> [String])] = [
        ("handshake", { $0.handshake() }), ("run", { $0.run() }), ("tool", { $0.tool() }),
        ("approval", { $0.approval("approve", heard: "yes") + $0.approval("deny", heard: "no") }),
        ("approval over a loss", { $0.approvalOverLoss() }), ("stop", { $0.stop() }), ("loss", { $0.loss() }),
        ("restart", { $0.restarts() }), ("SIGTERM", { $0.terminated() }), ("end", { $0.end() }),
        ("recording", { $0.recording() }),
        ("doctor", { $0.doctor() }),
    ]

    func stage() -> ContractStage {
        let stage = agent.stage(seed: seed)
        if let fault { stage.world.sides[0].throughHost = { FaultyHost(inner: $0, fault: fault) } }
        return stage
    }

    private func play(
        _ text: String, seconds: Int64 = 60, atLeast: Duration = .seconds(8),
        _ prepare: (ContractStage) -> Void = { _ in }
    ) -> ContractStage {
        let stage = stage()
        prepare(stage)
        stage.world.start()
        stage.world.writes(text, after: .seconds(1))
        stage.world.run(seconds: seconds, atLeast: atLeast)
        return stage
    }

    // MARK: Judgement

    private func bubbles(_ world: LiveWorld, _ index: Int = 0) -> [PhoneMessage] {
        guard world.sent.indices.contains(index) else { return [] }
        return world.sides[0].answers(to: world.sent[index])
    }

    /// Demands one bubble that ended with this text, and that the agent began as often as `begun`.
    /// `remarks` may follow the text, in this order.
    private func judge(
        _ stage: ContractStage, _ text: String, begun: Int = 1, index: Int = 0, remarks: [String] = []
    ) -> [String] {
        var found = stage.breaches() + stage.world.relay.breaches.map(\.sentence)
        let bubbles = bubbles(stage.world, index)
        let expected = agent.text(of: text) ?? ""
        if bubbles.count != 1 { found.append("\(text) has \(bubbles.count) bubbles") }
        if bubbles.first?.isFinal != true { found.append("\(text) has not ended") }
        if var said = bubbles.first?.text {
            for remark in remarks.reversed() where said.hasSuffix("\n\n\(remark)") {
                said.removeLast(remark.count + 2)
            }
            if said != expected { found.append("\(text) ended with “\(said)”") }
        }
        if stage.begun()[text] ?? 0 != begun { found.append("\(text) was begun \(stage.begun()[text] ?? 0) times") }
        return found
    }

    private func expect(_ isTrue: Bool, _ words: String) -> [String] { isTrue ? [] : [words] }

    /// The link broke while a decision may have been on its way, so the bridge cannot know whether it arrived.
    private static let doubt = "The agent did not confirm this decision, so it may not have got it."
    /// The bridge was away when the agent asked, or before it had an answer.
    private static let denied = [
        "The agent no longer waited for this approval.",
        "1 call could not be asked about while the bridge was away, so Claude Code did not run it.",
    ]

    // MARK: The checks

    private func handshake() -> [String] {
        let stage = stage()
        stage.world.start()
        stage.world.run(seconds: 20)
        let ups = stage.world.events.count { if case .agentConnected = $0 { true } else { false } }
        let backs = stage.world.observations.count { $0 == .linkBack }
        let isReady = stage.world.events.contains { if case .ready = $0 { true } else { false } }
        return expect(ups == 1, "connected \(ups) times") + expect(backs == 1, "back \(backs) times")
            + expect(isReady, "not ready") + stage.breaches()
    }

    private func run() -> [String] { judge(play("Say."), "Say.") }

    private func tool() -> [String] {
        let stage = play("Tool.")
        let tasks = stage.world.relay.sessions.flatMap(\.tasks)
        return judge(stage, "Tool.") + expect(tasks.map(\.status) == ["completed"], "tasks: \(tasks.map(\.status))")
    }

    private func approval(_ tap: String, heard: String) -> [String] {
        let stage = play("Ask.") { $0.world.decision = tap }
        let asked = stage.world.relay.tally.calls["requestApproval", default: 0]
        var found = expect(asked == 1, "asked \(asked) times")
        found += expect(stage.decisions() == [heard], "the agent heard \(stage.decisions())")
        return found + (heard == "yes" ? judge(stage, "Ask.") : expect(!stage.isBusy(), "the agent works on"))
    }

    private func approvalOverLoss() -> [String] {
        guard case .run = agent.survives else { return [] }
        let stage = play("Ask.", seconds: 120) { stage in
            stage.world.decisionTime = .seconds(3)
            onceStreamed(stage) { stage.world.time.after(.seconds(1)) { stage.cut(.seconds(10)) } }
        }
        return judge(stage, "Ask.") + expect(stage.decisions() == ["yes"], "the agent heard \(stage.decisions())")
    }

    private func stop() -> [String] {
        let stage = play("Long.", seconds: 90) { $0.world.stops(0, after: .seconds(4)) }
        let outcomes = stage.world.events.compactMap {
            if case .turnEnded(_, _, let outcome) = $0 { outcome } else { nil as TurnOutcome? }
        }
        return judge(stage, "Long.") + expect(outcomes == [.aborted], "outcomes: \(outcomes)")
            + expect(!stage.isBusy(), "the agent works on")
    }

    private func loss() -> [String] {
        let stage = play("Say.", seconds: 200, atLeast: .seconds(40)) { stage in
            onceStreamed(stage) { stage.cut(.seconds(3)) }
            stage.world.writes("Tool.", after: .seconds(30))
        }
        // The second message shows that the connection has recovered.
        return survived(stage, "Say.") + judge(stage, "Tool.", index: 1)
    }

    private func survived(_ stage: ContractStage, _ text: String) -> [String] {
        switch agent.survives {
        case .run: return judge(stage, text, remarks: stage.decisions().isEmpty ? [] : [Self.doubt])
        case .transcript, .alone:
            let remarks = agent.survives == .alone && stage.decisions().isEmpty ? Self.denied : []
            if stage.finished().contains(text) { return judge(stage, text, remarks: remarks) }
            let bubbles = bubbles(stage.world)
            var found = expect(bubbles.count == 1, "\(text) has \(bubbles.count) bubbles")
            found += expect(bubbles.first?.isFinal == true, "\(text) has not ended")
            found += expect(bubbles.first?.text.isEmpty == false, "\(text) is not explained")
            return found + expect(stage.begun()[text] ?? 0 <= 1, "\(text) was begun again")
        }
    }

    /// Kills the process after each step of the run in turn. It continues from its journal.
    private func restarts() -> [String] {
        ["Say.", "Ask."].flatMap { text -> [String] in
            let steps = play(text).world.time.steps
            return (1...steps).flatMap { step -> [String] in
                let stage = stage()
                stage.world.start()
                stage.world.writes(text, after: .seconds(1))
                stage.world.run(seconds: 200, killAfter: step)
                var found = survived(stage, text)
                if agent.survives == .alone {
                    found += expect(stage.finished().contains(text), "\(text) was not worked on to its end")
                }
                return found.map { "killed after \(step) of \(steps) steps: \($0)" }
            }
        }
    }

    /// Ends the process in order while a slow disk takes the message, or behind it. Either process hands the message over.
    private func terminated() -> [String] {
        stride(from: 0, through: 1_200, by: 40).flatMap { (milliseconds: Int64) -> [String] in
            let stage = stage()
            stage.world.disk.syncTime = .milliseconds(300)
            stage.world.start()
            stage.world.writes("Say.", after: .seconds(1))
            stage.world.time.after(.milliseconds(1_000 + milliseconds)) {
                stage.world.shutsDown(closing: false, down: .seconds(1))
            }
            stage.world.run(seconds: 200)
            var found = survived(stage, "Say.")
            found += expect(stage.begun()["Say."] == 1, "nothing was begun: \(bubbles(stage.world).first?.text ?? "")")
            return found.map { "ended \(milliseconds) ms behind the message: \($0)" }
        }
    }

    /// The bridge closes everything it opened, though the agent works on. A program that works to its end alone knows
    /// that the bridge leaves.
    private func end() -> [String] {
        let stage = stage()
        stage.world.start()
        stage.world.writes("Long.", after: .seconds(1))
        var isQuiet = false
        stage.world.time.after(.seconds(5)) { _ = stage.world.ask { $0.closeLinks() } }
        stage.world.time.after(.seconds(10)) {
            isQuiet = stage.world.ask { $0.isQuiet } ?? false
        }
        stage.world.run(seconds: 11)
        return expect(stage.begun()["Long."] == 1, "nothing was begun")
            + expect(isQuiet || agent.survives == .alone, "something is open at the bridge")
            + expect(stage.open() == 0, "\(stage.open()) are open at the agent")
    }

    /// The decoder alone reads the same from recorded frames as the bridge did, as `replay` does.
    private func recording() -> [String] {
        ["Say.", "Tool.", "Ask."].flatMap { text -> [String] in
            let frames = Frames()
            _ = play(text) { $0.world.sides[0].onRecord = { frames.add($1, $2) } }
            let heard = frames.replayed(by: agent.plugin)
            var found = expect(heard.text == agent.text(of: text), "\(text) is replayed as “\(heard.text ?? "")”")
            found += expect(heard.prompts == [text], "prompts: \(heard.prompts)")
            if text == "Tool." { found += expect(heard.tools >= 2, "\(heard.tools) words about tools") }
            if text == "Ask." {
                found += expect(heard.approvals == 1 && heard.decisions == 1, "the approval is not replayed")
            }
            return found + frames.strangers(to: agent.plugin)
        }
    }

    private func doctor() -> [String] {
        let there = stage()
        let seen = there.examine()
        var found = expect(seen.isDone, "not done") + expect(seen.isClosed, "not closed")
        found += expect(seen.findings.contains { $0.outcome == .ok }, "nothing is well")
        found += seen.findings.filter { $0.outcome == .failed }.map { "failed: \($0.message)" }
        found += expect(there.world.journal.load().settings.isEmpty, "something was kept")
        found += expect(there.world.files.secrets.isEmpty && there.begun().isEmpty, "something was changed")
        let away = stage()
        away.cut(.seconds(600))
        let unseen = away.examine()
        found += expect(unseen.isDone && unseen.isClosed, "not done where the agent is away")
        return found
            + expect(
                unseen.findings.contains { $0.outcome == .failed && $0.exitCode != nil },
                "an agent that is away is not found so")
    }

    private func onceStreamed(_ stage: ContractStage, _ action: @escaping () -> Void) {
        var isDone = false
        stage.world.afterStep = { [self] world in
            guard !isDone, bubbles(world).first?.streamed.isEmpty == false else { return }
            isDone = true
            action()
        }
    }
}
