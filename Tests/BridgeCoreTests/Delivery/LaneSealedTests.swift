import BridgeCore
import Testing
import Vocabulary

@Suite("A lane of a sealed turn")
struct LaneSealedTests {
    private static let key = KeyName("k1")
    private static let seal = CallSeal(session: SessionID("ses_1"), key: key)
    private static let sentence = Post.message(WholeMessage(part: .line(1), text: "Gone.", inTheOpen: true))

    private static func opened(_ sealing: TurnSealing = .sealed(key)) -> LaneConversation {
        var lane = LaneConversation(sealing: sealing)
        lane.post(.open)
        _ = lane.deliver()
        return lane
    }

    @Test("the placeholder goes out without a key")
    func open() throws {
        var lane = LaneConversation(sealing: .sealed(nil))
        lane.post(.open)
        let open = try lane.nextCall()
        #expect(open.post == .open && open.seal == CallSeal(session: SessionID("ses_1"), key: nil))
    }

    @Test("what was sealed is sent at each later try, and is held until it is answered")
    func retry() throws {
        var lane = Self.opened()
        let before = lane.delivery.heldBytes
        lane.post(.text("hello"))
        let first = try lane.nextCall()
        #expect(first.seal == Self.seal && first.body == nil)
        #expect(lane.delivery.keepSealed([1, 2, 3], of: first.call) == [1, 2, 3])
        #expect(lane.delivery.heldBytes == before + HeldBytes.entryCost + 5 + 3)
        lane.lose(first)
        let second = try lane.nextCall()
        #expect(second.body == [1, 2, 3] && second.attempt == 2)
        #expect(lane.delivery.keepSealed([4, 5, 6], of: first.call) == [1, 2, 3], "sealed at most once")
        lane.refuse(second, 503, .temporarilyUnavailable)
        let third = try lane.nextCall()
        #expect(third.body == [1, 2, 3])
        lane.deliver(third)
        #expect(lane.delivery.heldBytes == before)
        #expect(lane.delivery.keepSealed([7], of: first.call) == nil)
    }

    @Test("a call that could not be saved keeps what was sealed")
    func unsaved() throws {
        var lane = Self.opened()
        lane.post(.text("hello"))
        let first = try lane.nextCall()
        _ = lane.delivery.keepSealed([1, 2, 3], of: first.call)
        _ = lane.delivery.couldNotSave(first.call, at: lane.now)
        let again = try lane.nextCall()
        #expect(again.attempt == 1 && again.body == [1, 2, 3])
    }

    @Test("a body that was sealed ahead is kept for later tries too")
    func ahead() throws {
        var lane = Self.opened()
        lane.post(.start("a"))
        lane.post(.start("b"))
        let first = try lane.nextCall()
        let ahead = lane.delivery.callAhead(behind: first.call)
        let next = try #require(ahead)
        #expect(next.seal == Self.seal)
        lane.delivery.keep([1, 2, 3], of: next.call, behind: first.call)
        lane.deliver(first)
        let second = try lane.nextCall()
        #expect(second.body == [1, 2, 3])
        lane.lose(second)
        let again = try lane.nextCall()
        #expect(again.payload == second.payload && again.body == [1, 2, 3])
    }

    @Test("without a key nothing goes out but what says nothing, in its order, and the rest when it has come")
    func withoutKey() throws {
        var lane = Self.opened(.sealed(nil))
        lane.post(.start("a"))
        lane.post(.text("hello"))
        #expect(lane.call() == nil)
        lane.delivery.use(.sealed(Self.key), of: LaneConversation.turn)
        let card = try lane.deliverNext()
        #expect(card.name == .taskStarted(TaskID("a")) && card.seal == Self.seal)
        let text = try lane.deliverNext()
        #expect(text.delta == "hello" && text.seal == Self.seal)
    }

