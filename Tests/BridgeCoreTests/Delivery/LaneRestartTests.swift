import BridgeCore
import Testing
import Vocabulary
import Worlds

@Suite("A lane after a restart")
struct LaneRestartTests {
    private func record(_ unanswered: [LaneRecord.UnansweredCall], message: MessageID? = LaneConversation.bubble)
        -> LaneRecord
    {
        LaneRecord(
            address: LaneConversation.address, message: message, epoch: 2, deltas: 3, streamed: 10,
            unanswered: unanswered)
    }

    @Test("an open without an answer goes again as it was stored, and the rest waits for it")
    func open() throws {
        let stored = LaneRecord.UnansweredCall(name: .open, key: IdempotencyKey("int_1-open"))
        var lane = LaneConversation(restoring: record([stored], message: nil))
        lane.post(.text("x"))
        let open = try lane.nextCall()
        #expect(open.payload == .stored(stored.key))
        #expect(open.durability == nil)
        #expect(lane.step() == .idle(until: nil))
        lane.deliver(open)
        #expect(lane.call()?.key == "int_1-d2-1")
    }

    @Test("the last delta goes again as it was stored; then the new epoch begins where it ended")
    func delta() throws {
        let stored = LaneRecord.UnansweredCall(name: .text(endOffset: 14), key: IdempotencyKey("int_1-d1-4"))
        var lane = LaneConversation(restoring: record([stored]))
        lane.post(.text("more"))
        let delta = try lane.nextCall()
        #expect(delta.payload == .stored(stored.key))
        #expect(lane.refuse(delta, 409, .messageFinalized) == [.delivered(.text(endOffset: 14), message: nil)])
        let next = try lane.nextCall()
        #expect(next.key == "int_1-d2-1")
        #expect(next.name == .text(endOffset: 18))
    }

    @Test("an end that may have landed is done when the bubble has its end")
    func end() throws {
        let stored = LaneRecord.UnansweredCall(name: .end, key: IdempotencyKey("int_1-end"))
        var lane = LaneConversation(restoring: record([stored]))
        lane.post(.text("too late"))
        let end = try lane.nextCall()
        #expect(lane.refuse(end, 409, .messageFinalized) == [.delivered(.end, message: nil)])
        #expect(lane.call() == nil)
    }

    @Test("an open whose stored key is taken can be made anew")
    func openConflict() throws {
        let stored = LaneRecord.UnansweredCall(name: .open, key: IdempotencyKey("int_1-open"))
        var lane = LaneConversation(restoring: record([stored], message: nil))
        lane.refuse(try lane.nextCall(), 409, .idempotencyConflict)
        #expect(lane.call()?.key == "int_1-open-2")
    }

    @Test("what a lane would be restored from says where it stood")
    func tellsItsRecord() throws {
        var lane = LaneConversation.opened()
        lane.post(.text("12345"))
        _ = lane.call()
        lane.post(.text("678"))
        var record = LaneRecord(
            address: LaneConversation.address, message: LaneConversation.bubble, epoch: 2, deltas: 1, streamed: 5,
            unanswered: [
                LaneRecord.UnansweredCall(
                    name: .text(endOffset: 5), key: IdempotencyKey("int_1-d1-1"), triedAt: lane.now)
            ])
        let told = try #require(lane.delivery.record(of: LaneConversation.turn))
        #expect(told.waitingText == "678")
        record.waiting = told.waiting
        #expect(told == record)
    }

    /// Random runs with every misfortune and a restart: each post arrives once and in order.
    @Test("everything arrives once and in order, through faults and restarts", arguments: UInt64(1)...200)
    func random(seed: UInt64) {
        var world = DeliveryWorld(seed: seed)
        let names = ["int_a", "int_b", "int_c"]
        var texts: [String: String] = [:]
        world.relay.fault = { attempt, random in
            guard attempt.attempt < 5, random.happens(0.25) else { return nil }
            let told = RelayRefusal(status: 429, code: .rateLimited, retryAfter: .milliseconds(300))
            let bucket = attempt.name.kind.bucket
            return random.pick([
                (RelayAnswer(.unknown(reason: "lost")), true), (RelayAnswer(.unknown(reason: "reset")), false),
                (RelayAnswer(.refused(told), rate: RateReading(bucket: bucket, remaining: 0)), false),
                (RelayAnswer(.refused(told)), false),
                (RelayAnswer(.refused(RelayRefusal(status: 503, code: .temporarilyUnavailable))), false),
                (RelayAnswer(.refused(RelayRefusal(status: 500, code: .internalError))), true),
            ])
        }
        for name in names {
            var at = Int64.random(in: 0...500, using: &world.random)
            world.at(.milliseconds(at)) { $0.open(name) }
            var open: [String] = []
            for number in 0..<Int.random(in: 1...40, using: &world.random) {
                at += Int64.random(in: 0...300, using: &world.random)
                let task = "\(name)-\(number)"
                var post = Post.text("<\(number)>")
                switch Int.random(in: 0...9, using: &world.random) {
                case 0:
                    post = .start(task)
                    open.append(task)
                case 1 where !open.isEmpty: post = .finish(open.removeLast())
                case 2 where !open.isEmpty: post = .progress(open[0], number)
                default: texts[name, default: ""] += "<\(number)>"
                }
                world.at(.milliseconds(at)) { [post] in $0.post(post, on: name) }
            }
            for task in open { world.at(.milliseconds(at)) { $0.post(.finish(task), on: name) } }
            world.at(.milliseconds(at)) { $0.end(name) }
        }
        let restart = Int64.random(in: 0...6000, using: &world.random)
        world.at(.milliseconds(restart)) { $0.restart() }
        world.run()
        #expect(world.relay.breaches == [], "seed \(seed)")
        for name in names {
            let bubble = MessageID("msg-\(name)-open")
            let streamed = world.relay.streamed[bubble] ?? ""
            #expect(world.relay.ended[bubble] == "end of \(name)", "seed \(seed)")
            #expect((texts[name] ?? "").hasPrefix(streamed), "seed \(seed)")
        }
        #expect(world.delivery.isIdle, "seed \(seed)")
    }
}
