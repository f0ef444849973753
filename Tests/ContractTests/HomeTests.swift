import RelayRules
import Testing
import Vocabulary
import Worlds

@Suite("A run of the agent's own in a chat of the phone")
struct HomeTests {
    @Test("is shown after a restart of the bridge, if a message of the chat was open", arguments: [true, false])
    func behindRestart(wasOpen: Bool) throws {
        let world = ClaudeContract().stage(seed: 3).world
        defer { world.end() }
        world.start()
        world.writes("Say.", after: .milliseconds(200))
        // The answer takes 600 ms.
        while world.step(until: .zero + .milliseconds(wasOpen ? 600 : 5_000)) {}
        world.restarts(down: .milliseconds(10))
        let chat = try #require(world.sides[0].sent.first).session
        let session = try #require(world.sides[0].agent).session(SessionID(chat))
        let events: [RunEvent] = [.started, .text(.append("Done by itself.")), .finished(RunEnd())]
        world.agentSays(
            events.map { RunSignal(run: RunID("own-1"), session: session, event: $0) }, after: .milliseconds(500))
        while world.step(until: .zero + .seconds(20)) {}
        let shown = world.relay.sessions.first { $0.id == chat }?.messages.map(\.text) ?? []
        #expect(shown.contains { $0.contains("One. Two. Three.") })
        #expect(shown.contains("Done by itself.") == wasOpen, "\(shown)")
    }
}
