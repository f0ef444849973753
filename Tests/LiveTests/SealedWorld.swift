import BridgeService
import RelayRules
import Sealing
import Vocabulary
import Worlds

/// A live connection, its relay and phones that seal.
enum SealedWorld {
    private static let hello = GatewayScript((20, .says("Hello ")), (100, .says("there.")), (50, .finishes))

    static func make(_ encryption: Encryption = .auto, mirror: Configuration.Mirror = .none) -> LiveWorld {
        let tool = GatewayScript(
            (20, .says("I look. ")), (100, .callsTool(id: "t1", command: "df")),
            (300, .toolReturns(id: "t1", output: "61%")), (100, .says("It is full.")), (50, .finishes))
        let backup = GatewayScript((20, .says("The backup ")), (200, .says("is done.")), (50, .finishes))
        let world = LiveWorld(
            .e4, scripts: ["Hello?": hello, "And then?": hello, "Disk?": tool, "Back up.": backup])
        world.seals = true
        world.sealing.encryption = encryption
        world.sealing.pairedAt = world.time.wallMilliseconds
        world.mirror = mirror
        return world
    }

    /// Text of the agent that the relay could read.
    static func inTheOpen(_ world: LiveWorld) -> [String] {
        world.relay.sessions.flatMap { session in
            session.messages.filter { $0.role == .agent }.flatMap { [$0.text, $0.streamed] }
                + session.tasks.flatMap { [$0.label, $0.arguments, $0.result, $0.error].compactMap { $0 } }
        }.filter { !$0.allSatisfy(\.isWhitespace) }
    }

    static func stored(_ world: LiveWorld) -> StoredKeyRing { world.sealing.files.stored }
}
