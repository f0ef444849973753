import BridgeCore
import RelayRules
import Testing
import Vocabulary
import Worlds

/// The bridge dies, a test spoils its records, and the bridge starts again.
@Suite("A journal with records that cannot be read")
struct UnreadableTests {
    private static let sentence = "could not read what it had kept"

    struct Spot: CustomTestStringConvertible {
        var kill: Kill
        var spoilsOpenings: Bool

        var testDescription: String { "\(kill)\(spoilsOpenings ? ", openings too" : "")" }

        /// Every third step of every conversation with the newest gateway.
        static let all: [Spot] = Kill.Talk.allCases.flatMap { talk in
            let steps = Kill(era: .e4, talk: talk).play().time.steps
            return stride(from: 1, through: max(1, steps), by: 3).map {
                Spot(kill: Kill(era: .e4, talk: talk, steps: $0), spoilsOpenings: $0 % 2 == 0)
            }
        }
    }

    @Test("every bubble ends once, with what was streamed and a sentence, or as it would have", arguments: Spot.all)
    func anywhere(_ spot: Spot) {
        let world = spot.kill.play { world in
            var wasSpoiled = false
            world.afterStep = { world in
                guard !world.isRunning, !wasSpoiled else { return }
                wasSpoiled = true
                world.journal.spoil(openings: spot.spoilsOpenings)
            }
        }
        defer { world.end() }
        #expect(world.relay.breaches.isEmpty, "\(world.relay.breaches.map(\.sentence))")
        for message in world.sent {
            let bubbles = world.relay.sessions.flatMap(\.messages).filter {
                $0.role == .agent && $0.interaction == message.interaction
            }
            #expect(bubbles.count == 1)
            #expect(bubbles.first?.isFinal == true)
            let text = bubbles.first?.text ?? ""
            let isEnded = text.hasSuffix("Please ask again.") && text.contains(Self.sentence)
            #expect(isEnded || spot.kill.isRight(text, for: message.text, in: world), "ended with \(text)")
            #expect(world.gateway.begun[message.text, default: 0] <= 1)
        }
        for session in world.relay.sessions {
            #expect(session.tasks.allSatisfy { $0.status != nil }, "a task was never finished")
        }
        #expect(world.openTurns == 0)
        #expect(world.journal.openTurns.isEmpty, "the record is still there")
    }

    @Test("the sentence comes after what was streamed")
    func streamed() {
        let steps = Kill(era: .e4, talk: .text).play().time.steps
        let texts = (1...steps).map { step in
            Kill(era: .e4, talk: .text, steps: step).play { world in
                world.afterStep = { if !$0.isRunning { $0.journal.spoil(openings: false) } }
            }
        }.flatMap { world in world.relay.sessions.flatMap(\.messages).filter { $0.role == .agent }.map(\.text) }
        #expect(texts.contains { $0.hasPrefix("One. Two.\n\nThe bridge could not read") })
    }
}
