import AgentKit
import Testing
import Vocabulary

/// A yes covers only the patch on the card, but Codex applies the item's newest patch.
@Suite("Codex: patches that change, and items of one name")
struct CodexPatchTests {
    private static func frame(_ method: String, _ members: String, thread: String = "T", turn: String = "U") -> String {
        #"{"method":"\#(method)","params":{"threadId":"\#(thread)","turnId":"\#(turn)",\#(members)}}"#
    }
    private static func changes(_ path: String, _ text: String) -> String {
        #""changes":[{"path":"\#(path)","kind":{"type":"update","move_path":null},"diff":"\#(text)"}]"#
    }
    private static func item(_ path: String, _ text: String, status: String = "inProgress") -> String {
        #""item":{"type":"fileChange","id":"call_0","status":"\#(status)",\#(changes(path, text))}"#
    }
    private static func patched(_ path: String, _ text: String) -> String {
        frame("item/fileChange/patchUpdated", #""itemId":"call_0",\#(changes(path, text))"#)
    }
    private static func ask(_ number: Int = 0, thread: String = "T", turn: String = "U") -> String {
        #"{"id":\#(number),"method":"item/fileChange/requestApproval","params":{"threadId":"\#(thread)","turnId":"\#(turn)","itemId":"call_0","reason":null,"grantRoot":null}}"#
    }
    private static func card(_ said: [String]) -> String { said.first { $0.contains("approval requested") } ?? "" }
    private static func accepts(_ number: Int) -> String { #"send {"id":\#(number),"result":{"decision":"accept"}}"# }

    // MARK: Patches that change

    @Test("a patch that is another one now is asked anew, and no yes for the first is taken", arguments: [true, false])
    func changes(isStartedAgain: Bool) {
        var codex = CodexConversation.going()
        _ = codex.says(Self.frame("item/started", Self.item("/w/README", "+ hello")))
        _ = codex.says(Self.ask())
        let again = Self.frame("item/started", Self.item("/w/.bashrc", "+ evil"))
        let said = codex.says(isStartedAgain ? again : Self.patched("/w/.bashrc", "+ evil"))
        #expect(said.contains { $0.contains("approval settled U:call_0 cancelled") }, "\(said)")
        #expect(Self.card(said).contains("requested U:call_0:2 ") && Self.card(said).contains("+ evil"))
        #expect(!Self.card(said).contains("hello") && Self.card(said).contains(#"path="/w/.bashrc""#))
        #expect(!codex.decides("U:call_0", .approve).contains { $0.hasPrefix("send") })
        #expect(codex.decides("U:call_0:2", .approve) == [Self.accepts(0)])
    }

    @Test("the same patch once more is the same ask, and one back to the first a third")
    func same() {
        var codex = CodexConversation.going()
        _ = codex.says(Self.frame("item/started", Self.item("/w/a", "1")))
        _ = codex.says(Self.ask())
        #expect(codex.says(Self.patched("/w/a", "1")) == ["r1 codex:ses_1 alive, working"])
        #expect(Self.card(codex.says(Self.patched("/w/a", "2"))).contains("U:call_0:2 "))
        #expect(Self.card(codex.says(Self.patched("/w/a", "1"))).contains("U:call_0:3 "))
        #expect(!codex.decides("U:call_0:2", .approve).contains { $0.hasPrefix("send") })
        #expect(codex.decides("U:call_0:3", .approve) == [Self.accepts(0)])
        #expect(codex.says(Self.patched("/w/a", "2")) == [], "it is decided")
    }

    @Test("one that comes when its ask has nothing to show makes it whole")
    func late() {
        var codex = CodexConversation.going()
        #expect(Self.card(codex.says(Self.ask())).contains("incomplete"))
        let said = codex.says(Self.frame("item/started", Self.item("/w/a", "1")))
        #expect(Self.card(said).contains("U:call_0:2 ") && !Self.card(said).contains("incomplete"))
    }

    // MARK: Items of one name

    /// A sub-agent works in thread `C`, turn `V`, beside turn `U`.
    private static func withChild() -> CodexConversation {
        var codex = CodexConversation.going()
        _ = codex.says(
            frame(
                "item/started",
                #""item":{"type":"subAgentActivity","id":"s","kind":"started","agentThreadId":"C","agentPath":"/apprentice"}"#
            ))
        _ = codex.says(#"{"method":"turn/started","params":{"threadId":"C","turn":{"id":"V"}}}"#)
        return codex
    }

    @Test("an ask shows the patch of its own item, and not of a sub-agent's with the same name")
    func apart() {
        var codex = Self.withChild()
        let first = codex.says(Self.frame("item/started", Self.item("/w/README", "+ hello")))
        let second = codex.says(Self.frame("item/started", Self.item("/w/.bashrc", "+ evil"), thread: "C", turn: "V"))
        #expect(first.contains { $0.contains("tool started call_0 ") })
        #expect(second.contains { $0.contains("tool started call_0@C ") }, "\(second)")
        let main = Self.card(codex.says(Self.ask()))
        let child = Self.card(codex.says(Self.ask(1, thread: "C", turn: "V")))
        #expect(main.contains("requested U:call_0 ") && main.contains("+ hello") && main.contains("call=\"call_0\""))
        #expect(
            child.contains("requested V:call_0 ") && child.contains("+ evil") && child.contains("call=\"call_0@C\""))
        #expect(!main.contains("evil") && !child.contains("hello"))
        // The patch of one does not change the ask of the other either.
        let beside = codex.says(Self.frame("item/started", Self.item("/w/.bashrc", "+ evil"), thread: "C", turn: "V"))
        #expect(beside == ["r1 codex:ses_1 alive, working"])
    }

    @Test("the end of a sub-agent's item decides nothing of the chat's own, and the other way round")
    func ended() {
        var codex = Self.withChild()
        _ = codex.says(Self.frame("item/started", Self.item("/w/README", "+ hello")))
        _ = codex.says(Self.frame("item/started", Self.item("/w/x", "+ x"), thread: "C", turn: "V"))
        _ = codex.says(Self.ask())
        let over = Self.item("/w/x", "+ x", status: "completed")
        let said = codex.says(Self.frame("item/completed", over, thread: "C", turn: "V"))
        #expect(said.contains { $0.contains("tool finished call_0@C ") }, "\(said)")
        #expect(!said.contains { $0.contains("settled") }, "\(said)")
        #expect(codex.decides("U:call_0", .deny) == [#"send {"id":0,"result":{"decision":"decline"}}"#])
        let own = codex.says(Self.frame("item/completed", Self.item("/w/README", "+ hello", status: "declined")))
        #expect(own.contains { $0.contains("approval settled U:call_0 decided") }, "\(own)")
    }
}
