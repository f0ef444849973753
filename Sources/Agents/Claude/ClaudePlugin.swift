package import AgentKit
import ConfigurationFile
package import JSONReading
import Vocabulary

/// Claude Code: a child for each chat, which speaks stream-json over its standard input and output (claude-code.md).
package struct ClaudePlugin: AgentPlugin {
    package init() {}

    package var kind: AgentKind { AgentKind(rawValue: "claude") }
    package var name: String { "Claude Code" }

    /// Recognises a frame by its type and by members that all frames of the type have: the types are common words.
    package func recognises(_ type: String, _ root: FrameNode) -> Bool {
        switch type {
        case "control_request": root["request_id"] != nil && root["request"]?["subtype"] != nil
        case "control_response": root["response"]?["request_id"] != nil && root["response"]?["subtype"] != nil
        case "command_lifecycle": root["command_uuid"] != nil && root["session_id"] != nil
        case "user": root["session_id"] != nil && root["message"]?["role"] != nil
        case "system", "result": root["subtype"] != nil && root["session_id"] != nil && root["uuid"] != nil
        case "assistant", "stream_event", "rate_limit_event", "tool_progress":
            root["session_id"] != nil && root["uuid"] != nil
        default: false
        }
    }

    package func decoder() -> any AgentDecoder { ClaudeDecoder() }

    /// A process has one session at a time.
    package func decoder(ofStream number: Int) -> (any AgentDecoder)? {
        number > 1
            ? ClaudeDecoder(AgentSession("claude-\(number)"), runPrefix: "claude-\(number)-run-") : ClaudeDecoder()
    }

    package var keys: [String] { ["command", "permission_mode", "model", "directory", "env"] }
    package var variables: [String] { ["CLAUDE_COMMAND", "CLAUDE_PERMISSION_MODE", "CLAUDE_MODEL"] }

    package func settings(_ section: inout AgentSection) -> any AgentValues {
        var values = ClaudeValues()
        let words = ValueForm<[String]>.words(atMost: 64, "a program and its arguments, as a list of texts")
        values.command = section.value(
            "command", as: words.withoutPermissions, variable: "CLAUDE_COMMAND", else: values.command)
        values.permissionMode = section.value(
            "permission_mode", as: .permissionMode, variable: "CLAUDE_PERMISSION_MODE", else: values.permissionMode)
        values.model = section.optional("model", as: .modelName, variable: "CLAUDE_MODEL")
        values.folder = section.optional("directory", as: section.directory)
        values.environment = section.optional("env", as: .variables) ?? [:]
        return values
    }

    package var serviceVariables: [String] { variables + ["CLAUDE_CONFIG_DIR"] }
    package var isChild: Bool { true }
    package func folder(_ values: any AgentValues) -> String? { (values as? ClaudeValues)?.folder }

    package var isLive: Bool { true }
    package func live(_ settings: AgentSettings, in context: AgentContext) -> (any LiveAgent)? {
        ClaudeAgent(settings, in: context)
    }
}

extension ValueForm where Value == [String] {
    /// Flags that decide what Claude Code asks and stores belong to the bridge.
    private static var own: [String] {
        [
            "--dangerously-skip-permissions", "--allow-dangerously-skip-permissions", "--permission-mode",
            "--permission-prompt-tool", "--permission-prompts", "--no-session-persistence", "--resume", "--session-id",
            "--continue", "--fork-session",
        ]
    }

    fileprivate var withoutPermissions: Self {
        Self { content throws(Complaint) in
            let words = try self.read(content)
            guard
                let flag = words.first(where: { word in Self.own.contains { word == $0 || word.hasPrefix($0 + "=") } })
            else { return words }
            throw Complaint("a program and its arguments without \(flag): the bridge decides that (permission_mode)")
        } show: {
            self.show($0)
        }
    }
}

extension ValueForm where Value == String {
    /// The modes of Claude Code without `bypassPermissions`, which asks for nothing.
    fileprivate static var permissionMode: Self {
        let modes = ["default", "acceptEdits", "plan", "auto", "dontAsk"]
        let words = ValueForm<String>.word(of: modes)
        return Self { content throws(Complaint) in
            if case .string("bypassPermissions") = content {
                throw Complaint(
                    "default, acceptEdits, plan, auto or dontAsk: with bypassPermissions everything runs unasked, so that "
                        + "nothing would reach the phone")
            }
            return try words.read(content)
        } show: {
            .string($0)
        }
    }

    fileprivate static var modelName: Self {
        Self { content throws(Complaint) in
            guard case .string(let text) = content, ModelChoice.isName(text), !text.hasPrefix("-") else {
                throw Complaint("the name of a model")
            }
            return text
        } show: {
            .string($0)
        }
    }
}

/// The configuration of Claude Code.
package struct ClaudeValues: AgentValues {
    var command = ["claude"]
    /// The permission mode; never `bypassPermissions`.
    var permissionMode = "default"
    /// Model of new sessions, or nil for that of Claude Code's own settings.
    var model: String?
    /// Working folder of all processes, or nil if each uses its chat's workspace.
    var folder: String?
    /// Variables added to the processes' environment.
    var environment: [String: String] = [:]

    package init() {}
}
