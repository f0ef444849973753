import BridgeCore
import BridgeService
import RelayRules
import Testing
import Vocabulary
import Worlds

@Suite("What a running bridge is told about asks")
struct AskSettingsTests {
    @Test("other settings hold from that moment on, in each open turn too, and cost no turn anything")
    func changed() {
        let slow = GatewayScript((20, .says("One. ")), (4_000, .says("Two.")), (50, .finishes))
        let world = LiveWorld(.e4, scripts: ["Question?": slow])
        var settings = AskSettings()
        settings.whenUnanswered = .deny
        settings.patience = .seconds(60)
        settings.severity = [SeverityMatch("terraform apply", .critical)]
        let deny = settings
        world.start()
        world.writes("Question?", after: .milliseconds(200))
        var seen: [AskSettings?] = []
        world.time.after(.seconds(1)) { seen.append(Self.asks(world)) }
        world.time.after(.seconds(2)) {
            world.ask { $0.use(deny) }
            seen.append(Self.asks(world))
        }
        world.run(seconds: 60, atLeast: .seconds(30))
        #expect(seen == [AskSettings(), deny])
        #expect(world.relay.sessions.flatMap(\.messages).map(\.text).contains("One. Two."))
        #expect(world.relay.breaches.isEmpty, "\(world.relay.breaches.map(\.sentence))")
    }

    private static func asks(_ world: LiveWorld) -> AskSettings? {
        world.ask { $0.ask { $0.settings.turn.asks } }.flatMap { $0 }
    }
}
