import BridgeCore
import Testing
import Vocabulary

@Suite("Calls that could not be saved")
struct UnsavedCallTests {
    private static let turn = LaneConversation.turn

    @Test("nothing is tried past the time in which anybody waits for it")
    func bounded() throws {
        var lane = LaneConversation(window: .seconds(60))
        lane.post(.open)
        var reports: [DeliveryReport] = []
        var tries = 0
        while reports.isEmpty, let attempt = lane.call() {
            tries += 1
            reports = lane.delivery.couldNotSave(attempt.call, at: lane.now)
        }
        #expect(reports == [.post(Self.turn, .windowClosed)])
        #expect((55...62).contains(tries))
        #expect(lane.call() == nil)
        #expect(lane.delivery.callsUnderWay == 0)
    }

    @Test("a whole message is given up after a day")
    func message() throws {
        var lane = LaneConversation.opened()
        lane.post(.late())
        let attempt = try lane.nextCall()
        lane.wait(.seconds(86_401))
        let reports = lane.delivery.couldNotSave(attempt.call, at: lane.now)
        #expect(reports == [.post(Self.turn, .deadLetter(attempt.name))])
    }

    @Test("an open whose key is kept with another body goes once more under the next, then the turn is asked")
    func open() throws {
        var lane = LaneConversation()
        lane.post(.open)
        let first = try lane.nextCall()
        #expect(first.key == "int_1-open")
        #expect(takenKey(first, &lane) == [])
        let second = try lane.nextCall()
        #expect(second.key == "int_1-open-2")
        #expect(takenKey(second, &lane) == [.refused(.open, PostRefusal(.idempotencyConflict))])
        #expect(lane.delivery.tally.conflicts == 2)
    }

    @Test("a whole message keeps its text under the next key")
    func messageAgain() throws {
        var lane = LaneConversation.opened()
        lane.post(.late("all of it"))
        let first = try lane.nextCall()
        #expect(takenKey(first, &lane) == [])
        let second = try lane.nextCall()
        #expect(second.key != first.key)
        #expect(second.post == .late("all of it"))
        #expect(
            takenKey(second, &lane) == [.refused(second.name, PostRefusal(.idempotencyConflict, text: "all of it"))])
    }

    @Test("an end is the turn's to say again")
    func end() throws {
        var lane = LaneConversation.opened()
        lane.post(.ending("whole"))
        let first = try lane.nextCall()
        #expect(takenKey(first, &lane) == [.refused(.end, PostRefusal(.idempotencyConflict))])
        lane.delivery.replace(.ending("whole", form: 2), on: Self.turn, at: lane.now)
        #expect(try lane.nextCall().key == "int_1-end-2")
    }

    @Test(
        "text stops the preview, and what else need not be seen is dropped")
    func dropped() throws {
        var lane = LaneConversation.opened()
        lane.post(.start("t"))
        let call = try lane.nextCall()
        #expect(takenKey(call, &lane) == [.dropped(call.name, .idempotencyConflict)])
        lane.post(.text("Hello"))
        let text = try lane.nextCall()
        #expect(takenKey(text, &lane) == [.dropped(text.name, .idempotencyConflict)])
        lane.post(.text(" more"))
        lane.post(.ending())
        #expect(try lane.nextCall().name == .end)
    }

    /// Reports to the turn. The log gets a report of its own.
    private func takenKey(_ attempt: CallAttempt, _ lane: inout LaneConversation) -> [PostReport] {
        let reports = lane.delivery.couldNotSave(attempt.call, keyIsTaken: true, at: lane.now)
        #expect(reports.last == .note(DeliveryNote(code: .idempotencyConflict), Self.turn, attempt.name))
        return reports.compactMap { if case .post(_, let report) = $0 { report } else { nil } }
    }
}
