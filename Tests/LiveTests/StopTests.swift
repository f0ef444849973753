import BridgeCore
import RelayRules
import Testing
import Vocabulary
import Worlds

@Suite("Stop means stop")
struct StopTests {
    private static let long = GatewayScript((20, .says("One. ")), (60_000, .says("Two.")), (100, .finishes))

    /// A stop `milliseconds` after the message, on a disk whose sync takes half a second.
    struct SlowDisk: CustomTestStringConvertible {
        var era: GatewayEra
        var milliseconds: Int64
        var wholeChat: Bool

        var testDescription: String { "\(era), \(milliseconds) ms\(wholeChat ? ", whole chat" : "")" }

        static let all: [SlowDisk] = GatewayEra.allCases.flatMap { era in
            stride(from: Int64(0), through: 2_600, by: 50).flatMap { milliseconds in
                [false, true].map { SlowDisk(era: era, milliseconds: milliseconds, wholeChat: $0) }
            }
        }

        func play(killAfter: Int? = nil) -> LiveWorld {
            let world = LiveWorld(era, scripts: ["Question?": StopTests.long])
            world.start()
            world.time.after(.milliseconds(400)) { world.disk.syncTime = .milliseconds(500) }
            world.writes("Question?", after: .milliseconds(500))
            world.stops(0, wholeChat: wholeChat, after: .milliseconds(500 + milliseconds))
            world.run(seconds: 40, killAfter: killAfter, atLeast: .seconds(20))
            return world
        }
    }

    private static func expectStopped(_ world: LiveWorld) {
        let calls = world.gateway.calls.filter { $0 == "chat.send" || $0 == "chat.abort" }
        #expect(calls.first != "chat.abort" || !calls.contains("chat.send"), "\(calls)")
        #expect(!world.gateway.isActive("sophon-\(world.sent[0].interaction)"), "\(calls)")
        #expect(world.gateway.begun["Question?", default: 0] <= 1)
        #expect(world.relay.breaches.isEmpty, "\(world.relay.breaches.map(\.sentence))")
        #expect(world.gateway.breaches == [])
        #expect(world.openTurns == 0)
        #expect(world.relay.pendingUpdates().isEmpty)
        #expect(!world.journal.owes, "something is owed still")
        let bubbles = world.relay.sessions.flatMap(\.messages).filter { $0.role == .agent && $0.interaction != nil }
        #expect(bubbles.count == 1)
        #expect(bubbles.allSatisfy { $0.isFinal && !$0.text.contains("Two.") })
    }

    @Test("whatever the disk does, the agent hears the message before the stop or never", arguments: SlowDisk.all)
    func slowDisk(_ case: SlowDisk) { Self.expectStopped(`case`.play()) }

    struct Killed: CustomTestStringConvertible {
        var disk: SlowDisk
        var steps: Int

        var testDescription: String { "\(disk), killed after \(steps) steps" }

        static let all: [Killed] = [GatewayEra.e1, .e4].flatMap { era in
            [Int64(50), 700, 1_200].flatMap { milliseconds in
                [false, true].flatMap { wholeChat in
                    let disk = SlowDisk(era: era, milliseconds: milliseconds, wholeChat: wholeChat)
                    let steps = disk.play().time.steps
                    return stride(from: 1, through: min(steps, 110), by: 2).map { Killed(disk: disk, steps: $0) }
                }
            }
        }
    }

    @Test("also when the process is killed at any step", arguments: Killed.all)
    func killed(_ case: Killed) {
        let world = `case`.disk.play(killAfter: `case`.steps)
        // A link that was cut makes the bridge send the message again under its key. All that counts is that the run
        // is stopped.
        #expect(!world.gateway.isActive("sophon-\(world.sent[0].interaction)"))
        #expect(world.gateway.begun["Question?", default: 0] <= 1)
        #expect(world.relay.breaches.isEmpty, "\(world.relay.breaches.map(\.sentence))")
        #expect(world.openTurns == 0)
        #expect(world.relay.pendingUpdates().isEmpty)
        #expect(!world.journal.owes, "something is owed still")
    }

    /// The person allows at about 1.4 s and stops at 2 s. The gateway is deaf from 1.2 s to 9 s.
    struct Allowed: CustomTestStringConvertible {
        var era: GatewayEra
        var steps: Int?

        var testDescription: String { "\(era) killed after \(steps.map(String.init) ?? "no") steps" }

        static let all: [Allowed] = GatewayEra.allCases.flatMap { era in
            let whole = Allowed(era: era).play().time.steps
            return [Allowed(era: era)] + (1...min(whole, 120)).map { Allowed(era: era, steps: $0) }
        }

        func play() -> LiveWorld {
            let script = GatewayScript(
                (20, .says("May I? ")), (60, .callsTool(id: "t1", command: "reboot")),
                (10, .asksApproval(id: "a1", command: "reboot")), (100, .toolReturns(id: "t1", output: "ok")),
                (100, .says("Done.")), (50, .finishes))
            let world = LiveWorld(era, scripts: ["Question?": script], seed: UInt64(steps ?? 0))
            world.start()
            world.writes("Question?", after: .milliseconds(500))
            world.time.after(.milliseconds(1_200)) { world.gateway.isDeaf = true }
            world.stops(0, after: .milliseconds(2_000))
            world.time.after(.milliseconds(9_000)) {
                world.gateway.isDeaf = false
                world.sides[0].cutGateway()
            }
            world.run(seconds: 80, killAfter: steps, atLeast: .seconds(60))
            return world
        }
    }

