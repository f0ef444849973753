import Testing
import Vocabulary
import Worlds

@testable import BridgeCore

/// The relay remembers a key for a day (relay.md#rules). A call that may have landed would appear twice if it went
/// again after that.
@Suite("A call that is older than the relay's memory of its key")
struct LaneForgottenTests {
    private static let longAgo = Instant(nanoseconds: 1_000_000_000_000) - LaneBounds.keyLife

    private func restored(
        _ name: PostName, key: String, triedAt: Instant = Self.longAgo, waiting: [Post] = [],
        message: MessageID? = LaneConversation.bubble
    ) -> LaneConversation {
        var record = LaneRecord(
            address: LaneConversation.address, message: message, epoch: 2, deltas: 3, streamed: 10,
            unanswered: [LaneRecord.UnansweredCall(name: name, key: IdempotencyKey(key), triedAt: triedAt)])
        record.waiting = waiting.map {
            LaneRecord.WaitingPost(post: $0, since: Self.longAgo, withoutInteraction: false, form: 1)
        }
        return LaneConversation(restoring: record)
    }

    /// Plays the rest of a lane, with an answer of the relay to each call.
    private func rest(_ lane: inout LaneConversation) -> (calls: [String], reports: [PostReport]) {
        var (calls, reports): ([String], [PostReport]) = ([], [])
        for _ in 0..<50 {
            switch lane.step() {
            case .attempt(let attempt):
                calls.append(attempt.key ?? "")
                lane.deliver(attempt)
            case .report(.post(_, let report)): reports.append(report)
            case .report(.connectionStopped), .report(.note): break
            case .idle(let until):
                guard let until else { return (calls, reports) }
                lane.now = max(lane.now, until)
            }
        }
        return (calls, reports)
    }

    @Test("a stored end is a dead letter, and what was never tried follows it")
    func end() {
        let more = WholeMessage(part: .more(1), text: "more")
        var lane = restored(.end, key: "int_1-end", waiting: [.message(more)])
        let (calls, reports) = rest(&lane)
        #expect(calls == ["int_1-more-1"])
        #expect(reports == [.deadLetter(.end)])
    }

    @Test("one that is younger goes again as it was stored")
    func younger() {
        var lane = restored(.end, key: "int_1-end", triedAt: Self.longAgo + .milliseconds(1))
        #expect(rest(&lane).calls == ["int_1-end"])
    }

    @Test("a stored message is a dead letter")
    func message() {
        var lane = restored(.message(.late), key: "int_1-late")
        let (calls, reports) = rest(&lane)
        #expect(calls == [])
        #expect(reports == [.deadLetter(.message(.late))])
    }

    @Test("text is given up, and the end that says it goes out")
    func text() {
        var lane = restored(
            .text(endOffset: 14), key: "int_1-d1-4", waiting: [.text("more"), .end(EndOfTurn(text: "all"))])
        let (calls, reports) = rest(&lane)
        #expect(calls == ["int_1-end"])
        #expect(reports == [])
    }

    @Test("of a card nothing more is said, and the end goes out")
    func card() {
        var lane = restored(
            .taskStarted(TaskID("c1")), key: "int_1-t-1-start", waiting: [.end(EndOfTurn(text: "all"))])
        let (calls, reports) = rest(&lane)
        #expect(calls == ["int_1-end"])
        #expect(reports == [.deadLetter(.taskStarted(TaskID("c1")))])
    }

    @Test("with an open goes the bubble: the turn hears it, and puts its text beside it")
    func open() {
        var lane = restored(
            .open, key: "int_1-open", waiting: [.text("text"), .end(EndOfTurn(text: "all"))], message: nil)
        let (calls, reports) = rest(&lane)
        #expect(calls == [])
        #expect(reports == [.windowClosed])
    }

    @Test("while the process lives, too: a machine may sleep for days")
    func running() throws {
        var lane = LaneConversation.opened(window: .seconds(1_000_000))
        lane.post(.end(EndOfTurn(text: "all")))
        let end = try lane.nextCall()
        lane.answer(end, .unknown(reason: "timeout"))
        lane.wait(LaneBounds.keyLife)
        let (calls, reports) = rest(&lane)
        #expect(calls == [])
        #expect(reports == [.deadLetter(.end)])
    }

    @Test("one that the relay refused for the rate is not there, and goes however late it is")
    func refused() throws {
        var lane = LaneConversation.opened(window: .seconds(1_000_000))
        lane.post(.end(EndOfTurn(text: "all")))
        lane.refuse(try lane.nextCall(), 503, .temporarilyUnavailable)
        lane.wait(.seconds(100_000))
        #expect(rest(&lane).calls == ["int_1-end"])
    }

    @Test("a call that never left, because it could not be stored, has no key that anybody knew")
    func unsaved() throws {
        var lane = LaneConversation.opened(window: .seconds(1_000_000))
        lane.post(.end(EndOfTurn(text: "all")))
        let end = try lane.nextCall()
        _ = lane.delivery.couldNotSave(end.call, at: lane.now)
        lane.wait(.seconds(86_400))
        #expect(rest(&lane).calls == ["int_1-end"])
    }
}
