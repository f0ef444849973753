import Testing
import Vocabulary

@testable import BridgeCore

@Suite("Notices: what is worth one, and when it goes out")
struct NoticesTests {
    @Test("a long run that ended has a notice, kept before it is tried, and forgotten behind the answer")
    func ended() {
        var stage = NoticeStage()
        stage.canWrite = false
        stage.begins("t1")
        stage.wait(31)
        stage.ends("t1")
        #expect(stage.attempts.isEmpty && stage.machine.figures.waiting == 1)
        stage.canWrite = true
        stage.wait(6)
        #expect(stage.events == [.ended] && stage.kept.count == 1)
        stage.recipient()
        #expect(stage.kept.isEmpty && stage.machine.figures == NoticeFigures(told: 1, dropped: 0, waiting: 0))
        #expect(stage.news == [.told(id: stage.attempts[0].id, .ended, tries: 1)])
    }

    @Test("a short run has none, and one that failed always has")
    func short() {
        var stage = NoticeStage()
        for (turn, outcome) in [
            ("t1", TurnOutcome.answered), ("t2", .aborted), ("t3", .gone), ("t4", .anothers), ("t5", .failed),
            ("t6", .lost),
            ("t7", .neverSent),
        ] {
            stage.begins(turn)
            stage.wait(1)
            stage.ends(turn, outcome)
            stage.recipient()
        }
        #expect(stage.events == [.failed, .failed, .failed])
    }

    @Test("the bridge's own words have none, and neither has an event that is not asked for")
    func left() {
        var stage = NoticeStage { $0.events = [.failed] }
        stage.begins("t1", text: "/bridge status")
        stage.begins("t2")
        stage.wait(100)
        stage.ends("t1", .neverSent)
        stage.ends("t2")
        stage.asks("a", of: "t3")
        stage.wait(100)
        stage.tell { machine, time in machine.isStuck(TurnID("t3"), isSealed: false, workspace: nil, at: time) }
        #expect(stage.attempts.isEmpty && stage.kept.isEmpty)
    }

    @Test("within a minute of a person's message, decision or Stop nothing goes out about that chat")
    func presence() {
        var stage = NoticeStage()
        stage.begins("t1", text: "Fix the tests")
        stage.wait(59)
        stage.ends("t1", .failed)
        stage.begins("t2", chat: "c2")
        stage.begins("t3", chat: "c3", text: "And the lint")
        stage.wait(40)
        stage.acts(in: "c2")
        stage.ends("t2")
        stage.wait(100)
        #expect(stage.attempts.isEmpty && stage.kept.isEmpty)
        stage.ends("t3")
        #expect(stage.events == [.ended])
    }

    @Test("a notice that waits for its next try is dropped when a person acts in its chat")
    func seen() {
        var stage = NoticeStage()
        stage.begins("t1")
        stage.ends("t1", .failed)
        stage.refuses()
        stage.acts(in: "c2")
        #expect(stage.kept.count == 1)
        stage.acts()
        #expect(stage.kept.isEmpty && stage.machine.nextWake == nil)
    }

    // MARK: Open waits

    @Test("an ask has a notice after its minute, one alone, and none where it was answered before")
    func waiting() {
        var stage = NoticeStage()
        stage.asks("a", of: "t1")
        stage.asks("b", of: "t1")
        stage.wait(59)
        #expect(stage.attempts.isEmpty)
        stage.answered("b")
        stage.wait(1)
        #expect(stage.events == [.waiting])
        stage.recipient()
        stage.wait(5_000)
        #expect(stage.attempts.count == 1)
        // The notice stays as long as the ask is open.
        #expect(stage.kept.values.map(\.isSettled) == [true])
        #expect(stage.kept.values.allSatisfy { $0.items.allSatisfy { $0.words == nil } })
        stage.answered("a")
        #expect(stage.kept.isEmpty)
    }

    @Test("an ask of a chat in which a person acts waits for a minute behind that")
    func postponed() {
        var stage = NoticeStage()
        stage.asks("a", of: "t1")
        stage.wait(50)
        stage.acts()
        stage.wait(59)
        #expect(stage.attempts.isEmpty)
        stage.wait(1)
        #expect(stage.events == [.waiting])
        stage.refuses()
        stage.acts()
        stage.wait(59)
        #expect(stage.attempts.count == 1)
        stage.wait(1)
        #expect(stage.attempts.count == 2)
    }

    @Test("another ask under the same name has another id")
    func askedAgain() {
        var stage = NoticeStage()
        stage.asks("a", of: "t1")
        stage.wait(60)
        stage.answered("a")
        stage.asks("a", of: "t1")
        stage.recipient()
        stage.wait(60)
        #expect(stage.events == [.waiting, .waiting])
        #expect(Set(stage.attempts.map(\.id)).count == 2)
    }

    @Test("a run that is stuck has one notice until it ends, in the next process too")
    func stuck() {
        var stage = NoticeStage()
        let opening = NoticeStage.opening("t1", at: .zero, text: nil)
        stage.begins("t1")
        for _ in 0..<2 {
            stage.tell { machine, time in machine.isStuck(TurnID("t1"), isSealed: false, workspace: nil, at: time) }
            stage.recipient()
        }
        stage.restarts(turns: [opening])
        stage.tell { machine, time in machine.isStuck(TurnID("t1"), isSealed: false, workspace: nil, at: time) }
        #expect(stage.events == [.stuck])
        stage.wait(40)
        stage.ends("t1")
        stage.recipient()
        #expect(stage.events == [.stuck, .ended] && stage.kept.isEmpty)
    }

