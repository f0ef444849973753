import Codex
import RelayRules
import Testing
import Vocabulary
import Worlds

/// Every effect of a yes was on the card, whatever a scripted Codex tries.
@Suite("What an attacker tries through Codex")
struct CodexTrickTests {
    @Test("what is executed was shown", arguments: CodexTrick.allCases)
    func shown(trick: CodexTrick) throws {
        let (world, codex) = Self.world(trick)
        world.start()
        world.run(seconds: 120)
        let side = world.sides[0]
        #expect(side.shown.approvals.count == (trick == .another ? 2 : 1))
        let approval = try #require(side.shown.approvals.last)
        let executed = try #require(codex.executed.last)
        #expect(codex.executed.count == 1)
        #expect(codex.breaches == [])
        #expect(side.shown.lies(executed.pieces, allowedBy: approval) == [] as [String])
        if trick == .another { #expect(executed.approval == "a1-2") }
    }

    @Test("a card without the program that runs is caught")
    func planted() throws {
        let (world, codex) = Self.world(.ownShell)
        PlantedFault.$planted.withValue(.programDropped) {
            world.start()
            world.run(seconds: 120)
        }
        let approval = try #require(world.sides[0].shown.approvals.last)
        let executed = try #require(codex.executed.last)
        #expect(!world.sides[0].shown.lies(executed.pieces, allowedBy: approval).isEmpty)
    }

    static func world(_ trick: CodexTrick, _ command: String = "git status") -> (LiveWorld, ScriptedCodex) {
        let world = LiveWorld(.e4, scripts: [:], seed: 7)
        var habits = ScriptedCodex.Habits()
        habits.isNamed = true
        habits.tricks = [trick]
        let codex = ScriptedCodex(world.time, habits)
        codex.scripts["Reboot."] = GatewayScript(
            (20, .says("May I? ")), (30, .callsTool(id: "t1", command: command)),
            (60, .asksApproval(id: "a1", command: command)), (100, .toolReturns(id: "t1", output: "clean")),
            (50, .says("Done.")), (50, .finishes))
        _ = ContractStage(
            CodexPlugin(), DoubleNetwork(codex, world.time, seed: 7), world,
            configuration: #", "url": "ws://127.0.0.1:4500/", "directory": "/home/ada/site""#, begun: { codex.begun },
            finished: { [] }, decisions: { [] }, isBusy: { codex.isBusy }, breaches: { codex.breaches })
        world.writes("Reboot.", after: .seconds(3))
        return (world, codex)
    }
}
