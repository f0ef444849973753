import RelayRules
import Testing
import Vocabulary
import Worlds

/// Stories that single seeds once found. The doubles have more habits now, so those seeds play other stories.
@Suite("What seeds of earlier worlds found")
struct EarlierSeedsTests {
    @Test("a day later one call learns that the relay has forgotten a chat, and its turn is over")
    func forgottenChat() {
        let script = GatewayScript(
            (50, .says("One. ")), (100, .callsTool(id: "t0", command: "df")),
            (30_000, .toolReturns(id: "t0", output: "1")),
            (50, .says("Two.")), (50, .finishes))
        let world = LiveWorld(.e4, scripts: ["Question?": script])
        world.start()
        world.writes("Question?", after: .milliseconds(200))
        world.time.after(.seconds(2)) { world.restarts(down: .seconds(25 * 3_600)) }
        world.deletesChat(0, after: .seconds(4))
        while world.step(until: .zero + .seconds(25 * 3_600 + 120)), world.time.steps < 200_000 {}
        let breaches = world.relay.breaches
        #expect(breaches.count == 1 && [.unknownSession, .unknownMessage].contains(breaches[0].code), "\(breaches)")
        #expect(world.openTurns == 0 && world.journal.openTurns.isEmpty)
        #expect(world.relay.pendingUpdates().isEmpty)
        world.end()
    }

    @Test("a second message whose turn is closed with the process has what was heard of it, and says why")
    func closedSecond() {
        let first = GatewayScript((20, .says("First.")), (30, .finishes))
        let second = GatewayScript(
            (20, .says("One. ")), (400, .says("Two. ")), (9_000, .says("Three.")), (50, .finishes))
        let world = LiveWorld(.e3, scripts: ["First?": first, "Second?": second])
        world.start()
        world.writes("First?", after: .milliseconds(200))
        world.writesAgain("Second?", under: 0, after: .seconds(2))
        world.time.after(.milliseconds(3_500)) { world.shutsDown(closing: true, down: .seconds(1)) }
        world.run(seconds: 60, atLeast: .seconds(20))
        let said = world.relay.sessions.flatMap(\.messages).filter { $0.role == .agent }.map(\.text)
        let closed = said.filter { $0.contains("The bridge was stopped") }
        #expect(closed.count == 1 && closed.first?.hasPrefix("One. ") == true, "\(said)")
        #expect(!said.contains { $0.contains("Three.") })
        #expect(said.filter { $0.contains("One.") }.count == 1)
        world.end()
    }
}
