import AgentKit
import BridgeCore
import BridgeService
import OpenClaw
import RelayRules
import Testing
import Vocabulary
import Worlds

@Suite("Runs that no phone message began, while nothing can be shown")
struct MirrorBoundTests {
    private static let session = AgentSession("agent:main:terminal")

    private static func said(_ run: String, _ text: String) -> [RunSignal] {
        [.started, .text(.append(text)), .finished(RunEnd(reason: .stop))].map {
            RunSignal(run: RunID(run), session: session, event: $0)
        }
    }

    @Test(
        "they hold to their share of the open turns, and are shown again when there is room", arguments: [false, true])
    func share(tokenIsDead: Bool) {
        let hello = GatewayScript((20, .says("Hello.")), (30, .finishes))
        let world = LiveWorld(.e4, scripts: ["Hello?": hello])
        world.mirror = .all
        world.bridge.mirroredLimit = 20
        world.start()
        world.otherClientSends("Hello?", in: Self.session.text, as: "run-0", after: .milliseconds(200))
        world.time.after(.seconds(3)) {
            if tokenIsDead {
                _ = world.relay.revoke(token: RelayOptions().bridgeToken)
            } else {
                world.network.relayAwayUntil = .zero + .seconds(20)
            }
        }
        for number in 1...60 {
            world.agentSays(
                Self.said("run-\(number)", "Text \(number)."), after: .seconds(5) + .milliseconds(Int64(number) * 10))
        }
        var most = 0
        world.afterStep = { most = max(most, $0.openTurns) }
        let next = String(RelayOptions().bridgeToken.prefix { $0 != ":" }) + ":s_test_another_token"
        world.relay.admit(token: next)
        if tokenIsDead { world.use(Secret(next), after: .seconds(20)) }
        world.agentSays(Self.said("later", "Later."), after: .seconds(80))
        world.run(seconds: 100)
        #expect(most == 20)
        let notes = world.events.count {
            if case .note(_, let words) = $0 { words.contains("too many runs") } else { false }
        }
        #expect(notes == 1)
        let texts = world.relay.sessions.flatMap { $0.messages.filter(\.isFinal).map(\.text) }
        #expect(texts.first == "Hello." && texts.last == "Later.")
        #expect(texts.dropFirst().dropLast().sorted() == (1...20).map { "Text \($0)." }.sorted())
        #expect(world.openTurns == 0)
    }

    @Test("at the memory limit the bridge is not ready and the agent is not read, and both come back by themselves")
    func memory() {
        let hello = GatewayScript((20, .says("Hello.")), (30, .finishes))
        let world = LiveWorld(.e4, scripts: ["Hello?": hello])
        world.mirror = .all
        world.memoryLimit = 400_000
        let agent = Configuration.Connection(agent: AgentSettings(AgentKind(rawValue: "openclaw"), OpenClawValues()))
        let board = StatusBoard(version: "1", pid: 1, connections: [agent], clock: world.time)
        world.start()
        world.otherClientSends("Hello?", in: Self.session.text, as: "run-0", after: .milliseconds(200))
        world.time.after(.seconds(3)) {
            world.relay.plan(Fault(.status(500, retryAfterMilliseconds: nil), method: "sendMessage", count: 30))
        }
        for number in 1...8 {
            world.agentSays(
                Self.said("run-\(number)", String(repeating: "word ", count: 20_000)),
                after: .seconds(4) + .milliseconds(Int64(number) * 100))
        }
        var told = 0
        var ready: [Bool] = []
        world.afterStep = { world in
            for event in world.events.dropFirst(told) { board.tell(event) }
            told = world.events.count
            let isReady = board.status { _ in world.ask { $0.work } ?? nil }.ready
            if ready.last != isReady { ready.append(isReady) }
        }
        world.run(seconds: 120, atLeast: .seconds(110))
        #expect(ready == [false, true, false, true])
        let full = world.events.compactMap { if case .memory(_, let isFull, _) = $0 { isFull } else { nil } }
        #expect(full == [true, false])
        #expect(world.openTurns == 0)
    }
}
