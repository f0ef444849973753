import BridgeService
import RelayRules
import Testing
import Vocabulary
import Worlds

/// `LiveWorld` knows what the relay was given to show, in the open and sealed, and can let an approval time out.
@Suite struct ShownTests {
    private static func world(isSealed: Bool) -> LiveWorld {
        let script = GatewayScript(
            (20, .says("May I? ")), (60, .asksApproval(id: "a1", command: "reboot --now 'the box'")),
            (100, .says("Done.")), (50, .finishes))
        let world = LiveWorld(.e4, scripts: ["Reboot.": script])
        guard isSealed else {
            world.writes("Reboot.", after: .seconds(3))
            return world
        }
        world.seals = true
        world.sealing.pairedAt = world.time.wallMilliseconds
        world.addsPhone()
        return world
    }

    private static let wanted: [ShownBeforeYes.Executed] = [
        .arguments(["reboot", "--now", "the box"]), .content(Array("reboot --now 'the box'".utf8)),
    ]

    @Test(arguments: [false, true]) func whatWasAllowedWasShown(isSealed: Bool) throws {
        let world = Self.world(isSealed: isSealed)
        world.start()
        if isSealed { world.writesSealed("Reboot.", after: .seconds(3)) }
        world.run(seconds: 60)
        let side = world.sides[0]
        let approval = try #require(side.shown.approvals.first)
        #expect(side.shown.approvals.count == 1)
        #expect(side.approvalsInTheOpen.isEmpty == isSealed)
        #expect(side.shown.lies(Self.wanted, allowedBy: approval) == [] as [String])
        #expect(side.shown.lies([.arguments(["reboot", "--now"]), .folder("/")], allowedBy: approval).count == 1)
    }

    @Test(arguments: [nil, "timeout"]) func anApprovalThatRunsOutIsNoYes(reason: String?) throws {
        let world = Self.world(isSealed: false)
        world.decision = nil
        world.sides[0].endsApprovals(reason: reason, after: .seconds(10))
        world.start()
        world.run(seconds: 60, atLeast: .seconds(20))
        let side = world.sides[0]
        let approval = try #require(side.shown.approvals.first)
        #expect(
            side.shown.lies(Self.wanted, allowedBy: approval) == ["\(approval) ended by itself: \(reason ?? "expired")"]
        )
    }
}
