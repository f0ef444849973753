import AgentKit
import BridgeModel
import Testing

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
}
