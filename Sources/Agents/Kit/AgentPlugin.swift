package import JSONReading

/// All that the bridge knows of one kind of agent is behind this protocol. A plug-in is made known by its line in `AgentRegistry.all`.
package protocol AgentPlugin: Sendable {
    var kind: AgentKind { get }
    /// Its name in sentences.
    var name: String { get }

    // Recordings.

    /// Whether a frame is one of this agent's, by its outermost level alone: the names of its frames are also words of what
    /// other agents carry, and an agent that is not known must not be read as one that is. `type` is empty where a frame has none.
    func recognises(_ type: String, _ root: FrameNode) -> Bool
    func decoder() -> any AgentDecoder
    /// For the frames of one socket or child, where they name no session of their own; nil: one decoder follows all of them.
    func decoder(ofStream number: Int) -> (any AgentDecoder)?

    // Configuration.

    /// The keys of a connection's `agent` that it takes, besides `kind`.
    var keys: [String] { get }
    /// The variables that belong to one connection, so that with several connections each must be named where it is meant.
    var variables: [String] { get }
    /// Those of them that hold a secret: no agent inherits one, not even of an agent that is not configured.
    var secretVariables: [String] { get }
    func settings(_ section: inout AgentSection) -> any AgentValues

    /// Variables that a service takes over from the terminal that installs it. None of them holds a secret.
    var serviceVariables: [String] { get }
    /// The bridge starts it, so that a service must let it do what the agent needs.
    var isChild: Bool { get }

    /// Its sessions work in a folder of this machine: each message comes with the one of its chat (`UserMessage.folder`).
    var usesWorkspaces: Bool { get }
    /// The one folder that its own keys name for all of its sessions; nil: the workspaces of the configuration hold.
    func folder(_ values: any AgentValues) -> String?

    /// This version runs it; else it plays its recordings alone.
    var isLive: Bool { get }
    /// The agent of one connection. Nil where it is not live.
    func live(_ settings: AgentSettings, in context: AgentContext) -> (any LiveAgent)?
}

/// The plug-ins that a program was built with, in the order in which users read them.
package struct AgentRegistry: Sendable {
    package let plugins: [any AgentPlugin]

    package init(_ plugins: [any AgentPlugin]) { self.plugins = plugins }

    package subscript(kind kind: AgentKind) -> (any AgentPlugin)? { plugins.first { $0.kind == kind } }

    package var kinds: [AgentKind] { plugins.map(\.kind) }
    /// As a list in a sentence.
    package var kindNames: String { kinds.map(\.rawValue).joined(separator: ", ") }
}

extension AgentPlugin {
    package func decoder(ofStream number: Int) -> (any AgentDecoder)? { nil }
    package var variables: [String] { [] }
    package var secretVariables: [String] { [] }
    package var serviceVariables: [String] { [] }
    package var isChild: Bool { false }
    package var usesWorkspaces: Bool { isChild }
    package func folder(_ values: any AgentValues) -> String? { nil }
}
