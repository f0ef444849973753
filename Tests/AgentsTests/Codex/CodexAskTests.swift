import AgentKit
import Testing
import Vocabulary

@Suite("What Codex asks")
struct CodexAskTests {
    /// A tool of an MCP server. Two calls of it look the same.
    private static func tool(_ number: Int) -> String {
        #"{"id":\#(number),"method":"mcpServer/elicitation/request","params":{"threadId":"T","turnId":"U","serverName":"browser","mode":"form","message":"Allow screenshot?","_meta":{"codex_approval_kind":"mcp_tool_call"},"requestedSchema":{"type":"object","properties":{}}}}"#
    }
    private static let active = #"{"id":3,"result":{"thread":{"id":"T","status":{"type":"active"}}}}"#
    private static let listed = #"{"id":4,"result":{"data":[{"id":"U","status":"inProgress","items":[]}]}}"#

    @Test("two equal ones at once are two cards, and each gets its own answer")
    func equal() {
        var codex = CodexConversation.going()
        #expect(codex.says(Self.tool(5)).contains { $0.contains("approval requested U:browser#5") })
        #expect(codex.says(Self.tool(6)).contains { $0.contains("approval requested U:browser#6") })
        #expect(codex.decides("U:browser#5", .approve).contains { $0.contains(#""id":5"#) && $0.contains("accept") })
        #expect(codex.decides("U:browser#6", .deny).contains { $0.contains(#""id":6"#) && $0.contains("decline") })
    }

    @Test("the yes to one is not that to the next, equal one, whatever was lost between them")
    func lostBetween() {
        var codex = CodexConversation.going()
        _ = codex.says(Self.tool(5))
        _ = codex.decides("U:browser#5", .approve)
        _ = codex.rejoins()
        _ = codex.says(Self.active)
        _ = codex.says(Self.listed)
        let said = codex.says(Self.tool(6))
        #expect(said.contains { $0.contains("approval requested U:browser#6") })
        #expect(!said.contains { $0.hasPrefix("send") })
    }

    @Test("one that is asked again after a loss keeps its card and its answer")
    func askedAgain() {
        var codex = CodexConversation.going()
        _ = codex.says(Self.tool(5))
        _ = codex.rejoins()
        _ = codex.decides("U:browser#5", .approve)
        _ = codex.says(Self.active)
        _ = codex.says(Self.listed)
        let said = codex.says(Self.tool(5))
        #expect(said.count == 1 && said[0].contains(#""id":5"#) && said[0].contains("accept"))
    }
}
