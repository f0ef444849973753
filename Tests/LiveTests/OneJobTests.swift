import RelayRules
import Testing
import Vocabulary
import Worlds

@testable import BridgeCore
@testable import BridgeService

@Suite("What the journal writes as one job")
struct OneJobTests {
    private static let answer = GatewayScript((20, .says("One. ")), (200, .says("Two.")), (100, .finishes))

    /// Two jobs could fail apart: the message would go out without its record, and a restart would hand it over
    /// again.
    @Test("that a message was handed over, and the record that says so")
    func handedOver() throws {
        let world = LiveWorld(.e4, scripts: ["First?": Self.answer, "Second?": Self.answer])
        defer { world.end() }
        nonisolated(unsafe) var jobs: [[JournalEntry]] = []
        world.journal.wrote = { jobs.append($0) }
        world.start()
        world.writes("First?", after: .milliseconds(200))
        world.writes("Second?", after: .milliseconds(260))
        world.run(seconds: 60)
        let handedOver = jobs.filter { job in
            job.contains { if case .event(_, let words, _) = $0 { words.hasPrefix("handed over") } else { false } }
        }
        #expect(handedOver.count == 2)
        for job in handedOver {
            let records = try job.compactMap { entry -> TurnRecord? in
                guard case .turn(_, let bytes, _) = entry else { return nil }
                return try RecordEnvelope.turn(from: bytes, now: .zero, wall: 0)
            }
            #expect(records.map(\.turn.phase) == [.handedOver])
        }
    }

    /// The disk is full for one job, the one that stores what a Stop changed. The next job is empty, and its success
    /// proves nothing.
    @Test("a stop is acknowledged when its record is written, and not before", arguments: 1...40)
    func acknowledged(job: Int) {
        let script = GatewayScript((20, .says("One. ")), (20_000, .says("Two.")), (100, .finishes))
        let world = LiveWorld(.e4, scripts: ["First?": script])
        defer { world.end() }
        world.start()
        world.writes("First?", after: .milliseconds(200))
        world.time.after(.seconds(2)) { world.journal.fullFrom = world.journal.jobs + job }
        world.stops(0, after: .milliseconds(2_000))
        var wasAcknowledged = false
        world.afterStep = { world in
            guard !wasAcknowledged, world.time.now > .zero + .milliseconds(2_001) else { return }
            guard !world.relay.pendingUpdates().contains(where: { $0.type == "session.cancelled" }) else { return }
            wasAcknowledged = true
            world.restarts(down: .seconds(6))
        }
        world.run(seconds: 60)
        let bubbles = world.relay.sessions.flatMap(\.messages).filter { $0.role == .agent && $0.interaction != nil }
        #expect(bubbles.map(\.isFinal) == [true])
        #expect(bubbles.first?.text.contains("Two.") == false, "the stop was lost: \(bubbles.map(\.text))")
        #expect(world.openTurns == 0)
    }
}