    @Test("what cannot be said without a key gives way to the empty end and the sentence")
    func dropUnsealed() throws {
        var lane = Self.opened(.sealed(nil))
        lane.post(.start("a"))
        lane.post(.text("hello"))
        lane.delivery.dropUnsealed(of: LaneConversation.turn)
        lane.post(.ending(""))
        lane.post(Self.sentence)
        let end = try lane.deliverNext()
        #expect(end.name == .end && end.seal == CallSeal(session: SessionID("ses_1"), key: nil))
        let said = try lane.deliverNext()
        #expect(said.name == .message(.line(1)) && said.seal == nil)
        #expect(lane.call() == nil)
    }

    @Test("what must be seen and could not be sealed is the turn's to replace; the rest is dropped")
    func couldNotSeal() throws {
        var lane = Self.opened()
        lane.post(.text("hello"))
        lane.post(.start("a"))
        lane.post(.finish("a"))
        let text = try lane.nextCall()
        let code = RelayErrorCode.other("key_gone")
        #expect(
            lane.delivery.couldNotSeal(text.call, at: lane.now)
                == [.post(LaneConversation.turn, .dropped(text.name, code))])
        lane.post(.text("more"))
        let card = try lane.nextCall()
        #expect(card.name == .taskStarted(TaskID("a")), "the preview is over")
        _ = lane.delivery.couldNotSeal(card.call, at: lane.now)
        lane.post(.ending())
        let end = try lane.nextCall()
        #expect(end.name == .end, "a card that was not made is not finished")
        let reports = lane.delivery.couldNotSeal(end.call, at: lane.now)
        guard case .post(_, .refused(.end, let refusal))? = reports.first else {
            Issue.record("\(reports)")
            return
        }
        #expect(refusal.lacksKey)
        #expect(lane.delivery.callsUnderWay == 0)
        lane.delivery.replace(
            .ending("", form: 2), followedBy: [Self.sentence], on: LaneConversation.turn, at: lane.now)
        #expect(try lane.deliverNext().key == "int_1-end-2")
        #expect(try lane.deliverNext().seal == nil)
    }

    @Test("a sentence in the open stays so under its next key, and an approval that is asked again is sealed anew")
    func forms() throws {
        var lane = Self.opened()
        lane.post(Self.sentence)
        let first = try lane.nextCall()
        _ = lane.delivery.couldNotSave(first.call, keyIsTaken: true, at: lane.now)
        let second = try lane.deliverNext()
        #expect(second.key == "int_1-line-1-2" && second.seal == nil)

        lane.post(.card("a1"))
        let asked = try lane.nextCall()
        _ = lane.delivery.keepSealed([1, 2, 3], of: asked.call)
        lane.refuse(asked, 410, .interactionExpired)
        let again = try lane.nextCall()
        #expect(again.interaction == nil && again.key != asked.key)
        #expect(again.seal == Self.seal && again.body == nil)
    }

    @Test("what is longer once it is sealed is cut to what the relay takes, and only then", arguments: [true, false])
    func longFields(isSealed: Bool) throws {
        var lane = Self.opened(isSealed ? .sealed(Self.key) : .open)
        let long = JSONText.string(String(repeating: "x", count: 90_000))
        lane.post(.taskStarted(TaskStart(task: TaskID("a"), kind: "exec", arguments: long)))
        lane.post(.taskEnded(TaskEnd(task: TaskID("a"), status: .completed, result: long)))
        for _ in 0..<2 {
            let call = try lane.deliverNext()
            switch call.post {
            case .taskStarted(let start): #expect((start.arguments == long) != isSealed)
            case .taskEnded(let end): #expect((end.result == long) != isSealed)
            default: Issue.record("\(call)")
            }
        }
    }

    @Test("after a restart it knows its key, and what was stored needs none")
    func restart() throws {
        var lane = Self.opened()
        lane.post(.text("hello"))
        let first = try lane.nextCall()
        _ = lane.delivery.keepSealed([1, 2, 3], of: first.call)
        let record = try #require(lane.delivery.record(of: LaneConversation.turn))
        #expect(record.address.sealing == .sealed(Self.key))
        var restored = LaneConversation(restoring: record)
        let stored = try restored.nextCall()
        #expect(stored.seal == nil)
        #expect(stored.key == first.key)
        restored.deliver(stored)
        restored.post(.ending())
        #expect(try restored.nextCall().seal == Self.seal)
    }
}
