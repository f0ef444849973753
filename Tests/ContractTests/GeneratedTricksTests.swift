import Oppi
import Pi
import RelayRules
import Testing
import Vocabulary
import Worlds

/// An attacker's commands, which every agent asks about in each of its ways. The person allows every card.
@Suite("Whatever is executed after a yes was shown before it, for generated commands")
struct GeneratedTricksTests {
    private static let seeds = UInt64(1)...8

    /// Two of eight commands are longer than a card.
    private static func command(_ seed: UInt64, _ agent: UInt64) -> String {
        var random = SeededGenerator(seed: seed &* 8 &+ agent)
        return seed % 4 == 0
            ? AskTricks.long("m\(seed)x", using: &random) : AskTricks.command("m\(seed)x", using: &random)
    }

    private static func judge(
        _ executed: [AgentExecuted], _ breaches: [String], _ world: LiveWorld, asksForAnother: Bool = false,
        _ location: SourceLocation = #_sourceLocation
    ) {
        let shown = world.sides[0].shown
        for executed in executed {
            let lies = shown.approvals.map { shown.lies(executed.pieces, allowedBy: $0) }
            #expect(
                lies.contains { $0.isEmpty }, "\(lies.flatMap(\.self).map { $0.prefix(300) })", sourceLocation: location
            )
        }
        let isDenied = shown.approvals.contains { shown.title(of: $0)?.contains("only be denied") == true }
        #expect(executed.count == 1 || isDenied && executed.isEmpty, sourceLocation: location)
        if asksForAnother, let executed = executed.first {
            #expect(executed.approval == "a1-2" && shown.approvals.count == 2, sourceLocation: location)
        }
        for card in shown.approvals where !isDenied {
            #expect(shown.unseen(on: card) == [], sourceLocation: location)
        }
        #expect(breaches == [], sourceLocation: location)
    }

    @Test("Codex", arguments: CodexTrick.allCases, seeds)
    func codex(trick: CodexTrick, seed: UInt64) {
        let (world, codex) = CodexTrickTests.world(trick, Self.command(seed, 1))
        world.start()
        world.run(seconds: 120)
        Self.judge(codex.executed, codex.breaches, world, asksForAnother: trick == .another)
    }

    @Test("Oppi", arguments: OppiTrick.allCases, seeds)
    func oppi(trick: OppiTrick, seed: UInt64) {
        let world = LiveWorld(.e4, scripts: [:], seed: seed)
        var habits = ScriptedOppi.Habits()
        habits.dialect = trick == .anotherDialog ? .head : ScriptedOppi.Dialect.allCases[Int(seed % 2)]
        habits.tricks = [trick]
        let oppi = ScriptedOppi(world.time, habits, seed: seed)
        oppi.scripts = ExecutedTests.script(Self.command(seed, 2))
        let token = #", "token": "\#(ScriptedOppi.token)""#
        ExecutedTests.play(ExecutedTests.stage(OppiPlugin(), oppi, world, more: token))
        Self.judge(
            oppi.executed, oppi.breaches, world, asksForAnother: [.another, .anotherDialog].contains(trick))
    }

    @Test("OpenClaw", arguments: GatewayTrick.allCases, seeds)
    func openClaw(trick: GatewayTrick, seed: UInt64) {
        let command = Self.command(seed, 3)
        let world = LiveWorld([.e3, .e4][Int(seed % 2)], scripts: ExecutedTests.script(command), seed: seed)
        world.sides[0].gateway.places[command] = GatewayPlace(cwd: "/srv/a\u{202E}b", nodeId: "n1", trick: trick)
        ExecutedTests.play(world)
        let gateway = world.sides[0].gateway
        Self.judge(gateway.executed, gateway.breaches, world, asksForAnother: trick == .another)
    }

    @Test("pi", arguments: [false, true], seeds)
    func pi(asksForAnother: Bool, seed: UInt64) {
        let world = LiveWorld(.e4, scripts: [:], seed: seed)
        var habits = ScriptedPi.Habits()
        habits.guards = seed % 2 == 0 ? ["Yes", "No"] : nil
        habits.asksForAnother = asksForAnother
        let pi = ScriptedPi(world.time, habits, seed: seed)
        pi.scripts = ExecutedTests.script(Self.command(seed, 4))
        ExecutedTests.play(ExecutedTests.stage(PiPlugin(), pi, world))
        Self.judge(pi.executed, pi.breaches, world, asksForAnother: asksForAnother)
    }

    @Test(
        "an option that says always is no plain yes",
        arguments: [["Always allow", "No"], ["Allow for this session", "Deny"]])
    func always(options: [String]) {
        let world = LiveWorld(.e4, scripts: [:])
        var habits = ScriptedPi.Habits()
        habits.guards = options
        let pi = ScriptedPi(world.time, habits)
        pi.scripts = ExecutedTests.script("rm -rf ./build")
        ExecutedTests.play(ExecutedTests.stage(PiPlugin(), pi, world))
        #expect(world.sides[0].shown.approvals == [] && pi.executed == [])
        let shown = world.relay.sessions.flatMap(\.messages).map(\.streamed).joined()
        #expect(shown.contains("1. \(options[0])\n2. \(options[1])"), "\(shown)")
    }
}
