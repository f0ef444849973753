import AgentKit
import Testing
import Vocabulary

@Suite("Codex: the way back to a turn")
struct CodexRejoinTests {
    private static let active = #"{"id":3,"result":{"thread":{"id":"T","status":{"type":"active"}}}}"#

    private static func refusal(_ number: Int, code: Int, _ message: String) -> String {
        #"{"id":\#(number),"error":{"code":\#(code),"message":"\#(message)"}}"#
    }

    // MARK: The server

    @Test("a connection that is cut is dialled again, and no server is started beside the one that lives")
    func cut() {
        var codex = CodexConversation.going()
        #expect(codex.breaks() == ["link lost", "run codex --version"])
        #expect(codex.ran("codex-cli 0.163.0") == ["open 1 /state/codex.sock"])
        #expect(codex.greets().contains { $0.contains("thread/resume") })
    }

    @Test("one that is cut in the handshake is dialled again too")
    func cutInHandshake() {
        var codex = CodexConversation()
        _ = codex.ran("codex-cli 0.163.0")
        _ = codex.opens()
        #expect(!codex.breaks().contains { $0.hasPrefix("keep") })
        #expect(codex.waits(1_100).contains("run codex --version"))
    }

    @Test("the end of a server that was not needed leaves the one that answered known")
    func notNeeded() {
        let process = ProcessName(id: 7, startTicks: 1)
        var codex = CodexConversation(facts: [Fact("server", Array("0.150.0 F".utf8))], processes: [process])
        _ = codex.ran("codex-cli 0.163.0")
        _ = codex.fails()
        _ = codex.isDone()
        _ = codex.finished(.read([], size: 0))
        _ = codex.waits(300)
        _ = codex.greets()
        _ = codex.spawns(9)
        _ = codex.exits()
        // After a change of its settings this server is the one to end.
        #expect(codex.uses(fingerprint: "G") == [#"send {"id":3,"method":"thread/loaded/list","params":{}}"#])
        #expect(codex.says(#"{"id":3,"result":{"data":[],"nextCursor":null}}"#).contains("end 7"))
    }

    @Test("a server that is too busy to open the thread is asked on, and the turn's bubble stays")
    func overloadedJoin() {
        var codex = CodexConversation.going()
        var said = codex.aborts("r1") + codex.rejoins()
        for number in 3..<13 {
            var again = codex.says(Self.refusal(number, code: -32_001, "Server overloaded; retry later."))
            // The pause grows from one refusal to the next.
            for _ in 0..<40 where again.last?.contains("thread/resume") != true { again += codex.waits(1_000) }
            said += again
        }
        #expect(!said.contains { $0.contains("failed") || $0.contains("finished") || $0.contains("stop of r1") })
        #expect(said.last?.contains("thread/resume") == true)
    }

