import AgentKit
import Testing
import Vocabulary

/// The real Codex lists no open item, and asks again for its change without a diff.
@Suite("Codex: a change of files that is asked again when its thread is resumed")
struct CodexOpenChangeTests {
    private static let place = Fact("thread:codex:ses_1", Array(#"{"thread":"T","folder":"/site"}"#.utf8))

    private static func item(_ text: String, _ id: String = "c1", status: String = "inProgress") -> String {
        #"{"type":"fileChange","id":"\#(id)","status":"\#(status)","changes":[{"path":"/w/a","kind":{"type":"add"},"diff":"\#(text)"}]}"#
    }
    /// The answer to the resume, with the newest turn.
    private static func resumed(_ items: String..., turn: String = "U") -> String {
        let page =
            #"{"data":[{"id":"\#(turn)","status":"inProgress","items":[\#(items.joined(separator: ","))]}],"nextCursor":null}"#
        return
            #"{"id":3,"result":{"thread":{"id":"T","status":{"type":"active"}},"initialTurnsPage":\#(page)}}"#
    }
    private static let listed =
        #"{"id":4,"result":{"data":[{"id":"U","status":"inProgress","items":[{"type":"userMessage","id":"m","clientId":"r1","content":[]}]}]}}"#
    private static func ask(_ number: Int = 0) -> String {
        #"{"id":\#(number),"method":"item/fileChange/requestApproval","params":{"threadId":"T","turnId":"U","itemId":"c1","reason":null,"grantRoot":null}}"#
    }
    private static func frame(_ method: String, _ members: String) -> String {
        #"{"method":"\#(method)","params":{"threadId":"T","turnId":"U",\#(members)}}"#
    }
    /// Fingerprint of the card in the process that saw the item begin.
    private static func fingerprint(_ text: String) -> AskFingerprint {
        let head = AskFacts.Line("File 1 of 1", "Add /w/a")
        return AskFingerprint(
            of: ApprovalRequest(
                id: ApprovalID("x"), subject: .permission, title: "Change files?", message: "Add /w/a\n\(text)",
                facts: AskFacts(lines: [head], paths: ["/w/a"])))
    }

    /// An earlier process had turn `U` under way for run `r1`, with a card for the change.
    private static func earlier(_ shown: String?, decided: ApprovalDecision? = nil) -> CodexConversation {
        let name = ApprovalID("U:c1")
        let asks = shown.map { [EarlierTurn.Ask(name, fingerprint: fingerprint($0), isOver: false)] } ?? []
        let decisions = decided.map {
            [
                EarlierTurn.Decision(
                    $0, scope: .unscoped, of: name, subject: .permission, decidedAt: nil, expiresAt: nil,
                    fingerprint: shown.map { fingerprint($0) })
            ]
        }
        let run = EarlierTurn.Run(RunID("r1"), text: "one", folder: "/site")
        let turn = EarlierTurn(
            session: CodexConversation.chat, runs: [run], isAccepted: true, isStopping: false, receivedAt: .zero,
            decisions: decisions ?? [], asks: asks, detached: [])
        return CodexConversation.up(facts: [place], turns: [turn])
    }

    private static func card(_ said: [String]) -> String { said.first { $0.contains("approval requested") } ?? "" }

    @Test("the resume of a thread with a turn has its open items, and the ask keeps its name")
    func isTheSame() {
        var codex = Self.earlier("text")
        _ = codex.says(Self.resumed(Self.item("text")))
        let said = codex.says(Self.ask()) + codex.says(Self.listed)
        #expect(Self.card(said).contains("requested U:c1 ") && Self.card(said).contains(#"Add /w/a\ntext"#))
        #expect(!Self.card(said).contains("incomplete"))
        #expect(codex.decides("U:c1", .approve) == [#"send {"id":0,"result":{"decision":"accept"}}"#])
    }

    @Test("a decision that was not delivered is for that change alone")
    func decided() {
        for (text, isAnswered) in [("text", true), ("other", false)] {
            var codex = Self.earlier("text", decided: .approve)
            _ = codex.says(Self.resumed(Self.item(text)))
            let said = codex.says(Self.ask()) + codex.says(Self.listed)
            #expect(said.contains { $0.contains("accept") } == isAnswered)
            #expect(Self.card(said).contains("U:c1:2") == !isAnswered)
        }
    }

    @Test("one that began while no bridge was there is shown whole")
    func unseen() {
        var codex = Self.earlier(nil)
        _ = codex.says(Self.resumed(Self.item("text")))
        let said = codex.says(Self.ask()) + codex.says(Self.listed)
        #expect(Self.card(said).contains(#"Add /w/a\ntext"#) && !Self.card(said).contains("incomplete"))
    }

    @Test("the page is asked for where a turn goes on, until connections are lost over it")
    func page() {
        var codex = Self.earlier("text")
        var pages: [Bool] = []
        for _ in 0..<3 {
            pages += codex.rejoins().filter { $0.contains("thread/resume") }.map { $0.contains("initialTurnsPage") }
        }
        #expect(pages == [true, false, false])
        var idle = CodexConversation.up(facts: [Self.place])
        let said = idle.sends("r2", "two", in: "/site")
        #expect(said.contains { $0.contains("thread/resume") && !$0.contains("initialTurnsPage") })
    }

    @Test("frames of the item itself take the place of what the resume said")
    func newer() {
        let other = #""itemId":"c1","changes":[{"path":"/w/a","kind":{"type":"add"},"diff":"newer"}]"#
        let began = #""item":\#(Self.item("newer"))"#
        let ended = #""item":\#(Self.item("text", status: "completed"))"#
        for (method, members, shows) in [
            ("item/fileChange/patchUpdated", other, "newer"), ("item/started", began, "newer"),
            ("item/completed", ended, nil),
        ] {
            var codex = Self.earlier(nil)
            _ = codex.says(Self.resumed(Self.item("text")))
            _ = codex.says(Self.frame(method, members))
            let said = codex.says(Self.ask()) + codex.says(Self.listed)
            #expect(!Self.card(said).isEmpty && !Self.card(said).contains("text"))
            #expect(shows.map { Self.card(said).contains($0) } ?? Self.card(said).contains("incomplete"))
        }
    }

    @Test("an item of another turn, one that is over and two of one name say nothing")
    func ambiguous() {
        let twice = Self.resumed(Self.item("text"), Self.item("other"))
        let over = Self.resumed(Self.item("text", status: "completed"))
        for answer in [twice, over, Self.resumed(Self.item("text"), turn: "S")] {
            var codex = Self.earlier(nil)
            _ = codex.says(answer)
            let said = codex.says(Self.ask()) + codex.says(Self.listed)
            #expect(Self.card(said).contains("incomplete"))
        }
    }
}
