import AgentKit
import Agents
import BridgeService
import FoundationEssentials
import Pi
import Recording
import Testing

@Suite("Which agent a recording comes from")
struct RecognitionTests {
    /// First frames of agents that the bridge does not know, with words that occur in known recordings.
    private static let foreign = [
        // The Agent Client Protocol, with its session ids.
        #"""
        {"at_ms":0,"dir":"out","frame":{"_proc":"spawn","args":["--acp"]}}
        {"at_ms":1,"dir":"out","frame":{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":"hi"}]}}}
        {"at_ms":2,"dir":"in","frame":{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"type":"event"}}}}
        {"at_ms":3,"dir":"in","frame":{"_proc":"exit","code":0}}
        """#,
        // JSON-RPC of another program: requests and notifications without a type.
        #"""
        {"at_ms":0,"dir":"out","frame":{"id":1,"method":"textDocument/open","params":{"type":"prompt"}}}
        {"at_ms":1,"dir":"in","frame":{"method":"window/logMessage","params":{"item":{"type":"response","id":"1"}}}}
        """#,
        // Frames with types of Claude Code, but without the members that its frames have.
        #"""
        {"at_ms":0,"dir":"out","frame":{"type":"control_request","request_id":"r1","request":{"type":"req"}}}
        {"at_ms":1,"dir":"in","frame":{"type":"stream_event","event":{"type":"message_update"},"session_id":"s1"}}
        {"at_ms":2,"dir":"in","frame":{"type":"result","subtype":"success","sessionId":"s1"}}
        """#,
        // A frame of no agent.
        #"{"at_ms":0,"dir":"in","frame":{"hello":"world","type":"greeting"}}"#,
    ]

    private static func code(_ body: () throws -> some Any) -> RecordingError.Code? {
        do { _ = try body() } catch { return (error as? RecordingError)?.code }
        return nil
    }

    private static func file(_ text: String, _ body: (String) throws -> Void) throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "recognition-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(text.utf8).write(to: file)
        try body(file.path())
    }

    @Test("each recorded trace is its agent's", arguments: Fixtures.traces)
    func traces(trace: String) throws {
        let agent = try AgentRegistry.all.recognised(in: Fixtures.trace(trace))
        #expect(trace.hasPrefix(agent.kind.rawValue))
    }

    @Test("a recording of an unknown agent is nobody's, whatever its frames carry within", arguments: foreign)
    func unknown(text: String) throws {
        try Self.file(text) { file in
            #expect(Self.code { try AgentRegistry.all.recognised(in: file) } == .unknownAgent)
            #expect(Self.code { try VirtualReplay.play(file: file, of: .all) } == .unknownAgent)
        }
    }

    @Test(
        "a recording that is read as another agent's has nothing to tell, and says so", arguments: foreign,
        AgentRegistry.all.kinds)
    func wrong(text: String, kind: AgentKind) throws {
        let agent = AgentRegistry.all[kind: kind]
        try Self.file(text) { file in
            #expect(Self.code { try VirtualReplay.play(file: file, as: agent, of: .all) } == .nothingRead)
        }
    }

    @Test("a file without frames has nothing to tell")
    func empty() throws {
        try Self.file("") { file in
            #expect(Self.code { try AgentRegistry.all.recognised(in: file) } == .empty)
            #expect(Self.code { try VirtualReplay.play(file: file, as: PiPlugin(), of: .all) } == .nothingRead)
        }
    }

    @Test("a header that names another agent asks which one to take")
    func header() throws {
        let text = #"""
            {"sophon_recording":1,"agent":"hermes","date":"2026-01-01T00:00:00Z"}
            {"at_ms":0,"dir":"in","frame":{"type":"event","event":"tick"}}
            """#
        try Self.file(text) { file in
            #expect(Self.code { try AgentRegistry.all.recognised(in: file) } == .unknownAgent)
        }
    }

    @Test("the children of one recording are followed each by itself, whatever is printed in front of their records")
    func children() throws {
        func line(_ at: Int, _ stream: Int, _ frame: String, out: Bool = false) -> String {
            #"{"at_ms":\#(at),"link":"agent","stream":\#(stream),"dir":"\#(out ? "out" : "in")","frame":\#(frame)}"#
        }
        func delta(_ text: String) -> String {
            #"{"type":"message_update","assistantMessageEvent":{"type":"text_delta","delta":"\#(text)"}}"#
        }
        func end(_ text: String) -> String {
            #"{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"\#(text)"}],"stopReason":"stop"}}"#
        }
        let recording = [
            line(0, 1, #"{"type":"prompt","id":"sb-2","message":"One?"}"#, out: true),
            line(1, 3, #"{"type":"prompt","id":"sb-2","message":"Two?"}"#, out: true),
            line(2, 1, #"{"type":"agent_start"}"#), line(3, 3, #"{"type":"agent_start"}"#),
            line(4, 1, delta("Fir")), line(5, 3, delta("Sec")), line(6, 1, end("First")), line(7, 3, end("Second")),
            line(8, 3, #"{"type":"agent_end","messages":[]}"#),
            line(9, 1, #"{"_raw":"noise{\"type\":\"agent_end\",\"messages\":[]}"}"#),
        ]
        try Self.file(recording.joined(separator: "\n")) { file in
            let ends = try VirtualReplay.play(file: file, as: PiPlugin(), of: .all).lines
                .filter { $0.contains("sendMessageEnd") }
            #expect(ends.count == 2)
            #expect(ends.contains { $0.contains("First") } && ends.contains { $0.contains("Second") })
        }
    }

    @Test("frames that are understood and begin no run are read all the same")
    func quiet() throws {
        try Self.file(#"{"at_ms":0,"dir":"in","frame":{"type":"event","event":"tick","payload":{}}}"#) { file in
            let lines = try VirtualReplay.play(file: file, of: .all).lines
            #expect(lines.isEmpty)
        }
    }
}