    @Test("after a stop no yes reaches the agent, at whatever step the process dies", arguments: Allowed.all)
    func allowed(_ case: Allowed) {
        let world = `case`.play()
        #expect(world.lateAllows == 0)
        #expect(!world.gateway.isActive("sophon-\(world.sent[0].interaction)"))
        #expect(world.openTurns == 0)
        #expect(world.relay.breaches.isEmpty, "\(world.relay.breaches.map(\.sentence))")
        #expect(!world.journal.owes, "something is owed still")
        if `case`.steps == nil { #expect(world.gateway.decisions == ["deny"]) }
    }

    @Test("a yes whose record waits for the disk never leaves after a stop", arguments: GatewayEra.allCases)
    func yesBehindTheDisk(_ era: GatewayEra) {
        let script = GatewayScript(
            (20, .says("May I? ")), (60, .asksApproval(id: "a1", command: "reboot")), (100, .says("Done.")),
            (50, .finishes))
        let world = LiveWorld(era, scripts: ["Question?": script])
        world.decisionTime = .seconds(2)
        world.start()
        world.writes("Question?", after: .milliseconds(500))
        world.time.after(.seconds(2)) { world.disk.syncTime = .milliseconds(1_500) }
        // The disk is busy with this message when the person decides.
        world.writes("Other?", chat: 1, after: .milliseconds(2_300))
        world.stops(0, after: .milliseconds(3_000))
        world.run(seconds: 60, atLeast: .seconds(30))
        #expect(world.gateway.decisions == ["deny"])
        #expect(!world.gateway.isActive("sophon-\(world.sent[0].interaction)"))
        #expect(!world.journal.owes)
    }

    @Test(
        "a stop that names its interaction alone stops it, also while its message is being written down",
        arguments: [20, 600])
    func interactionAlone(milliseconds: Int64) {
        let world = LiveWorld(.e4, scripts: ["Question?": Self.long])
        world.start()
        world.writes("Question?", after: .milliseconds(500))
        world.time.after(.milliseconds(500 + milliseconds)) {
            let interaction = world.sent[0].interaction
            world.sides[0].pushes(
                "session.cancelled", #"{"interaction_id":"\#(interaction)","reason":"user_aborted"}"#)
        }
        world.run(seconds: 40, atLeast: .seconds(20))
        Self.expectStopped(world)
    }

    // MARK: Two messages under one interaction

    private static func twice(_ world: LiveWorld, killAfter: Int? = nil) {
        world.start()
        world.writes("First?", after: .milliseconds(200))
        world.writesAgain("Second?", under: 0, after: .milliseconds(260))
        world.run(seconds: 60, killAfter: killAfter, atLeast: .seconds(20))
    }

    private static let scripts = [
        "First?": GatewayScript((20, .says("One. ")), (900, .says("Two.")), (100, .finishes)),
        "Second?": GatewayScript((20, .says("Three.")), (30, .finishes)),
    ]

    private static func expectBoth(_ world: LiveWorld) {
        let said = world.relay.sessions.flatMap(\.messages).filter { $0.role == .agent }
        #expect(said.filter { $0.interaction != nil }.map(\.text) == ["One. Two."])
        #expect(said.filter { $0.interaction == nil }.map(\.text) == ["Three."])
        #expect(world.gateway.begun == ["First?": 1, "Second?": 1])
        #expect(world.relay.breaches.isEmpty, "\(world.relay.breaches.map(\.sentence))")
        #expect(world.relay.pendingUpdates().isEmpty)
        #expect(world.openTurns == 0)
    }

    @Test("a second message under an open interaction has an answer of its own", arguments: GatewayEra.allCases)
    func second(_ era: GatewayEra) {
        let world = LiveWorld(era, scripts: Self.scripts)
        Self.twice(world)
        Self.expectBoth(world)
    }

    @Test("also when the process is killed at any step", arguments: 1...160)
    func secondKilled(_ steps: Int) {
        let world = LiveWorld(.e4, scripts: Self.scripts, seed: UInt64(steps))
        Self.twice(world, killAfter: steps)
        Self.expectBoth(world)
    }

    /// The person stops the first message, and writes the second two seconds later.
    private static func stoppedBetween(killAfter: Int? = nil) -> LiveWorld {
        let second = GatewayScript((20, .says("Three. ")), (900, .says("Four.")), (30, .finishes))
        let world = LiveWorld(
            .e4, scripts: ["First?": long, "Second?": second], seed: UInt64(killAfter ?? 0))
        world.start()
        world.writes("First?", after: .milliseconds(200))
        world.stops(0, after: .milliseconds(400))
        world.writesAgain("Second?", under: 0, after: .milliseconds(2_400))
        world.run(seconds: 60, killAfter: killAfter, atLeast: .seconds(20))
        return world
    }

    private static let positions = Array(stride(from: 1, through: stoppedBetween().time.steps, by: 3))

    @Test(
        "a stop of the interaction stops no message that was written after it, also in the next process",
        arguments: StopTests.positions)
    func notTheLater(_ steps: Int) {
        let world = Self.stoppedBetween(killAfter: steps)
        let said = world.relay.sessions.flatMap(\.messages).filter { $0.role == .agent && $0.interaction == nil }
        #expect(said.map(\.text) == ["Three. Four."])
        #expect(world.openTurns == 0)
    }

    @Test("a stop of the interaction, or of the chat, stops both", arguments: [true, false])
    func stopsBoth(_ wholeChat: Bool) {
        let world = LiveWorld(.e3, scripts: Self.scripts)
        world.stops(0, wholeChat: wholeChat, after: .milliseconds(600))
        Self.twice(world)
        #expect(world.gateway.begun == ["First?": 1])
        #expect(!world.gateway.isActive("sophon-\(world.sent[0].interaction)"))
        #expect(world.openTurns == 0)
    }
}
