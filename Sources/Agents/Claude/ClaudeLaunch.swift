import Vocabulary

/// Command line of a process (claude-code.md#launching). Values stand behind an equals sign: one that begins with a hyphen would be
/// a flag.
enum ClaudeLaunch {
    enum Start: Hashable, Sendable {
        /// A new session under this name, a UUID.
        case new(String)
        /// An old session, which keeps its name and its file.
        case resume(String)
        /// A process that reports on itself, without a session.
        case listing
    }

    /// Without the prompt tool every question is denied in silence. Without a mode the person's own settings choose one, and with
    /// `bypassPermissions` there nothing asks.
    static func command(_ values: ClaudeValues, _ start: Start) -> [String] {
        var words =
            values.command + [
                "-p", "--input-format=stream-json", "--output-format=stream-json", "--verbose",
                "--include-partial-messages", "--permission-prompt-tool=stdio",
                "--permission-mode=\(values.permissionMode)",
            ]
        switch start {
        case .new(let id): words.append("--session-id=\(id)")
        case .resume(let id): words.append("--resume=\(id)")
        case .listing: words.append("--no-session-persistence")
        }
        if let model = values.model { words.append("--model=\(model)") }
        return words
    }

    /// Marks of a parent session would switch things off in silence: they are dropped. Variables that name the account stay.
    static func environment(_ values: ClaudeValues, withheld: [String] = []) -> ChildEnvironment {
        var adding = ["CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1", "DISABLE_AUTOUPDATER": "1"]
        adding.merge(values.environment) { _, own in own }
        return ChildEnvironment(
            dropping: ["CLAUDECODE", "CLAUDE_CODE_*", "CLAUDE_AGENT_SDK_*"] + withheld, adding: adding,
            keeping: [
                "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX",
                "CLAUDE_CODE_USE_FOUNDRY", "CLAUDE_CODE_SKIP_BEDROCK_AUTH", "CLAUDE_CODE_SKIP_VERTEX_AUTH",
            ])
    }
}
