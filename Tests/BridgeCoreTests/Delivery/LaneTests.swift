import BridgeCore
import Testing
import Vocabulary

@Suite("A lane")
struct LaneTests {
    @Test("the body of a card that waits can be made while the call before it is under way, and leaves with it")
    func bodyAhead() throws {
        var lane = LaneConversation.opened()
        lane.post(.start("a"))
        lane.post(.start("b"))
        let first = try lane.nextCall()
        #expect(first.isFollowed)
        #expect(first.body == nil)
        let ahead = lane.delivery.callAhead(behind: first.call)
        let next = try #require(ahead)
        lane.delivery.keep([1, 2, 3], of: next.call, behind: first.call)
        lane.deliver(first)
        let second = try lane.nextCall()
        #expect(second.payload == .fresh(next.call))
        #expect(second.body == [1, 2, 3])
        #expect(!second.isFollowed)
        let none = lane.delivery.callAhead(behind: first.call)
        #expect(none == nil)
        // A retry is encoded anew from the same call.
        lane.lose(second)
        let again = try lane.nextCall()
        #expect(again.payload == second.payload)
        #expect(again.body == nil)
    }

    @Test("a body made ahead is not used for a call that went first after all")
    func bodyAheadOfAnother() throws {
        var lane = LaneConversation.opened()
        lane.post(.start("a"))
        lane.post(.start("b"))
        let first = try lane.nextCall()
        let ahead = lane.delivery.callAhead(behind: first.call)
        let next = try #require(ahead)
        lane.deliver(first)
        // The answer was faster than the encoder.
        let second = try lane.nextCall()
        lane.delivery.keep([1, 2, 3], of: next.call, behind: first.call)
        #expect(second.body == nil)
        lane.post(.start("c"))
        lane.deliver(second)
        let third = try lane.nextCall()
        #expect(third.body == nil)
    }

    @Test("nothing is known ahead of text, which grows until it is tried")
    func textAhead() throws {
        var lane = LaneConversation.opened()
        lane.post(.start("a"))
        lane.post(.text("x"))
        let first = try lane.nextCall()
        #expect(!first.isFollowed)
        let none = lane.delivery.callAhead(behind: first.call)
        #expect(none == nil)
    }

    @Test("nothing goes before the bubble is known, and text that waits is one delta")
    func awaitsBubble() throws {
        var lane = LaneConversation()
        lane.post(.open)
        let open = try lane.nextCall()
        #expect(open.name == .open)
        #expect(open.durability == .synced)
        #expect(open.reserve)
        lane.post(.text("a"))
        lane.post(.text("b"))
        #expect(lane.step() == .idle(until: nil))
        #expect(lane.deliver(open) == [.delivered(.open, message: LaneConversation.bubble)])
        let delta = try lane.nextCall()
        #expect(delta.delta == "ab")
        #expect(delta.name == .text(endOffset: 2))
        #expect(delta.durability == .written)
        #expect(!delta.reserve)
    }

    @Test("a call that was tried keeps key and value, whatever comes meanwhile")
    func frozen() throws {
        var lane = LaneConversation.opened()
        lane.post(.text("one "))
        let first = try lane.nextCall()
        lane.post(.text("two"))
        lane.lose(first)
        let second = try lane.nextCall()
        #expect(second.call == first.call)
        #expect(second.payload == first.payload)
        #expect(second.attempt == 2)
        #expect(second.durability == nil)
        lane.deliver(second)
        #expect(lane.call()?.delta == "two")
    }

