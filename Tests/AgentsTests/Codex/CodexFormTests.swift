import AgentKit
import Codex
import Testing
import Vocabulary

@Suite("What Codex asks in forms")
struct CodexFormTests {
    private func ask(_ params: String) -> String {
        #"{"id":7,"method":"mcpServer/elicitation/request","params":{"threadId":"T","turnId":"U","serverName":"garden","mode":"form",\#(params)}}"#
    }

    @Test("members are asked one by one, and answered together")
    func members() {
        var codex = CodexConversation.going()
        let properties =
            #"{"bed":{"type":"string","enum":["north","south"]},"deep":{"type":"boolean"},"litres":{"type":"integer"}}"#
        let asked = codex.says(
            ask(#""message":"Water?","requestedSchema":{"type":"object","properties":\#(properties)}"#))
        let names = asked.compactMap { $0.firstMatch(of: /asked (\S+)/).map { String($0.output.1) } }
        #expect(names.count == 3)
        guard names.count == 3 else { return }
        #expect(codex.answers(names[0], .choices(["south"])).allSatisfy { !$0.hasPrefix("send") })
        #expect(codex.answers(names[1], .choices(["true"])).allSatisfy { !$0.hasPrefix("send") })
        #expect(
            codex.answers(names[2], .text("12")).contains(
                #"send {"id":7,"result":{"action":"accept","content":{"bed":"south","deep":true,"litres":12}}}"#))
    }

    @Test(
        "words where a number is wanted decline the form at once, and the bubble says so",
        arguments: [("number", "twelve"), ("integer", "1.5")])
    func noNumber(type: String, words: String) {
        var codex = CodexConversation.going()
        let properties = #"{"litres":{"type":"\#(type)"},"deep":{"type":"boolean"}}"#
        let asked = codex.says(
            ask(#""message":"Water?","requestedSchema":{"type":"object","properties":\#(properties)}"#))
        let names = asked.compactMap { $0.firstMatch(of: /asked (\S+)/).map { String($0.output.1) } }
        #expect(names.count == 2)
        guard names.count == 2 else { return }
        let lines = codex.answers(names[0], .text(words))
        #expect(lines.contains(#"send {"id":7,"result":{"action":"decline"}}"#), "\(lines)")
        #expect(lines.contains { $0.contains("is told") && $0.contains("no number") }, "\(lines)")
    }

    @Test("a number with a point is one where no integer is wanted")
    func point() {
        var codex = CodexConversation.going()
        let asked = codex.says(
            ask(#""message":"Water?","requestedSchema":{"properties":{"litres":{"type":"number"}}}"#))
        let name = asked.compactMap { $0.firstMatch(of: /asked (\S+)/).map { String($0.output.1) } }.first ?? "?"
        let lines = codex.answers(name, .text("1.5"))
        #expect(lines.contains(#"send {"id":7,"result":{"action":"accept","content":{"litres":1.5}}}"#), "\(lines)")
    }

    @Test("an address and an unknown member are refused at once")
    func refused() {
        var codex = CodexConversation.going()
        #expect(
            codex.says(ask(#""message":"Look","requestedSchema":{"properties":{"a":{"type":"array"}}}"#))
                == [#"send {"id":7,"result":{"action":"cancel"}}"#])
        #expect(
            codex.says(
                ask(#""message":"Look","url":"https://example.org""#).replacing(
                    #""mode":"form""#, with: #""mode":"url""#))
                == [#"send {"id":7,"result":{"action":"cancel"}}"#])
    }

    @Test("a secret is not asked for in a chat")
    func secret() {
        var codex = CodexConversation.going()
        let question = #"{"id":"key","header":"Key","question":"Which?","isSecret":true,"options":[]}"#
        let request =
            #"{"id":7,"method":"item/tool/requestUserInput","params":{"threadId":"T","turnId":"U","itemId":"i","questions":[\#(question)]}}"#
        #expect(codex.says(request) == [#"send {"id":7,"result":{"answers":{}}}"#])
    }

    // MARK: Circumstances of the questions

    @Test("what a form is about stands whole above its first question, with each field that nobody knows")
    func head() {
        var codex = CodexConversation.going()
        let message = String(repeating: "word ", count: 60) + "end"
        let asked = codex.says(
            ask(
                #""message":"\#(message)","grants":{"all":"/"},"requestedSchema":{"type":"object","description":"For ever","properties":{"a":{"type":"string","title":"Name","description":"It is public","format":"email"},"b":{"type":"boolean"}}}"#
            ))
        let first = asked.first { $0.contains(" asked ") } ?? ""
        #expect(first.contains(#""garden asks""#))
        for text in [
            message, #"grants: {\"all\":\"/\"}"#, "requestedSchema.description: For ever", "format: email",
            #"Name\n\nIt is public"#,
        ] { #expect(first.contains(text), "\(text) in \(first)") }
        #expect(asked.last?.contains("grants") == false)
    }

    @Test("a form without members shows what it asks for, unless that is nothing")
    func withoutMembers() {
        for (schema, shows) in [
            (#"{"type":"object","properties":{}}"#, false),
            (#"{"type":"object","properties":{},"description":"All your files"}"#, true),
            (#"{"type":"string","title":"All your files"}"#, true), (#"[{"All your files":1}]"#, true), ("null", false),
        ] {
            var codex = CodexConversation.going()
            let card = codex.says(ask(#""message":"Sure?","requestedSchema":\#(schema)"#)).joined()
            #expect(card.contains("approval requested"))
            #expect(card.contains("requestedSchema: ") == shows && card.contains("All your files") == shows, "\(card)")
        }
    }

    private static func input(_ questions: String, _ members: String = "") -> String {
        #"{"id":7,"method":"item/tool/requestUserInput","params":{"threadId":"T","turnId":"U","itemId":"i","questions":[\#(questions)]\#(members)}}"#
    }

    @Test("a request for input shows the fields that nobody knows, and no value of them makes a line of its own")
    func unknownFields() {
        var codex = CodexConversation.going()
        let one = #"{"id":"a","header":"A","question":"Which?","options":[],"sendsTo":"evil.example"}"#
        let asked = codex.says(
            Self.input(one, #","isBlocking":true,"autoResolutionMs":9,"note":"a\nsafe: yes""#)
        ).joined()
        #expect(asked.contains("autoResolutionMs: 9") && asked.contains("sendsTo: evil.example"), "\(asked)")
        #expect(asked.contains(#"note: \"a\\nsafe: yes\""#) && !asked.contains("isBlocking"), "\(asked)")
    }

    @Test("in a recording a question that another client answers, or whose turn is over, is settled")
    func settledInRecording() {
        let one = #"{"id":"a","header":"A","question":"Which?","options":[]}"#
        let resolved = #"{"method":"serverRequest/resolved","params":{"threadId":"T","requestId":7}}"#
        var codex = Conversation(CodexPlugin())
        _ = codex.receives(#"{"method":"turn/started","params":{"threadId":"T","turn":{"id":"U"}}}"#)
        let asked = codex.receives(Self.input(one))
        #expect(asked.count == 1)
        let elsewhere = codex.receives(resolved)
        #expect(elsewhere.count == 1 && elsewhere[0].hasSuffix(" answeredElsewhere"), "\(elsewhere)")
        _ = codex.receives(Self.input(one))
        _ = codex.receives(
            #"{"method":"turn/completed","params":{"threadId":"T","turn":{"id":"U","status":"interrupted"}}}"#)
        let over = codex.receives(resolved)
        #expect(over.count == 1 && over[0].hasSuffix(" cancelled"), "\(over)")
    }

    @Test("two questions of one name are refused: one answer would be that of both")
    func repeated() {
        let one = #"{"id":"a","header":"A","question":"Which?","options":[]}"#
        var codex = CodexConversation.going()
        #expect(codex.says(Self.input("\(one),\(one)")) == [#"send {"id":7,"result":{"answers":{}}}"#])
        let twice = #"{"type":"object","properties":{"a":{"type":"string"},"a":{"type":"boolean"}}}"#
        #expect(
            codex.says(ask(#""message":"m","requestedSchema":\#(twice)"#))
                == [#"send {"id":7,"result":{"action":"cancel"}}"#])
    }
}
