import BridgeCore
import Testing
import Vocabulary
import Worlds

@Suite("The delivery")
struct DeliveryTests {
    @Test("a 429 puts its bucket to sleep as told, and no other")
    func sleepsBucket() throws {
        var lane = LaneConversation.opened()
        lane.post(.text("x"))
        let delta = try lane.nextCall()
        lane.refuse(delta, 429, .rateLimited, after: .seconds(3))
        let refused = lane.now
        lane.post(.card("a"))
        let level = lane.delivery.level(of: .msg, at: lane.now)
        #expect(level >= 1)
        let again = try lane.nextCall()
        #expect(again.name == delta.name)
        #expect(lane.now - refused >= .seconds(3))
        #expect(lane.delivery.tally.rateLimited == 1)
    }

    @Test("a 429 that names no bucket puts all to sleep")
    func sleepsAll() throws {
        var lane = LaneConversation.opened()
        lane.delivery.openLane(
            LaneAddress(turn: TurnID("int_2"), session: SessionID("ses_2"), interaction: nil),
            windowEnds: lane.now + .seconds(1800))
        lane.post(.text("x"))
        let delta = try lane.nextCall()
        let refusal = RelayRefusal(status: 429, code: .rateLimited, retryAfter: .seconds(3))
        _ = lane.delivery.answered(delta.call, with: RelayAnswer(.refused(refusal)), at: lane.now, using: &lane.random)
        let refused = lane.now
        lane.delivery.post(.open, on: TurnID("int_2"), at: lane.now)
        _ = lane.call()
        #expect(lane.now - refused >= .seconds(3))
    }

    @Test("when the relay refuses the installation nothing is sent any more")
    func stops() throws {
        var lane = LaneConversation()
        lane.post(.open)
        let open = try lane.nextCall()
        let refusal = RelayRefusal(status: 401, code: .invalidToken)
        let reports = lane.delivery.answered(
            open.call, with: RelayAnswer(.refused(refusal)), at: lane.now, using: &lane.random)
        #expect(reports == [.connectionStopped(.invalidToken)])
        lane.post(.text("x"))
        #expect(lane.step() == .idle(until: nil))
        #expect(lane.delivery.stopped == .invalidToken)
    }

    @Test("a refusal of the token before says nothing of the one now", arguments: [false, true])
    func lateRefusal(isAbandoned: Bool) throws {
        var lane = LaneConversation()
        lane.post(.open)
        let open = try lane.nextCall()
        if isAbandoned { lane.delivery.abandon(LaneConversation.turn) }
        lane.delivery.resume(at: lane.now)
        let refusal = RelayRefusal(status: 401, code: .invalidToken)
        let reports = lane.delivery.answered(
            open.call, with: RelayAnswer(.refused(refusal)), at: lane.now, using: &lane.random)
        #expect(!reports.contains(.connectionStopped(.invalidToken)))
        #expect(lane.delivery.stopped == nil)
        if isAbandoned {
            #expect(lane.delivery.isIdle)
        } else {
            #expect(try lane.nextCall().call == open.call)
        }
    }

    @Test("with another token the refused call goes again, and all buckets begin anew")
    func resumes() throws {
        var lane = LaneConversation()
        lane.post(.open)
        let open = try lane.nextCall()
        let refusal = RelayRefusal(status: 401, code: .invalidToken)
        _ = lane.delivery.answered(
            open.call, with: RelayAnswer(.refused(refusal)), at: lane.now, using: &lane.random)
        let limited = RelayRefusal(status: 429, code: .rateLimited, retryAfter: .seconds(600))
        lane.delivery.openLane(
            LaneAddress(turn: TurnID("int_2"), session: SessionID("ses_1"), interaction: InteractionID("int_2")),
            windowEnds: .at(1_800))
        lane.delivery.resume(at: lane.now)
        let again = try lane.nextCall()
        #expect(again.call == open.call)
        #expect(again.attempt == 2)
        // A bucket that slept for the old token is awake for the new one.
        _ = lane.delivery.answered(
            again.call, with: RelayAnswer(.refused(limited)), at: lane.now, using: &lane.random)
        lane.delivery.post(.open, on: TurnID("int_2"), at: lane.now)
        guard case .idle = lane.step() else {
            Issue.record("the bucket does not sleep")
            return
        }
        lane.delivery.resume(at: lane.now)
        guard case .attempt(let other) = lane.step() else {
            Issue.record("the bucket sleeps on")
            return
        }
        #expect(other.turn == TurnID("int_2"))
    }