    @Test("posts go out in the order they came")
    func order() {
        var lane = LaneConversation.opened()
        for post in [.text("before"), .start("t"), .text("during"), .finish("t"), .ending()] as [Post] {
            lane.post(post)
        }
        let names = (0..<5).compactMap { _ in lane.deliver()?.name }
        #expect(
            names == [
                .text(endOffset: 6), .taskStarted(TaskID("t")), .text(endOffset: 12), .taskEnded(TaskID("t")), .end,
            ])
    }

    @Test("progress is the latest of its task, and goes away with the task's end")
    func progress() throws {
        var lane = LaneConversation.opened()
        lane.post(.start("t"))
        lane.post(.progress("t", 10, label: "Reading"))
        lane.post(.progress("t", 20))
        lane.deliver()
        let update = try lane.deliverNext()
        #expect(update.post == .progress("t", 20, label: "Reading"))
        #expect(update.durability == nil)
        lane.post(.progress("t", 30))
        lane.post(.finish("t"))
        #expect(lane.deliver()?.name == .taskEnded(TaskID("t")))
        #expect(lane.call() == nil)
    }

    @Test("after the end only whole messages are taken")
    func afterEnd() {
        var lane = LaneConversation.opened()
        lane.post(.ending())
        for post in [.text("x"), .start("t"), .finish("t"), .card("a"), .ending("again"), .late()] as [Post] {
            lane.post(post)
        }
        #expect(lane.deliver()?.name == .end)
        #expect(lane.deliver()?.name == .message(.late))
        #expect(lane.call() == nil)
    }

    @Test(
        "text beyond 48,000 bytes is cut at a character's end, and nothing of it is lost",
        arguments: ["x", "é", "👩‍👩‍👧", "a\u{301}", "\r\n"])
    func splits(character: Character) {
        let text = String(repeating: String(character), count: 120_000 / String(character).utf8.count)
        var lane = LaneConversation.opened()
        lane.post(.text(text))
        var parts: [String] = []
        while let delta = lane.deliver()?.delta { parts.append(delta) }
        #expect(parts.allSatisfy { $0.utf8.count <= 48_000 })
        #expect(parts.allSatisfy { part in part.allSatisfy { $0 == character } })
        #expect(parts.joined() == text)
    }

    @Test(
        "untried text holds the end back by 2 s at most, or as long as is set", arguments: [nil, Duration.seconds(30)])
    func hold(set: Duration?) throws {
        var settings = DeliverySettings()
        if let set { settings.textHold = set }
        var lane = LaneConversation.opened(settings: settings)
        lane.post(.text("one"))
        let delta = try lane.nextCall()
        lane.refuse(delta, 429, .rateLimited, after: .seconds(60))
        lane.post(.text("two"))
        lane.wait(.seconds(1))
        lane.post(.ending())
        let posted = lane.now
        let end = try lane.nextCall()
        #expect(end.name == .end)
        #expect(lane.now - posted == set ?? .seconds(2))
    }

    @Test("a delta that may have landed is asked for before the end goes, but not for ever")
    func poison() throws {
        var lane = LaneConversation.opened()
        lane.post(.text("one"))
        lane.lose(try lane.nextCall())
        lane.post(.ending())
        var tries = 1
        while let attempt = lane.call(), attempt.name != .end {
            tries += 1
            lane.lose(attempt)
        }
        #expect(tries == 8)
    }

    @Test("stopping the preview drops what was not tried")
    func stopPreview() throws {
        var lane = LaneConversation.opened()
        lane.post(.text("one"))
        let delta = try lane.nextCall()
        lane.post(.text("two"))
        lane.delivery.stopPreview(of: LaneConversation.turn)
        lane.post(.text("three"))
        lane.lose(delta)
        #expect(lane.deliver()?.delta == "one")
        #expect(lane.call() == nil)
    }

    @Test("what comes after the window closed goes without the interaction")
    func closeWindow() {
        var lane = LaneConversation.opened()
        lane.post(.start("t"))
        lane.delivery.closeWindow(of: LaneConversation.turn)
        lane.post(.card("a"))
        #expect(lane.deliver()?.interaction == InteractionID("int_1"))
        #expect(lane.deliver()?.interaction == nil)
    }

    @Test("an expired interaction drops what carried it; an approval goes again without")
    func expired() throws {
        var lane = LaneConversation.opened()
        for post in [.card("a"), .start("t"), .card("b"), .ending()] as [Post] { lane.post(post) }
        let first = try lane.nextCall()
        #expect(lane.refuse(first, 410, .interactionExpired) == [.windowClosed])
        let again = try lane.deliverNext()
        #expect(again.name == .approval(ApprovalID("a")))
        #expect(again.interaction == nil)
        #expect(again.key != first.key)
        let other = try lane.deliverNext()
        #expect(other.name == .approval(ApprovalID("b")))
        #expect(other.interaction == nil)
        #expect(lane.call() == nil)
    }

    @Test("an approval that is refused for its interaction without having one is told as not shown")
    func expiredWithout() throws {
        var lane = LaneConversation.opened()
        lane.post(.card("a"))
        #expect(lane.refuse(try lane.nextCall(), 410, .interactionExpired) == [.windowClosed])
        let again = try lane.nextCall()
        #expect(again.interaction == nil)
        #expect(
            lane.refuse(again, 410, .interactionExpired)
                == [.windowClosed, .refused(.approval(ApprovalID("a")), PostRefusal(.interactionExpired))])
        #expect(lane.call() == nil)
    }

    @Test("a destination that is gone empties the lane")
    func gone() throws {
        var lane = LaneConversation.opened()
        lane.post(.text("x"))
        lane.post(.ending())
        let delta = try lane.nextCall()
        #expect(lane.refuse(delta, 404, .sessionNotFound) == [.destinationGone(.sessionNotFound)])
        lane.post(.late())
        #expect(lane.call() == nil)
    }

    @Test("an abandoned lane asks for the answer of what was tried, and for nothing else")
    func abandon() throws {
        var lane = LaneConversation.opened()
        lane.post(.text("one"))
        lane.lose(try lane.nextCall())
        lane.post(.ending())
        lane.delivery.abandon(LaneConversation.turn)
        lane.post(.late())
        #expect(lane.deliver()?.delta == "one")
        #expect(lane.call() == nil)
    }

    @Test("for another installation an abandoned lane asks for nothing at all")
    func dropAbandoned() throws {
        var lane = LaneConversation.opened()
        lane.post(.text("one"))
        lane.lose(try lane.nextCall())
        lane.delivery.abandon(LaneConversation.turn)
        lane.delivery.dropAbandoned(at: lane.now)
        #expect(lane.deliver() == nil)
        #expect(lane.delivery.isIdle)
    }

    @Test("what is tried until the window is over closes it; whole messages are tried for a day")
    func deadlines() throws {
        var lane = LaneConversation.opened(window: .seconds(60))
        lane.post(.ending())
        var attempt = try lane.nextCall()
        let begun = lane.now
        var reports: [PostReport] = []
        while reports.isEmpty {
            reports = lane.lose(attempt)
            guard reports.isEmpty, let next = lane.call() else { break }
            attempt = next
        }
        #expect(reports == [.windowClosed])
        #expect(lane.now - begun == .seconds(60))
        #expect(lane.delivery.tally.deadLetters == 1)

        lane.post(.late())
        attempt = try lane.nextCall()
        let posted = lane.now
        repeat { reports = lane.lose(attempt) } while reports.isEmpty && lane.takeNext(&attempt)
        // The lane gives the call up before the relay forgets its key, and not after an answer.
        #expect(reports.isEmpty && lane.delivery.tally.deadLetters == 2)
        #expect((Duration.seconds(86_300)...Duration.seconds(86_400)).contains(lane.now - posted))
    }

    @Test("of what does not join, 512 posts wait; the end has room besides")
    func bounds() {
        var lane = LaneConversation.opened()
        for number in 0..<512 { lane.post(.start("t\(number)")) }
        #expect(lane.delivery.tally.notTaken == 0)
        lane.post(.start("one too many"))
        #expect(
            lane.step()
                == .report(.post(LaneConversation.turn, .deadLetter(.taskStarted(TaskID("one too many"))))))
        lane.post(.ending())
        var last: PostName?
        while let attempt = lane.deliver() { last = attempt.name }
        #expect(last == .end)
    }

    @Test("text without bound ends the preview, not the process")
    func textBound() throws {
        var lane = LaneConversation.opened()
        let piece = String(repeating: "x", count: 1 << 18)
        for _ in 0..<5 { lane.post(.text(piece)) }
        #expect(lane.step() == .report(.post(LaneConversation.turn, .deadLetter(.text(endOffset: 0)))))
        #expect(lane.call() == nil)
        lane.post(.ending())
        #expect(lane.call()?.name == .end)
    }

    @Test("a call that could not be saved is given again, to be saved first")
    func couldNotSave() throws {
        var lane = LaneConversation()
        lane.post(.open)
        let first = try lane.nextCall()
        #expect(lane.delivery.couldNotSave(first.call, at: lane.now) == [])
        let second = try lane.nextCall()
        #expect(second.payload == first.payload)
        #expect(second.attempt == 1)
        #expect(second.durability == .synced)
    }

    @Test("a closed lane goes away when its answer came; other answers are counted")
    func closes() throws {
        var lane = LaneConversation.opened()
        lane.post(.ending())
        let end = try lane.nextCall()
        lane.delivery.closeLane(LaneConversation.turn)
        #expect(lane.delivery.laneCount == 1)
        lane.deliver(end)
        #expect(lane.delivery.laneCount == 0)
        #expect(lane.deliver(end) == [])
        #expect(lane.delivery.tally.strayAnswers == 1)
        #expect(lane.delivery.callsUnderWay == 0)
    }
}
