import BridgeCore
import BridgeService
import RelayRules
import Testing
import Vocabulary
import Worlds

@Suite("A journal that cannot be written while the bridge runs")
struct FullDiskTests {
    private static let answer = GatewayScript((20, .says("One. ")), (200, .says("Two.")), (100, .finishes))

    private static let notSent = BridgeRunner.notSentSentence(JournalFailure(.full, "the disk is full"))

    private static func loose(_ world: LiveWorld) -> [[String]] {
        world.relay.sessions.map { session in
            session.messages.filter { $0.role == .agent && $0.interaction == nil }.map(\.text)
        }
    }

    private static func bubbles(_ world: LiveWorld) -> [PhoneMessage] {
        world.relay.sessions.flatMap(\.messages).filter { $0.role == .agent && $0.interaction != nil }
    }

    private static func troubles(_ world: LiveWorld) -> [String] {
        world.events.compactMap { event in
            switch event {
            case .journalFailed: "failed"
            case .journalWorks: "works"
            default: nil
            }
        }
    }

    @Test("no message is taken, each chat is told once why, and all are answered when there is room")
    func messages() {
        let world = LiveWorld(
            .e4, scripts: ["First?": Self.answer, "Second?": Self.answer, "Third?": Self.answer])
        world.start()
        world.time.after(.milliseconds(100)) { world.journal.isFull = true }
        world.writes("First?", chat: 0, after: .milliseconds(200))
        world.writes("Third?", chat: 1, after: .milliseconds(300))
        world.writes("Second?", chat: 0, after: .seconds(1))
        world.time.after(.seconds(25)) {
            #expect(
                world.relay.pendingUpdates().map(\.type) == ["session.message", "session.message", "session.message"])
            #expect(Self.loose(world).map(\.count) == [1, 1])
            #expect(Self.loose(world).joined().allSatisfy { $0.contains("must be room") })
            #expect(Self.bubbles(world).isEmpty)
            #expect(world.gateway.begun.isEmpty)
            #expect(Self.troubles(world) == ["failed"])
            world.journal.isFull = false
        }
        world.run(seconds: 120)
        #expect(world.time.now > .zero + .seconds(25))
        #expect(world.relay.breaches.isEmpty, "\(world.relay.breaches.map(\.sentence))")
        #expect(Self.bubbles(world).map(\.text) == ["One. Two.", "One. Two.", "One. Two."])
        #expect(Self.bubbles(world).allSatisfy { $0.isFinal })
        #expect(world.gateway.begun.values.allSatisfy { $0 == 1 })
        #expect(Self.loose(world).map(\.count) == [1, 1])
        #expect(world.relay.pendingUpdates().isEmpty)
        #expect(Self.troubles(world) == ["failed", "works"])
    }

    /// One conversation, with a full disk for five seconds from this job of the journal on.
    struct Spot: CustomTestStringConvertible {
        var talk: Kill
        var job: Int

        var testDescription: String { "\(talk.era) \(talk.talk) from job \(job)" }

        static let all: [Spot] = [GatewayEra.e1, .e4].flatMap { era in
            Kill.Talk.allCases.flatMap { talk in
                let kill = Kill(era: era, talk: talk)
                return (1...max(1, kill.play().journal.jobs)).map { Spot(talk: kill, job: $0) }
            }
        }
    }

    @Test("from any moment on, every bubble still ends once, with its text or with why not", arguments: Spot.all)
    func anywhere(_ spot: Spot) {
        let world = spot.talk.play { $0.journal.fullFrom = spot.job }
        #expect(world.journal.jobs >= spot.job)
        #expect(world.relay.breaches.isEmpty, "\(world.relay.breaches.map(\.sentence))")
        for message in world.sent {
            let bubbles = Self.bubbles(world).filter { $0.interaction == message.interaction }
            #expect(bubbles.count == 1)
            #expect(bubbles.first?.isFinal == true)
            let text = bubbles.first?.text
            let begun = world.gateway.begun[message.text, default: 0]
            if text == Self.notSent {
                #expect(begun == 0)
            } else {
                #expect(spot.talk.isRight(text, for: message.text, in: world), "ended with \(text ?? "nothing")")
                #expect(begun == 1)
            }
        }
        for session in world.relay.sessions {
            #expect(session.tasks.allSatisfy { $0.status != nil }, "a task was never finished")
        }
        #expect(world.openTurns == 0)
        // Some jobs are notes without a completion, and some worlds end before the disk has room again.
        #expect(["failed", "works"].starts(with: Self.troubles(world)))
    }

    @Test("a message that was taken and could not be handed over ends with what to do")
    func notHandedOver() throws {
        let spots = Spot.all.filter { $0.talk.era == .e4 && $0.talk.talk == .text }
        let worlds = spots.map { spot in spot.talk.play { $0.journal.fullFrom = spot.job } }
        #expect(worlds.contains { Self.bubbles($0).map(\.text) == [Self.notSent] })
    }

    @Test(
        "a key that is kept with another body costs neither the bubble nor its text, and is not tried for ever",
        arguments: ["open", "d1-1", "end"])
    func conflict(part: String) throws {
        let world = LiveWorld(.e4, scripts: ["First?": Self.answer])
        world.start()
        world.writes("First?", after: .milliseconds(200))
        world.time.after(.milliseconds(200)) {
            world.journal.takenKey = world.sent.first.map { IdempotencyKey("\($0.interaction)-\(part)") }
        }
        world.run(seconds: 60)
        #expect(world.time.now < .zero + .seconds(20))
        #expect(world.relay.breaches.isEmpty, "\(world.relay.breaches.map(\.sentence))")
        #expect(Self.bubbles(world).map(\.text) == ["One. Two."])
        #expect(Self.bubbles(world).allSatisfy { $0.isFinal })
        let isNoted = world.events.contains {
            if case .deliveryNote(_, let note, _, _) = $0 { note.code == .idempotencyConflict } else { false }
        }
        #expect(isNoted)
        #expect(Self.troubles(world).isEmpty, "it is about one call")
    }
}
