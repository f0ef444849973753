/// What a double's agent ran after the bridge's yes, by the double's own reading of what it had asked: never from the card.
package struct AgentExecuted: Sendable, Hashable {
    package var approval: String
    /// What its shell got; nil: a tool got `input`.
    package var command: String?
    /// Where the agent runs a program without a shell, its arguments.
    package var arguments: [String]?
    /// As JSON.
    package var input: String?
    package var folder: String?
    package var node: String?
    /// What it writes: a patch, or bytes for a process that runs.
    package var content: String?
    /// Where it writes that.
    package var path: String?
    /// What it may do besides, as JSON.
    package var permissions: String?
    /// A folder, a host or a process that the yes opens.
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