    @Test("a message that may have reached a server which is gone with its thread is not sent again")
    func goneWithThread() {
        var codex = CodexConversation.up()
        _ = codex.sends("r1", "one")
        _ = codex.says(#"{"id":3,"result":{"thread":{"id":"T","status":{"type":"idle"}},"model":"m"}}"#)
        #expect(codex.isDone().contains { $0.contains("turn/start") })
        _ = codex.rejoins()
        let why = "failed to read thread: rollout at /t.jsonl is empty"
        var said = codex.says(Self.refusal(3, code: -32_603, why))
        said += codex.says(Self.refusal(4, code: -32_603, why))
        #expect(said.contains { $0.contains("thread/resume") })
        #expect(said.contains { $0.hasPrefix("r1 ") && $0.contains("failed") && $0.contains("cannot be known") })
        #expect(!said.contains { $0.contains("thread/start") })
    }

    @Test("nor behind a second loss, when the thread is loaded because the bridge has opened it")
    func lostTwice() {
        var codex = CodexConversation.up()
        _ = codex.sends("r1", "one")
        _ = codex.says(#"{"id":3,"result":{"thread":{"id":"T","status":{"type":"idle"}},"model":"m"}}"#)
        #expect(codex.isDone().contains { $0.contains("turn/start") })
        func isSeen(_ status: String) -> String {
            #"{"id":3,"result":{"thread":{"id":"T","status":{"type":"\#(status)"}}}}"#
        }
        _ = codex.rejoins()
        _ = codex.says(isSeen("notLoaded"))
        _ = codex.says(#"{"id":4,"result":{"thread":{"id":"T","status":{"type":"idle"}}}}"#)
        _ = codex.rejoins()
        _ = codex.says(isSeen("idle"))
        var said = codex.says(#"{"id":4,"result":{"thread":{"id":"T","status":{"type":"idle"}}}}"#)
        for number in 5..<9 {
            said += codex.says(#"{"id":\#(number),"result":{"data":[]}}"#)
            said += codex.waits(1_000)
        }
        #expect(said.contains { $0.hasPrefix("r1 ") && $0.contains("failed") && $0.contains("cannot be known") })
        #expect(!said.contains { $0.contains("turn/start") })
    }

    // MARK: The list

    @Test("an overloaded server is asked for the list again, and the turn's bubble stays")
    func overloaded() {
        var codex = CodexConversation.going()
        _ = codex.rejoins()
        #expect(codex.says(Self.active).contains { $0.contains("thread/turns/list") })
        var said = codex.says(Self.refusal(4, code: -32_001, "Server overloaded; retry later."))
        said += codex.waits(2_000)
        #expect(!said.contains { $0.contains("failed") || $0.contains("finished") })
        #expect(said.contains { $0.contains("thread/resume") })
        let list = codex.says(#"{"id":5,"result":{"thread":{"id":"T","status":{"type":"active"}}}}"#)
        #expect(list.contains { $0.contains("thread/turns/list") })
        let found = codex.says(
            #"{"id":6,"result":{"data":[{"id":"U","status":"completed","items":[{"type":"agentMessage","id":"a","text":"Well."}]}]}}"#
        )
        #expect(found.contains { $0.contains(#"segment ended "Well.""#) })
    }

    @Test("a list that is always refused ends the turn with a sentence, and nothing is written to its thread")
    func refused() {
        var codex = CodexConversation.going()
        _ = codex.sends("r2", "two")
        _ = codex.rejoins()
        var said: [String] = []
        var number = 3
        for _ in 0..<5 {
            said += codex.says(#"{"id":\#(number),"result":{"thread":{"id":"T","status":{"type":"active"}}}}"#)
            said += codex.says(Self.refusal(number + 1, code: -32_603, "the index is broken"))
            // The pause grows from one refusal to the next.
            for _ in 0..<40 where said.last?.contains("thread/resume") != true { said += codex.waits(1_000) }
            number += 2
        }
        #expect(said.contains { $0.contains("failed") && $0.contains("the index is broken") })
        #expect(said.contains { $0.hasPrefix("send r2 not made") })
        #expect(!said.contains { $0.contains("turn/start") })
    }

    @Test("frames that came before the refusal leave no hole in a message")
    func noHole() {
        var codex = CodexConversation.going()
        _ = codex.says(
            #"{"method":"item/started","params":{"threadId":"T","turnId":"U","item":{"type":"agentMessage","id":"a"}}}"#
        )
        #expect(codex.looksUp("r0").contains { $0.contains("thread/turns/list") })
        func delta(_ text: String) -> String {
            let params = #"{"threadId":"T","turnId":"U","itemId":"a","delta":"\#(text)"}"#
            return #"{"method":"item/agentMessage/delta","params":\#(params)}"#
        }
        #expect(codex.says(delta("one ")).isEmpty)
        let said =
            codex.says(Self.refusal(5, code: -32_001, "Server overloaded; retry later.")) + codex.says(delta("two"))
        #expect(said.filter { $0.contains("append") }.count == 2)
    }
}
