import Testing

@testable import OpenClaw

@Suite("Files that an OpenClaw agent sends")
struct AgentFilesTests {
    @Test("in a row of the history they are lines, but within a fence")
    func lines() {
        #expect(AgentFiles.named(in: "Here.\nMEDIA: ./a.png") == "Here.\n\nFile: ./a.png")
        let fenced = "So:\n```\nMEDIA: ./a.png\n```"
        #expect(AgentFiles.named(in: fenced) == fenced)
        #expect(AgentFiles.named(in: fenced + "\nMEDIA: ./b.png") == fenced + "\n\nFile: ./b.png")
    }
}
