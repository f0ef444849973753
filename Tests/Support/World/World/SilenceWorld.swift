import BridgeCore
import BridgeService
import RelayRules
import Vocabulary

/// A world of one hour with silent runs: one freezes after its first words, one has a tool of forty minutes, one
/// asks, one speaks every few minutes, and a message waits behind the frozen one. Some seeds add kills and lost
/// links.
///
/// The phone must show the promises of DESIGN.md#silence: each silent run says what it waits for, at most once a
/// minute, and nothing else; a run that speaks says no such thing; only the frozen one gets a line in the chat, once;
/// every task finishes.
package final class SilenceWorld {
    private enum Story: CaseIterable {
        case frozen, tool, asks, speaks

        var text: String { "Question \(self)?" }
    }

    private static let quiet = Duration.seconds(300)
    private static let stuck = Duration.seconds(1_200)
    private static let behind = "Question behind?"

    private let world: LiveWorld
    private var random: SeededGenerator
    private let isTroubled: Bool
    /// Labels of a status task, each with its moment.
    private var said: [String: [(at: Instant, label: String)]] = [:]
    private var taskOf: [String: (interaction: String, isOpen: Bool)] = [:]
    private var violations: [String] = []

    /// `trace` receives everything that happens, in words.
    package static func run(seed: UInt64, trace: ((String) -> Void)? = nil) -> [String] {
        let silence = SilenceWorld(seed)
        silence.side.trace = trace
        defer { silence.world.end() }
        return silence.play()
    }

    private init(_ seed: UInt64) {
        random = SeededGenerator(seed: seed &* 71 &+ 5)
        let kind = WorldAgentKind.allCases[Int(seed % UInt64(WorldAgentKind.allCases.count))]
        // An Oppi server has few places, so a run may wait for one or lose it.
        isTroubled = random.happens(0.3) || kind == .oppi
        world = LiveWorld(random.pick([.e3, .e4]), scripts: [:], seed: seed)
        side.uses(kind, double(kind, seed), seed: seed)
        side.bridge.turn.quiet = Self.quiet
        side.bridge.turn.stuck = Self.stuck
        side.decide = { _ in nil }
        for story in Story.allCases { side.gives(script(story), to: story.text) }
        side.gives(GatewayScript((50, .says("Me too.")), (30, .finishes)), to: Self.behind)
    }

    private var side: WorldSide { world.sides[0] }

    private func double(_ kind: WorldAgentKind, _ seed: UInt64) -> (any ScriptedAgent)? {
        guard kind == .claude else { return kind.double(world.time, seed: seed) }
        var generator = SeededGenerator(seed: seed)
        var habits = ScriptedClaude.Habits.drawn(using: &generator)
        // A run that streams nothing is silent until its end.
        habits.wholeTexts = 0
        return ScriptedClaude(world.time, habits, seed: seed)
    }

    /// Milliseconds.
    private func script(_ story: Story) -> GatewayScript {
        switch story {
        case .frozen:
            return GatewayScript((40, .says("I begin. ")), (50 * 60_000, .says("I am back.")), (30, .finishes))
        case .tool:
            return GatewayScript(
                (40, .says("I test. ")), (30, .callsTool(id: "call-tool", command: "npm test")),
                (40 * 60_000, .toolReturns(id: "call-tool", output: "ok")), (40, .says("It works.")), (30, .finishes))
        case .asks:
            return GatewayScript(
                (40, .says("I ask. ")), (30, .callsTool(id: "call-ask", command: "rm x")),
                (20, .asksApproval(id: "ask", command: "rm x")), (100, .toolReturns(id: "call-ask", output: "done")),
                (40, .says("It is over.")), (30, .finishes))
        case .speaks:
            var script = GatewayScript((120_000, .says("Word 1. ")), (30, .finishes))
            for number in 2...20 {
                let word = GatewayScript.Timed(after: .seconds(120), step: .says("Word \(number). "))
                script.steps.insert(word, at: number - 1)
            }
            return script
        }
    }

    // MARK: The course

    private func play() -> [String] {
        world.start()
        for (chat, story) in Story.allCases.enumerated() {
            side.writes(story.text, chat: chat, after: .milliseconds(Int64.random(in: 200...20_000, using: &random)))
        }
        side.writes(Self.behind, chat: 0, after: .seconds(60))
        drawTroubles()
        let end = Instant.zero + .seconds(3 * 3_600)
        while violations.count < 6, world.step(until: end), world.time.steps < 400_000 {
            watch()
            if world.time.now > .zero + .seconds(55 * 60), isDrained { break }
        }
        judge()
        return violations
    }

    private var isDrained: Bool {
        // Nobody answers the ask, so its turn may stay.
        world.isRunning && world.openTurns <= 1 && side.relay.pendingUpdates().isEmpty
    }

    private func drawTroubles() {
        guard isTroubled else { return }
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            let at = Duration.milliseconds(Int64.random(in: 300_000...2_000_000, using: &random))
            let away = Duration.milliseconds(Int64.random(in: 0...20_000, using: &random))
            let isKill = random.happens(0.6)
            world.time.after(at) { [weak self] in
                guard let self else { return }
                if isKill, world.isRunning { world.restarts(down: away) } else { side.cutRelay() }
                side.pump()
            }
        }
    }

    // MARK: The phone

    private func watch() {
        for session in side.relay.sessions {
            for task in session.tasks where task.kind == "status" {
                let before = said[task.id]?.last
                if before?.label != task.label ?? "", task.status == nil {
                    said[task.id, default: []].append((world.time.now, task.label ?? ""))
                    judge(task, before?.at)
                }
                taskOf[task.id] = (task.interaction ?? "", task.status == nil)
            }
        }
    }

    private func judge(_ task: PhoneTask, _ before: Instant?) {
        let (label, now) = (task.label ?? "", world.time.now)
        // A call takes a moment, and a lost one comes again.
        if let before, !isTroubled, now - before < .seconds(59) {
            violations.append("\(task.id) said \(label) too soon")
        }
        guard let sent = side.sent.first(where: { $0.interaction == task.interaction }) else { return }
        let isRight =
            switch sent.text {
            case Story.frozen.text: label.hasPrefix("no sign of life for ")
            case Story.tool.text: label.contains(" runs since ") || label.contains(" runs for ")
            case Story.asks.text: label == "waits for you"
            case Self.behind: label == "waits behind a run"
            default: false
            }
        if !isRight, !isTroubled { violations.append("of \(sent.text) it is said: \(label)") }
    }

    private func judge() {
        for (task, known) in taskOf where known.isOpen && known.interaction != interaction(of: Story.asks.text) {
            violations.append("\(task) was never finished")
        }
        let lines = side.relay.sessions.flatMap(\.messages).filter { $0.role == .agent }
            .reduce(0) { $0 + $1.text.components(of: "Still nothing.") }
        let stuck = world.events.compactMap { if case .stuck(_, let turn) = $0 { turn } else { nil } }
        if Set(stuck).count < stuck.count || lines > stuck.count {
            violations.append("\(lines) lines say that there is nothing, and \(stuck) were stuck")
        }
        if !isTroubled, lines != 1 || stuck.count != 1 { violations.append("\(lines) lines of \(stuck)") }
        guard !isTroubled else { return }
        // An agent that guards nothing does not ask.
        for text in [Story.frozen.text, Story.tool.text, Self.behind]
        where !taskOf.values.contains(where: { $0.interaction == interaction(of: text) }) {
            violations.append("of \(text) nothing was said")
        }
    }

    private func interaction(of text: String) -> String? { side.sent.first { $0.text == text }?.interaction }
}

extension String {
    fileprivate func components(of part: String) -> Int {
        var (count, rest) = (0, self[...])
        while let range = rest.firstRange(of: part) {
            count += 1
            rest = rest[range.upperBound...]
        }
        return count
    }
}
