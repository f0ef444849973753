import AgentKit
import ConversationEngine
import LeastAgent
import Testing
import Vocabulary

@Suite("Walks of the engine")
struct WalkTests {
    @Test("a walk that never ends is ended by its bound, and all that waits is told")
    func endless() {
        var least = LeastConversation.make(reach: .asksForEver)
        var said = least.sends("r1", "one")
        for _ in 0..<9_000 where said.last == "find /s/*" || said.isEmpty {
            said = said.isEmpty ? least.waits(60_000) : least.looks(.found([]))
        }
        #expect(said == [#"send r1 not made "Least could not be started: Least does not answer any more""#])
    }

    @Test("a walk that fails without a child gives the way up after three tries")
    func fails() {
        var least = LeastConversation.make(reach: .fails)
        #expect(least.sends("r1", "one") == [])
        #expect(least.waits(60_000) == [#"send r1 not made "Least could not be started: the disk is gone""#])
    }

    @Test("a look for doctor has its whole half minute again after a sleep")
    func looksAfterSleep() {
        var least = LeastConversation(settings: LeastDialect.Settings(), checkOf: "main")
        #expect(least.checks() == ["start 0 "])
        #expect(least.spawns(0) == ["0 > sb-check hello"])
        #expect(least.sleeps(60, isTold: true) == [])
        #expect(least.waits(29_999) == [])
        #expect(least.waits(1).last == "done")
    }

    @Test("a walk that its child took along is walked again with the next")
    func brokenOff() {
        var least = LeastConversation.make()
        _ = least.sends("r1", "one", choice: .named("big"))
        _ = least.opens()
        #expect(least.written.last == "sb-2 model")
        #expect(least.exits() == ["start 2 /s/1"])
        _ = least.spawns(2)
        #expect(least.confirms("hello", "", 2) == ["2 > sb-4 model"])
        let given = least.exits(1, words: "", 2)
        #expect(given.first == #"r1 lacks named("big") "Least ended when it was asked for it""#, "\(given)")
    }
}
