/// An execution after a yes, by the double's own reading of its ask and never from the card.
package struct AgentExecuted: Sendable, Hashable {
    package var approval: String
    /// The shell's command, or nil if a tool ran with `input`.
    package var command: String?
    /// Arguments of a program that ran without a shell.
    package var arguments: [String]?
    /// The tool's input as JSON.
    package var input: String?
    package var folder: String?
    package var node: String?
    /// The content written: a patch, or bytes for a running process.
    package var content: String?
    /// Path that the content went to.
    package var path: String?
    /// Additional permissions, as JSON.
    package var permissions: String?
    /// Folder, host or process that the yes opens.
    package var opened: String?

    package init(
        _ approval: String, command: String? = nil, arguments: [String]? = nil, input: String? = nil,
        folder: String? = nil, node: String? = nil, content: String? = nil, path: String? = nil,
        permissions: String? = nil, opened: String? = nil
    ) {
        self.approval = approval
        self.command = command
        self.arguments = arguments
        self.input = input
        self.folder = folder
        self.node = node
        self.content = content
        self.path = path
        self.permissions = permissions
        self.opened = opened
    }
}
