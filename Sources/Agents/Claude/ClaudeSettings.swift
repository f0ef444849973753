import Vocabulary

/// The configuration of Claude Code, and the processes made from it.
package struct ClaudeSettings: Hashable, Sendable {
    var values: ClaudeValues
    /// Folder of a session without one of its own.
    var folder: String
    /// Folder of transcripts and of the files that name running processes.
    var configFolder: String
    var environment: ChildEnvironment

    package init(_ values: ClaudeValues, environment: [String: String], withheld: [String] = []) {
        self.values = values
        folder = values.folder ?? "."
        let home = values.environment["HOME"] ?? environment["HOME"] ?? "/"
        configFolder =
            values.environment["CLAUDE_CONFIG_DIR"] ?? environment["CLAUDE_CONFIG_DIR"] ?? "\(home)/.claude"
        self.environment = ClaudeLaunch.environment(values, withheld: withheld)
    }

    /// The program in a sentence for people.
    var program: String {
        let mode = values.permissionMode == "default" ? "" : ", permission mode \(values.permissionMode)"
        return values.command.joined(separator: " ") + mode
    }

    /// A sentence about calls that run unasked, or nil if the person's own rules decide, as in a terminal.
    var unasked: String? {
        switch values.permissionMode {
        case "acceptEdits":
            "In the permission mode acceptEdits, edits and commands that change files in the folder run without asking."
        case "auto": "In the permission mode auto, commands and edits run without asking."
        case "plan": "In the permission mode plan, commands run without asking."
        default: nil
        }
    }

    /// A line may hold whole files (claude-code.md#frames).
    private static let lineLimit = 64 << 20
    /// Time from SIGTERM to SIGKILL.
    private static let grace = Duration.seconds(5)

    func plan(_ start: ClaudeLaunch.Start, in own: String?) -> ChildPlan {
        // An orphan works to the end of its turn, and the next bridge waits for it (claude-code.md#holders).
        let life: ChildPlan.Life = start == .listing ? .withBridge(grace: Self.grace) : .byItself(grace: Self.grace)
        return ChildPlan(
            arguments: ClaudeLaunch.command(values, start), environment: environment, folder: own ?? folder, life: life,
            pipes: .lines(limit: Self.lineLimit))
    }
}
