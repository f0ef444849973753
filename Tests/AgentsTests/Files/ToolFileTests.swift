import AgentKit
import OpenClaw
import Oppi
import Pi
import Testing
import Vocabulary

/// Files that each agent's tools touch, by its frames.
@Suite("Files that tools touch")
struct ToolFileTests {
    private static func started(_ lines: [String]) -> String? {
        lines.first { $0.contains("tool started") }?.split(separator: "} ", maxSplits: 1).last.map { String($0) }
    }

    @Test(
        "a call of read, write and edit names its file, by whatever of three names",
        arguments: [
            ("read", #"{"path":"/a/b.txt"}"#, "reads /a/b.txt"), ("write", #"{"file_path":"~/c"}"#, "writes ~/c"),
            ("edit", #"{"file":"./src/../x","old":"1"}"#, "edits src/../x"),
            ("multi_edit", #"{"path":"/a"}"#, "edits /a"), ("Read", #"{"path":"/A"}"#, "reads /A"),
        ])
    func named(_ tool: String, _ arguments: String, _ expected: String) {
        var pi = Conversation(PiPlugin())
        _ = pi.receives(#"{"type":"agent_start"}"#)
        #expect(
            Self.started(
                pi.receives(
                    #"{"type":"tool_execution_start","toolCallId":"c","toolName":"\#(tool)","args":\#(arguments)}"#))
                == expected)
        var oppi = Conversation(OppiPlugin())
        _ = oppi.receives(#"{"type":"agent_start","sessionId":"s"}"#)
        #expect(
            Self.started(
                oppi.receives(
                    #"{"type":"tool_start","sessionId":"s","tool":"\#(tool)","toolCallId":"c","args":\#(arguments)}"#))
                == expected)
        var openClaw = Conversation(OpenClawPlugin())
        #expect(
            Self.started(
                openClaw.receives(
                    Self.agent(
                        "tool", #"{"phase":"start","toolCallId":"c","name":"\#(tool)","args":\#(arguments)}"#)))
                == expected)
    }

    @Test(
        "other tools and what is no path name none",
        arguments: [
            ("bash", #"{"path":"/a"}"#), ("reader", #"{"path":"/a"}"#), ("read", #"{"path":7}"#), ("read", "{}"),
            ("read", #"{"path":""}"#), ("read", #"{"path":"./"}"#), ("read", #"{"path":"/a\u0000b"}"#),
            ("write", #"{"path":"/\#(String(repeating: "a", count: 5_000))"}"#),
        ])
    func unnamed(_ tool: String, _ arguments: String) {
        var pi = Conversation(PiPlugin())
        _ = pi.receives(#"{"type":"agent_start"}"#)
        let lines = pi.receives(
            #"{"type":"tool_execution_start","toolCallId":"c","toolName":"\#(tool)","args":\#(arguments)}"#)
        #expect(lines.count == 1 && Self.started(lines)?.contains("reads") == false)
        #expect(Self.started(lines)?.contains("writes") == false)
    }

    @Test("OpenClaw says at its end what a patch has done")
    func patch() {
        var openClaw = Conversation(OpenClawPlugin())
        let lines = openClaw.receives(
            Self.agent(
                "patch",
                #"{"itemId":"i","phase":"end","title":"Patch","toolCallId":"c","added":["/a"],"modified":["/b",7],"deleted":["/d"]}"#
            ))
        #expect(lines.count == 1 && lines[0].hasSuffix("tool progress c command writes /a edits /b"))
        #expect(openClaw.receives(Self.agent("patch", #"{"phase":"end","toolCallId":"c","deleted":["/d"]}"#)) == [])
    }

    @Test("pi works in a folder, and its relative paths are below it")
    func folder() {
        let start = ToolStart(call: ToolCallID("c"), name: "read", file: ToolFile(.read, "a/b"))
        let signal = RunSignal(run: nil, session: nil, event: .tool(.started(start)))
        guard case .signal(let moved) = Observation.signal(signal).filesBelow("/garden"),
            case .tool(.started(let below)) = moved.event
        else {
            Issue.record("no start")
            return
        }
        #expect(below.file == ToolFile(.read, "/garden/a/b"))
        for path in ["/a", "~/a"] {
            var start = start
            start.file = ToolFile(.edit, path)
            let said = Observation.signal(RunSignal(run: nil, session: nil, event: .tool(.started(start))))
            #expect(said.filesBelow("/garden") == said)
        }
    }

    private static func agent(_ stream: String, _ data: String) -> String {
        #"{"type":"event","event":"agent","payload":{"runId":"r","stream":"\#(stream)","sessionKey":"k","data":\#(data)}}"#
    }
}