    @Test("a wait that was answered while its notice was to be tried again gets no try of the next process")
    func answeredMeanwhile() {
        var stage = NoticeStage()
        let opening = NoticeStage.opening("t1", at: .zero, text: nil)
        stage.begins("t1")
        stage.asks("a1", of: "t1")
        stage.wait(60)
        stage.refuses()
        #expect(stage.events == [.waiting])
        stage.matters = []
        stage.restarts(after: 15, turns: [opening])
        stage.wait(700)
        #expect(stage.events == [.waiting] && stage.kept.isEmpty)
    }

    // MARK: Tries

    @Test("a failed try is made again after 10 s, 1 m and 10 m, then the notice is dropped and counted")
    func retries() {
        var stage = NoticeStage()
        stage.begins("t1")
        stage.ends("t1", .failed)
        for (index, pause) in [10, 60, 600].enumerated() {
            #expect(stage.attempts.count == index + 1)
            stage.refuses()
            stage.wait(Int64(pause) - 1)
            #expect(stage.attempts.count == index + 1)
            stage.wait(1)
        }
        stage.refuses()
        stage.wait(10_000)
        #expect(stage.attempts.count == 4 && Set(stage.attempts.map(\.id)).count == 1 && stage.kept.isEmpty)
        #expect(stage.machine.figures == NoticeFigures(told: 0, dropped: 1, waiting: 0))
        #expect(stage.news.last == .dropped(id: stage.attempts[0].id, .failed, tries: 4, reason: "no"))
    }

    @Test("the recipient may ask for a longer pause, up to ten minutes")
    func retryAfter() {
        var stage = NoticeStage()
        stage.begins("t1")
        stage.ends("t1", .failed)
        stage.recipient(.failed(reason: "429", retryAfter: .seconds(90)))
        stage.wait(89)
        #expect(stage.attempts.count == 1)
        stage.wait(1)
        stage.recipient(.failed(reason: "429", retryAfter: .seconds(86_400)))
        stage.wait(599)
        #expect(stage.attempts.count == 2)
        stage.wait(1)
        #expect(stage.attempts.count == 3)
    }

    @Test("one notice is tried at a time, in their order")
    func oneAtATime() {
        var stage = NoticeStage()
        for turn in ["t1", "t2", "t3"] {
            stage.begins(turn)
            stage.ends(turn, .failed)
        }
        #expect(stage.attempts.count == 1)
        stage.recipient()
        #expect(stage.attempts.count == 2)
        stage.recipient()
        stage.recipient()
        #expect(stage.attempts.map { $0.items[0].turn.text } == ["t1", "t2", "t3"])
    }

    @Test("beyond their number the oldest that is not tried goes")
    func bound() {
        var stage = NoticeStage { $0.limit = 3 }
        for number in 0..<10 {
            stage.begins("t\(number)")
            stage.ends("t\(number)", .failed)
        }
        #expect(stage.machine.figures == NoticeFigures(told: 0, dropped: 7, waiting: 3))
        #expect(Set(stage.kept.values.map { $0.items[0].turn.text }) == ["t0", "t8", "t9"])
    }

    @Test("without a recipient nothing is made, and what waited is dropped")
    func off() {
        var stage = NoticeStage()
        stage.begins("t1")
        stage.ends("t1", .failed)
        stage.refuses()
        stage.tell { machine, time in machine.use(NoticeSettings(), at: time) }
        stage.begins("t2")
        stage.ends("t2", .failed)
        stage.asks("a", of: "t2")
        stage.wait(1_000)
        #expect(stage.attempts.count == 1 && stage.kept.isEmpty && stage.machine.figures.dropped == 1)
        #expect(stage.machine.nextWake == nil)
    }

    // MARK: Sealed chats

    @Test("a sealed chat's words are in no notice, whether the turn is sealed or its chat", arguments: [true, false])
    func sealed(isTurn: Bool) {
        var stage = NoticeStage()
        stage.begins("t1", text: "secret plan", isSealed: isTurn)
        stage.wait(61)
        stage.ends("t1", isSealed: !isTurn)
        let body = stage.body(stage.attempts[0])
        #expect(!body.contains("secret") && !body.contains("site"))
        #expect(
            body.contains(#""sealed":true,"ts":"#)
                && body.contains(#""title":"A sealed chat","message":"A run has ended.""#))
    }

    @Test("a chat that takes a key before the next try has none of its words in it, nor in the journal")
    func sealedLater() {
        var stage = NoticeStage()
        stage.begins("t1", text: "secret plan")
        stage.wait(61)
        stage.ends("t1")
        #expect(stage.body(stage.attempts[0]).contains("secret"))
        stage.refuses()
        stage.tell { machine, _ in machine.sealed(SessionID("c1")) }
        #expect(stage.kept.values.allSatisfy { $0.items.allSatisfy { $0.words == nil && $0.isSealed } })
        stage.wait(10)
        #expect(!stage.body(stage.attempts[1]).contains("secret"))
        #expect(stage.attempts[0].id == stage.attempts[1].id)
    }
}
