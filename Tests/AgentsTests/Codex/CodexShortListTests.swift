import AgentKit
import Testing
import Vocabulary

/// A short list has only the first and the last message of each turn.
@Suite("Codex's turn that is listed in short")
struct CodexShortListTests {
    private static let place = Fact("thread:codex:ses_1", Array(#"{"thread":"T","folder":"/work"}"#.utf8))
    private static let active = #"{"id":3,"result":{"thread":{"id":"T","status":{"type":"active"}}}}"#
    private static let activity =
        #"{"type":"subAgentActivity","id":"s","kind":"started","agentThreadId":"C","agentPath":"/apprentice"}"#

    private static func message(_ id: String) -> String {
        #"{"type":"agentMessage","id":"\#(id)","text":"Said \#(id)."}"#
    }

    private static func items(_ number: Int, _ items: [String], next: String?) -> String {
        let data = items.map { #"{"turnId":"U","item":\#($0)}"# }.joined(separator: ",")
        let cursor = next.map { "\"\($0)\"" } ?? "null"
        return #"{"id":\#(number),"result":{"data":[\#(data)],"nextCursor":\#(cursor)}}"#
    }

    private static func short(_ number: Int, _ status: String) -> String {
        let question = #"{"type":"userMessage","id":"q","clientId":"r1"}"#
        let items = "[\(question),\(message("c"))]"
        return
            #"{"id":\#(number),"result":{"data":[{"id":"U","status":"\#(status)","itemsView":"summary","items":\#(items)}],"nextCursor":null}}"#
    }

    /// The list broke the connection twice, so the machine requests the short form. `isAdopted` puts a restart of the
    /// bridge before that.
    private static func listed(isAdopted: Bool) -> CodexConversation {
        var codex = CodexConversation.going()
        if isAdopted {
            let earlier = EarlierTurn(
                session: CodexConversation.chat, runs: [EarlierTurn.Run(RunID("r1"), text: "one")], isAccepted: true,
                isStopping: false, receivedAt: .zero, decisions: [], detached: [])
            codex = .up(facts: [place], turns: [earlier])
        } else {
            _ = codex.says(
                #"{"method":"item/completed","params":{"threadId":"T","turnId":"U","item":\#(message("a"))}}"#)
            _ = codex.rejoins()
        }
        for _ in 0..<2 {
            _ = codex.says(active)
            _ = codex.rejoins()
        }
        #expect(codex.says(active).contains { $0.contains(#""itemsView":"summary""#) })
        return codex
    }

    @Test("has its other messages read page by page, and none of them is lost behind a restart")
    func adopted() {
        var codex = Self.listed(isAdopted: true)
        let asked = codex.says(Self.short(4, "inProgress"))
        #expect(asked.contains { $0.contains("thread/items/list") && $0.contains(#""turnId":"U""#) })
        #expect(!asked.contains { $0.contains("snapshot") })
        let more = codex.says(
            Self.items(5, [Self.message("a"), Self.activity, Self.message("b")], next: "n"))
        #expect(more.contains { $0.contains("thread/items/list") && $0.contains(#""cursor":"n""#) })
        let again = codex.says(Self.items(6, [Self.message("c")], next: nil))
        #expect(again.contains { $0.contains("thread/turns/list") })
        let found = codex.says(Self.short(7, "inProgress"))
        #expect(found.contains { $0.contains("snapshot") && $0.contains("Said a.") && $0.contains("Said b.") })
        #expect(found.contains { $0.contains("thread/resume") && $0.contains(#""threadId":"C""#) })
    }

    @Test("says what was missed in its order, once each, and then its end")
    func missed() {
        var codex = Self.listed(isAdopted: false)
        _ = codex.says(Self.short(4, "completed"))
        let said = codex.says(
            Self.items(5, [Self.message("a"), Self.message("b"), Self.message("c")], next: nil))
        let texts = said.filter { $0.contains("segment ended") }
        #expect(texts.count == 2 && texts.first?.contains("Said b.") == true && texts.last?.contains("Said c.") == true)
        let end = codex.says(Self.short(6, "completed"))
        #expect(end.contains { $0.contains("finished") } && !end.contains { $0.contains("Said") })
    }

    @Test("by a server without lists of items adds its last message to what is known")
    func unsupported() {
        var codex = Self.listed(isAdopted: true)
        _ = codex.says(Self.short(4, "completed"))
        let again = codex.says(#"{"id":5,"error":{"code":-32601,"message":"not supported by the thread store"}}"#)
        #expect(again.contains { $0.contains("thread/turns/list") })
        let found = codex.says(Self.short(6, "completed"))
        #expect(!found.contains { $0.contains("snapshot") })
        #expect(found.contains { $0.contains(#"segment "Said c.""#) } && found.contains { $0.contains("finished") })
    }
}
