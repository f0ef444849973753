/// Facts beside the command that decide whether a yes is safe. A decoder passes them whole; the core puts folder and lines on the card.
package struct AskFacts: Hashable, Sendable {
    /// A fact in the agent's own words: a node, further permissions, the root of a grant, a parameter of a tool.
    package struct Line: Hashable, Sendable {
        package var label: String
        package var value: String

        package init(_ label: String, _ value: String) {
            self.label = label
            self.value = value
        }
    }

    /// The command's working folder, or nil if the agent does not name it.
    package var folder: String?
    package var lines: [Line]
    /// Whether a yes runs the command outside of the agent's sandbox.
    package var leavesSandbox: Bool
    /// Whether a yes opens the network.
    package var reachesNetwork: Bool
    /// Absolute paths that a yes opens or changes, if the frame names them.
    package var paths: [String]

    package init(
        folder: String? = nil, lines: [Line] = [], leavesSandbox: Bool = false, reachesNetwork: Bool = false,
        paths: [String] = []
    ) {
        self.folder = folder
        self.lines = lines
        self.leavesSandbox = leavesSandbox
        self.reachesNetwork = reachesNetwork
        self.paths = paths
    }
}
