import BridgeCore
import Testing
import Vocabulary

@Suite("A lane whose posts are refused")
struct LaneRefusalTests {
    @Test("a refused end waits for the turn, and its replacement goes first under a key of its own")
    func replace() throws {
        var lane = LaneConversation.opened()
        lane.post(.ending())
        lane.post(.message(WholeMessage(part: .more(1), text: "more")))
        let end = try lane.nextCall()
        #expect(
            lane.refuse(end, 413, .payloadTooLarge) == [
                .refused(.end, PostRefusal(.payloadTooLarge, concernsText: true))
            ])
        #expect(lane.call() == nil)
        lane.delivery.replace(.ending("short", form: 2), on: LaneConversation.turn, at: lane.now)
        let shorter = try lane.nextCall()
        #expect(shorter.name == .end)
        #expect(shorter.key == "int_1-end-2")
        lane.refuse(shorter, 400, .invalidRequest)
        lane.delivery.skip(on: LaneConversation.turn)
        #expect(lane.call()?.key == "int_1-more-1")
    }

    @Test("a whole message that is replaced gets another key too")
    func replaceMessage() throws {
        var lane = LaneConversation.opened()
        lane.post(.late())
        lane.refuse(try lane.nextCall(), 413, .payloadTooLarge)
        lane.delivery.replace(.late("short"), on: LaneConversation.turn, at: lane.now)
        #expect(lane.call()?.key == "int_1-late-2")
    }

    @Test("an open whose key is taken goes once more under the next, then the turn is asked")
    func openConflict() throws {
        var lane = LaneConversation()
        lane.post(.open)
        #expect(lane.refuse(try lane.nextCall(), 409, .idempotencyConflict) == [])
        let again = try lane.nextCall()
        #expect(again.key == "int_1-open-2")
        #expect(again.durability == .synced)
        #expect(lane.refuse(again, 409, .idempotencyConflict) == [.refused(.open, PostRefusal(.idempotencyConflict))])
        #expect(lane.delivery.tally.conflicts == 2)
    }

    @Test("without a bubble what needs it goes away, and approvals and messages go on without the interaction")
    func lostBubble() throws {
        var lane = LaneConversation()
        for post in [.open, .text("x"), .start("t"), .card("a"), .finish("t"), .ending(), .late()] as [Post] {
            lane.post(post)
        }
        lane.refuse(try lane.nextCall(), 400, .invalidRequest)
        lane.delivery.skip(on: LaneConversation.turn)
        lane.post(.card("b"))
        let first = try lane.deliverNext()
        #expect(first.name == .approval(ApprovalID("a")))
        #expect(first.interaction == nil)
        #expect(lane.deliver()?.name == .message(.late))
        let second = try lane.deliverNext()
        #expect(second.name == .approval(ApprovalID("b")))
        #expect(second.interaction == nil)
        #expect(lane.delivery.isIdle)
        #expect(lane.delivery.tally.deadLetters == 0, "the turn knows, and says it all in messages")
    }

    @Test("what takes the place of a refused post is followed at once by what belongs to it")
    func replaceFollowed() throws {
        var lane = LaneConversation.opened()
        lane.post(.ending())
        lane.post(.message(WholeMessage(part: .more(1), text: "third")))
        lane.refuse(try lane.nextCall(), 413, .payloadTooLarge)
        lane.delivery.replace(
            .ending("first", form: 2), followedBy: [.message(WholeMessage(part: .more(2), text: "second"))],
            on: LaneConversation.turn, at: lane.now)
        let keys = [lane.deliver()?.key, lane.deliver()?.key, lane.deliver()?.key]
        #expect(keys == ["int_1-end-2", "int_1-more-2", "int_1-more-1"])
    }

    @Test("a skipped end or message is a dead letter", arguments: [Post.ending(), .late()])
    func skipped(post: Post) throws {
        var lane = LaneConversation.opened()
        lane.post(post)
        lane.refuse(try lane.nextCall(), 403, .permissionDenied)
        lane.delivery.skip(on: LaneConversation.turn)
        #expect(lane.delivery.tally.deadLetters == 1)
    }

    @Test("an approval that is asked again has a key of its own, and no interaction where it is the least")
    func askedAgain() throws {
        var lane = LaneConversation.opened()
        lane.post(.card("a"))
        let first = try lane.nextCall()
        let name = PostName.approval(ApprovalID("a"))
        #expect(lane.refuse(first, 400, .invalidRequest) == [.refused(name, PostRefusal(.invalidRequest))])
        lane.delivery.replace(.card("a"), on: LaneConversation.turn, at: lane.now)
        let second = try lane.nextCall()
        #expect(second.key != first.key)
        #expect(second.interaction == first.interaction, "another end may be all that the relay has against it")
        #expect(second.durability == .synced)
        lane.refuse(second, 400, .invalidRequest)
        guard case .approval(var least) = Post.card("a") else { return #expect(Bool(false), "no card") }
        least.message = "all of it"
        lane.delivery.replace(.approval(least), on: LaneConversation.turn, at: lane.now)
        let third = try lane.nextCall()
        #expect(third.key != second.key)
        #expect(third.interaction == nil)
    }

    @Test("a card that cannot be made takes its later calls with it, and nothing else")
    func refusedTask() throws {
        var lane = LaneConversation.opened()
        lane.post(.start("t"))
        let start = try lane.nextCall()
        for post in [.progress("t", 10), .start("u"), .finish("t"), .finish("u"), .ending()] as [Post] {
            lane.post(post)
        }
        #expect(
            lane.refuse(start, 400, .invalidRequest) == [.dropped(.taskStarted(TaskID("t")), .invalidRequest)])
        let names = [lane.deliver()?.name, lane.deliver()?.name, lane.deliver()?.name]
        #expect(names == [.taskStarted(TaskID("u")), .taskEnded(TaskID("u")), .end])
        #expect(lane.call() == nil)
    }
}
