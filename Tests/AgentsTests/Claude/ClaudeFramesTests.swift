import AgentKit
import JSONReading
import Testing
import Vocabulary

@testable import Claude

@Suite("Lines for Claude Code, and how it is started")
struct ClaudeFramesTests {
    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test("control requests")
    func requests() {
        func request(_ members: String) -> String {
            #"{"type":"control_request","request_id":"7","request":{\#(members)}}"#
        }
        #expect(
            text(ClaudeFrames.initialize("7"))
                == request(
                    #""subtype":"initialize","hooks":{"Stop":[{"matcher":null,"hookCallbackIds":["stop"]}]}"#))
        #expect(
            text(ClaudeFrames.interrupt("7"))
                == request(#""subtype":"interrupt","cancel_queued":true,"spare_background_tasks":true"#))
        #expect(text(ClaudeFrames.setModel("opus", "7")) == request(#""subtype":"set_model","model":"opus""#))
        #expect(text(ClaudeFrames.setModel(nil, "7")) == request(#""subtype":"set_model","model":null"#))
        #expect(
            text(ClaudeFrames.setThinking(tokens: 0, "7"))
                == request(#""subtype":"set_max_thinking_tokens","max_thinking_tokens":0"#))
        #expect(
            text(ClaudeFrames.setThinking(tokens: nil, "7"))
                == request(#""subtype":"set_max_thinking_tokens","max_thinking_tokens":null"#))
        #expect(text(ClaudeFrames.endSession("7")) == request(#""subtype":"end_session""#))
    }

    @Test("a prompt is its text, as it stands, and its pictures behind it")
    func prompt() {
        let slash = text(ClaudeFrames.prompt(PicturePrompt("/cost \"x\"\n"), uuid: "u"))
        #expect(
            slash
                == #"{"type":"user","uuid":"u","session_id":"","message":{"role":"user","content":"/cost \"x\"\n"},"parent_tool_use_id":null}"#
        )
        var message = UserMessage(id: MessageID("m"), session: SessionID("s"), interaction: nil, text: "Look.")
        let file = MessageFile(name: "a.png", mimeType: "image/png", path: "/x/a.png", size: 4)
        var attachment = Attachment(name: "a.png")
        attachment.outcome = .file(file)
        message.attachments = [attachment]
        var prompt = PicturePrompt.of(message, for: "Claude Code", room: 1_000_000).prompt
        var loaded = FileLoads.Loaded(run: RunID("r"))
        loaded.files = [LoadedFile(file, [1, 2, 3, 4])]
        _ = prompt.take(loaded)
        #expect(
            text(ClaudeFrames.prompt(prompt, uuid: "u")).contains(
                #""content":[{"type":"text","text":"Look."},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AQIDBA=="}}]"#
            ))
    }

    @Test("a run has the same uuid in every process, and another run another one")
    func uuid() {
        let one = ClaudeFrames.uuid(of: "int_1")
        #expect(one == ClaudeFrames.uuid(of: "int_1") && one != ClaudeFrames.uuid(of: "int_2"))
        #expect(one == "16960ccc-7a5e-5ce9-a16a-2c8e858c4a8a")
        #expect((0..<200).allSatisfy { Self.isUUID(ClaudeFrames.uuid(of: "int_\($0)")) })
    }

    private static func isUUID(_ text: String) -> Bool {
        text.wholeMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/) != nil
    }

    @Test("the arguments keep values from being flags")
    func arguments() {
        var values = ClaudeValues()
        values.command = ["/opt/claude", "--debug"]
        values.permissionMode = "plan"
        let flags = [
            "/opt/claude", "--debug", "-p", "--input-format=stream-json", "--output-format=stream-json", "--verbose",
            "--include-partial-messages", "--permission-prompt-tool=stdio", "--permission-mode=plan",
        ]
        #expect(ClaudeLaunch.command(values, .new("a-b")) == flags + ["--session-id=a-b"])
        values.model = "opus"
        #expect(ClaudeLaunch.command(values, .resume("-x")) == flags + ["--resume=-x", "--model=opus"])
        #expect(
            ClaudeLaunch.command(values, .listing) == flags + ["--no-session-persistence", "--model=opus"])
    }

    @Test("marks of another session are not inherited, what names the account is")
    func environment() {
        var values = ClaudeValues()
        values.environment = ["DISABLE_AUTOUPDATER": "0", "LANG": "C"]
        let own = [
            "CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=cli", "CLAUDE_AGENT_SDK_VERSION=1", "CLAUDE_CODE_OAUTH_TOKEN=t",
            "CLAUDE_CODE_USE_BEDROCK=1", "CLAUDE_CONFIG_DIR=/c", "ANTHROPIC_API_KEY=k", "OTHER_TOKEN=o",
        ]
        #expect(
            ClaudeLaunch.environment(values, withheld: ["OTHER_TOKEN"]).entries(of: own) == [
                "ANTHROPIC_API_KEY=k", "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS=1", "CLAUDE_CODE_OAUTH_TOKEN=t",
                "CLAUDE_CODE_USE_BEDROCK=1", "CLAUDE_CONFIG_DIR=/c", "DISABLE_AUTOUPDATER=0", "LANG=C",
            ])
    }

    @Test("a file of a process says who holds a session")
    func holders() {
        func holder(_ text: String) -> ClaudeHolder? { ClaudeHolder(Array(text.utf8)) }
        let file = #"{"pid":41,"sessionId":"s-1","cwd":"/w","procStart":"9917","status":"busy"}"#
        #expect(holder(file)?.pid == 41 && holder(file)?.startTicks == 9917 && holder(file)?.session == "s-1")
        #expect(holder(file.replacing(#""9917""#, with: "9917"))?.startTicks == 9917)
        #expect(holder(file.replacing(#""9917""#, with: "null"))?.startTicks == nil)
        for broken in [
            "", "{", "[]", #"{"pid":0,"sessionId":"s"}"#, #"{"pid":9999999999,"sessionId":"s"}"#, #"{"pid":1}"#,
        ] {
            #expect(holder(broken) == nil)
        }
        #expect(holder(file)?.isIdle == false && holder(file.replacing("busy", with: "idle"))?.isIdle == true)
    }

    @Test(
        "frames are known by more than their common types",
        arguments: [
            (ClaudeSays.initial(), true), (ClaudeSays.done, true), (ClaudeSays.said("x"), true),
            (ClaudeSays.prompt("u", "x"), true), (ClaudeSays.fate("u", "queued"), true),
            (ClaudeSays.asks("Bash", "{}"), true), (#"{"type":"user","text":"x"}"#, false),
            (#"{"type":"result","subtype":"success","sessionId":"s"}"#, false), (#"{"type":"system"}"#, false),
            (#"{"type":"control_request","request_id":"1","request":{}}"#, false), (#"{"type":"event"}"#, false),
        ])
    func recognised(frame: String, isOurs: Bool) throws {
        try withFrame(frame) { root, _ in
            #expect(ClaudePlugin().recognises(root["type"]?.string ?? "", root) == isOurs)
        }
    }
}