    @Test("a call that the old token's last chance cannot save is a dead letter, and stops nothing")
    func leaves() throws {
        var lane = LaneConversation.opened()
        lane.post(.ending("Over."))
        let end = try lane.nextCall()
        let refusal = RelayRefusal(status: 401, code: .invalidToken)
        let refused = RelayAnswer(.refused(refusal))
        _ = lane.delivery.answered(end.call, with: refused, at: lane.now, using: &lane.random)
        #expect(lane.delivery.stopped == .invalidToken)
        lane.delivery.resume(leaving: true, at: lane.now)
        let again = try lane.nextCall()
        let reports = lane.delivery.answered(again.call, with: refused, at: lane.now, using: &lane.random)
        #expect(reports == [.post(LaneConversation.turn, .windowClosed)])
        #expect(lane.delivery.stopped == nil)
    }

    @Test("a dropped call is noted with what the relay found wrong")
    func notes() throws {
        var lane = LaneConversation.opened()
        lane.post(.start("t"))
        let task = try lane.nextCall()
        let refusal = RelayRefusal(status: 400, code: .invalidRequest, fields: ["args"])
        let answer = RelayAnswer(.refused(refusal), request: RequestID("req_1"))
        let reports = lane.delivery.answered(task.call, with: answer, at: lane.now, using: &lane.random)
        let note = DeliveryNote(code: .invalidRequest, fields: ["args"], request: RequestID("req_1"))
        #expect(
            reports == [
                .post(LaneConversation.turn, .dropped(task.name, .invalidRequest)),
                .note(note, LaneConversation.turn, task.name),
            ])
        lane.post(.text("the lane goes on"))
        #expect(lane.call()?.delta == "the lane goes on")
    }

    @Test("a call takes the rank of the most urgent call behind it in its own lane")
    func ranks() throws {
        var lane = LaneConversation.opened()
        let other = TurnID("int_2")
        lane.delivery.openLane(
            LaneAddress(turn: other, session: SessionID("ses_2"), interaction: nil),
            windowEnds: lane.now + .seconds(1800))
        lane.delivery.post(.open, on: other, at: lane.now)
        lane.deliver()
        // A first text goes before others, and both lanes have sent theirs.
        lane.post(.text("a"))
        lane.deliver()
        lane.delivery.post(.text("b"), on: other, at: lane.now)
        lane.deliver()
        lane.wait(.seconds(1))
        lane.delivery.post(.text("waits longer"), on: other, at: lane.now)
        lane.wait(.milliseconds(1))
        lane.post(.text("before the card"))
        lane.post(.card("a"))
        #expect(lane.call()?.delta == "before the card")
        #expect(lane.call()?.delta == "waits longer")
    }

    @Test(
        "a clock that jumps back or far forward holds nothing up and sends nothing twice",
        arguments: [
            -7200, -1, 7200, 86_000,
        ])
    func jumps(seconds: Int64) throws {
        var lane = LaneConversation.opened()
        lane.post(.text("one"))
        lane.lose(try lane.nextCall())
        lane.wait(.seconds(seconds))
        let jumped = lane.now
        let again = try lane.nextCall()
        #expect(again.delta == "one")
        #expect(lane.now - jumped <= .milliseconds(200))
        lane.deliver(again)
        lane.post(.text("two"))
        #expect(lane.deliver()?.delta == "two")
        #expect(lane.delivery.level(of: .delta, at: lane.now) <= 200)
    }

    @Test("posts for a turn without a lane are counted, not carried")
    func stray() {
        var delivery = Delivery()
        delivery.post(.open, on: TurnID("nobody"), at: .zero)
        #expect(delivery.tally.notTaken == 1)
        #expect(delivery.next(at: .zero) == .idle(until: nil))
    }

    @Test("posts that wait are counted, with a call that rests or is tried once more, and without one at its first try")
    func waiting() throws {
        var lane = LaneConversation.opened()
        #expect(lane.delivery.waitingPosts == (0, nil))
        let begun = lane.now
        lane.post(.card("a"))
        lane.post(.card("b"))
        #expect(lane.delivery.waitingPosts == (2, begun))
        let call = try lane.nextCall()
        #expect(call.since == begun)
        #expect(lane.delivery.waitingPosts == (1, begun))
        lane.refuse(call, 429, .rateLimited, after: .seconds(3))
        #expect(lane.delivery.waitingPosts == (2, begun))
        lane.now = begun + .seconds(4)
        #expect(try lane.nextCall().attempt == 2)
        #expect(lane.delivery.waitingPosts == (2, begun))
    }
}
