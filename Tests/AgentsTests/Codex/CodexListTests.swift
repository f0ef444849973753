import AgentKit
import Testing
import Vocabulary

@Suite("Codex's list of turns")
struct CodexListTests {
    private static let active = #"{"thread":{"id":"T","status":{"type":"active"}}}"#

    /// A page with one turn of another run.
    private static func page(_ number: Int, _ turn: String, next: String?) -> String {
        let cursor = next.map { "\"\($0)\"" } ?? "null"
        return
            #"{"id":\#(number),"result":{"data":[{"id":"\#(turn)","status":"completed","items":[]}],"nextCursor":\#(cursor)}}"#
    }

    @Test("a turn that is not on a page is looked for on the next, whole turns first and then more of them in short")
    func pages() {
        var codex = CodexConversation.going()
        _ = codex.rejoins()
        #expect(
            codex.says(#"{"id":3,"result":\#(Self.active)}"#).contains { $0.contains(#""limit":1,"itemsView":"full""#) }
        )
        for number in 4...7 {
            let said = codex.says(Self.page(number, "X\(number)", next: "c\(number)"))
            #expect(said.count == 1 && said[0].contains(#""cursor":"c\#(number)","limit":1"#))
        }
        let short = codex.says(Self.page(8, "X8", next: "c8"))
        #expect(short.count == 1 && short[0].contains(#""limit":20,"itemsView":"summary""#))
        let found = codex.says(
            #"{"id":9,"result":{"data":[{"id":"U","status":"completed","items":[{"type":"agentMessage","id":"a","text":"Well."}]}],"nextCursor":"c9"}}"#
        )
        #expect(found.contains { $0.contains(#"segment ended "Well.""#) } && found.contains { $0.contains("finished") })
    }

    @Test(
        "a list that ends the connection is asked for in short, and a thread that always does is left with a sentence")
    func tooLarge() {
        var codex = CodexConversation.going()
        var said = codex.rejoins()
        var views: [Bool] = []
        for _ in 0..<5 {
            let list = codex.says(#"{"id":3,"result":\#(Self.active)}"#)
            views.append(list.contains { $0.contains("summary") })
            said += codex.rejoins()
        }
        #expect(views == [false, false, true, true, true])
        #expect(said.contains { $0.contains("failed") && $0.contains("thread is opened") })
        #expect(said.last.map { $0.contains("thread/resume") } == false)
    }

    @Test(
        "another client's turn says that ours is over, which is looked up, says nothing twice and leaves the thread busy"
    )
    func lostBehindAnother() {
        var codex = CodexConversation.going()
        let item = #"{"type":"agentMessage","id":"a","text":"Well."}"#
        _ = codex.says(#"{"method":"item/completed","params":{"threadId":"T","turnId":"U","item":\#(item)}}"#)
        #expect(codex.begins("V").contains { $0.contains("thread/turns/list") })
        let more = codex.says(
            #"{"id":5,"result":{"data":[{"id":"V","status":"inProgress","items":[]}],"nextCursor":"1"}}"#)
        #expect(more.contains { $0.contains(#""cursor":"1""#) })
        let found = codex.says(
            #"{"id":6,"result":{"data":[{"id":"U","status":"completed","items":[\#(item)]}],"nextCursor":null}}"#)
        #expect(
            found.contains { $0.hasPrefix("r1 ") && $0.contains("finished") }
                && !found.contains { $0.contains("Well.") })
        #expect(codex.sends("r2", "two").isEmpty)
        let said = codex.says(
            #"{"method":"turn/completed","params":{"threadId":"T","turn":{"id":"V","status":"completed","items":[]}}}"#)
        #expect(said.contains { $0.contains("turn/start") && $0.contains("r2") })
    }

    @Test("another client's turn that has just begun is in no list yet, and is not taken for over")
    func unwritten() {
        var codex = CodexConversation.going()
        #expect(codex.begins("V").contains { $0.contains("thread/turns/list") })
        _ = codex.says(Self.page(5, "U", next: nil))
        #expect(codex.sends("r2", "two").isEmpty)
        let said = codex.says(
            #"{"method":"turn/completed","params":{"threadId":"T","turn":{"id":"V","status":"completed","items":[]}}}"#)
        #expect(said.contains { $0.contains("turn/start") && $0.contains("r2") })
    }

    @Test("another client's turn that begins while a list is open holds a waiting message back")
    func beganBesideList() {
        let fact = Fact("thread:codex:ses_1", Array(#"{"thread":"T","folder":"/work"}"#.utf8))
        var codex = CodexConversation.up(facts: [fact])
        _ = codex.looksUp("r0")
        _ = codex.sends("r1", "one")
        _ = codex.says(#"{"id":3,"result":{"thread":{"id":"T","status":{"type":"idle"}},"model":"m"}}"#)
        var said = codex.says(
            #"{"method":"thread/status/changed","params":{"threadId":"T","status":{"type":"active"}}}"#)
        said += codex.begins("V")
        said += codex.says(#"{"id":4,"result":{"data":[],"nextCursor":null}}"#)
        #expect(!said.contains { $0.contains("turn/start") }, "\(said)")
        said = codex.says(
            #"{"method":"turn/completed","params":{"threadId":"T","turn":{"id":"V","status":"completed","items":[]}}}"#)
        #expect(said.contains { $0.contains("turn/start") && $0.contains("one") }, "\(said)")
    }

    @Test("another client's turn that no list has ever is over once the thread is idle")
    func neverWritten() {
        var codex = CodexConversation.going()
        _ = codex.begins("V")
        _ = codex.says(Self.page(5, "U", next: nil))
        _ = codex.sends("r2", "two")
        _ = codex.says(#"{"method":"thread/status/changed","params":{"threadId":"T","status":{"type":"idle"}}}"#)
        #expect(codex.waits(3_000).contains { $0.contains("thread/turns/list") })
        #expect(codex.says(Self.page(6, "U", next: nil)).contains { $0.contains("turn/start") && $0.contains("r2") })
    }

    @Test("another client's turn that began while the link was lost keeps the thread busy when ours is found ended")
    func beganMeanwhile() {
        var codex = CodexConversation.going()
        _ = codex.sends("r2", "two")
        _ = codex.rejoins()
        _ = codex.says(#"{"id":3,"result":\#(Self.active)}"#)
        _ = codex.says(
            #"{"id":4,"result":{"data":[{"id":"V","status":"inProgress","items":[]}],"nextCursor":"1"}}"#)
        let said = codex.says(Self.page(5, "U", next: nil))
        #expect(said.contains { $0.hasPrefix("r1 ") && $0.contains("finished") })
        #expect(!said.contains { $0.contains("turn/start") })
        let ended = codex.says(
            #"{"method":"turn/completed","params":{"threadId":"T","turn":{"id":"V","status":"completed","items":[]}}}"#)
        #expect(ended.contains { $0.contains("turn/start") && $0.contains("r2") })
    }
}
