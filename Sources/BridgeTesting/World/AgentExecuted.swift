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

    package init(
        _ approval: String, command: String? = nil, arguments: [String]? = nil, input: String? = nil,
        folder: String? = nil, node: String? = nil
    ) {
        self.approval = approval
        self.command = command
        self.arguments = arguments
        self.input = input
        self.folder = folder
        self.node = node
    }
}
