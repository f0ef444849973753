import BridgeCore
import RelayRules
import Testing
import Vocabulary
import Worlds

@Suite("Messages with files, and kills between any two steps")
struct GatewayFilesTests {
    private static let picture: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    private static let bytes: [String: [UInt8]] = [
        "a.png": picture + Array("first".utf8), "b.png": picture + Array("second file".utf8),
    ]

    /// Two files that arrive, and one that does not.
    private static func world(_ era: GatewayEra, _ urls: [String] = ["a.png", "gone.png", "b.png"]) -> LiveWorld {
        let script = GatewayScript((80, .says("I see.")), (200, .finishes))
        let world = LiveWorld(era, scripts: ["Look.": script])
        for (name, bytes) in bytes { world.attachments.served[name] = .init(bytes, takes: .milliseconds(150)) }
        world.attachments.served["gone.png"] = .init(nil, takes: .milliseconds(70))
        world.sides[0].writes("Look.", files: urls, after: .seconds(1))
        return world
    }

    /// Demands that nothing is doubled, partial or left over.
    private static func judge(_ world: LiveWorld, _ note: String, isKilled: Bool = true) {
        #expect(world.gateway.breaches == [], "\(note)")
        #expect(world.relay.breaches.isEmpty, "\(note)")
        #expect(world.attachments.onDisk == [], "\(note)")
        let ends = world.ends()
        #expect(ends.count == 1, "\(note)")
        let heard = world.gateway.attached
        #expect(heard.count <= 1 && world.gateway.begun.values.allSatisfy { $0 == 1 }, "\(note): \(heard)")
        guard let one = heard.first else {
            // The message was on its way when the process died, and the bubble says so.
            #expect(isKilled && world.gateway.begun.isEmpty, "\(note)")
            #expect(ends.first?.contains("send it again") == true, "\(note): \(ends)")
            return
        }
        #expect(
            one.files == [
                .init(name: "a.png", content: "iVBORw0KGgpmaXJzdA=="),
                .init(name: "b.png", content: "iVBORw0KGgpzZWNvbmQgZmlsZQ=="),
            ], "\(note)")
        #expect(ends.first == "I see.\n\ngone.png could not be fetched: the server answered 404.", "\(note)")
    }

    @Test("reach every gateway whole, and what is missing is said", arguments: GatewayEra.allCases)
    func whole(era: GatewayEra) {
        let world = Self.world(era)
        world.play()
        Self.judge(world, "\(era)", isKilled: false)
        #expect(world.attachments.asked == ["a.png": 1, "b.png": 1, "gone.png": 1])
    }

    @Test("are sent once, or explained, whenever the process is killed", arguments: GatewayEra.allCases)
    func killed(era: GatewayEra) {
        let quiet = Self.world(era)
        quiet.play()
        let steps = quiet.time.steps
        quiet.end()
        for step in stride(from: 1, to: steps, by: 3) {
            let world = Self.world(era)
            world.start()
            world.run(seconds: 300, killAfter: step, atLeast: .seconds(20))
            Self.judge(world, "\(era), killed after step \(step)")
            world.end()
        }
    }

    @Test("are sent once, or explained, over two kills and a lost link", arguments: UInt64(1)...40)
    func misfortunes(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let world = Self.world(GatewayEra.allCases[Int(seed % 4)])
        for _ in 0..<2 {
            world.time.after(.milliseconds(Int64.random(in: 900...2_600, using: &random))) {
                world.restarts(down: .milliseconds(300))
            }
        }
        world.time.after(.milliseconds(Int64.random(in: 900...3_000, using: &random))) { world.sides[0].cutGateway() }
        world.start()
        world.run(seconds: 600, atLeast: .seconds(30))
        Self.judge(world, "seed \(seed)")
        world.end()
    }

    @Test(
        "a stop at any moment leaves nothing on the disk, and no run",
        arguments: [1_010, 1_100, 1_250, 1_390, 1_420, 1_500])
    func stopped(milliseconds: Int64) {
        let world = Self.world(.e3)
        world.stops(0, after: .milliseconds(milliseconds))
        world.play(atLeast: .seconds(20))
        #expect(
            world.outcome() == .aborted
                || world.ends() == ["I see.\n\ngone.png could not be fetched: the server answered 404."])
        #expect(world.attachments.onDisk == [])
        #expect(!world.gateway.isActive(world.run().text))
        if milliseconds < 1_380 { #expect(world.gateway.begun.isEmpty) }
    }
}
