package import JSONReading

/// All that the bridge knows of one kind of agent. `AgentRegistry.all` lists the plug-ins.
package protocol AgentPlugin: Sendable {
    var kind: AgentKind { get }
    /// Name of the agent in sentences.
    var name: String { get }

    // Recordings.

    /// Whether a frame belongs to this agent, by its outermost members alone: frames of other agents may carry the same words
    /// deeper down, and no unknown agent may pass for a known one. `type` is empty for a frame without one.
    func recognises(_ type: String, _ root: FrameNode) -> Bool
    func decoder() -> any AgentDecoder
    /// Decoder of one socket or child whose frames name no session, or nil if one decoder follows all streams.
    func decoder(ofStream number: Int) -> (any AgentDecoder)?

    // Configuration.

    /// Keys of a connection's `agent` that this agent takes, besides `kind`.
    var keys: [String] { get }
    /// Variables of one connection: with several connections, each configuration must name its own.
    var variables: [String] { get }
    /// Variables that hold a secret. No agent inherits one, not even that of an agent that is not configured.
    var secretVariables: [String] { get }
    func settings(_ section: inout AgentSection) -> any AgentValues

    /// Variables that a service copies from the terminal at its installation. None holds a secret.
    var serviceVariables: [String] { get }
    /// The bridge starts the agent, so the service must allow whatever the agent needs.
    var isChild: Bool { get }

    /// The agent's sessions work in folders of this machine: each message carries its chat's folder (`UserMessage.folder`).
    var usesWorkspaces: Bool { get }
    /// Folder that the agent's own keys set for all sessions, or nil if the configured workspaces apply.
    func folder(_ values: any AgentValues) -> String?

    /// This version runs the agent; otherwise it only replays recordings.
    var isLive: Bool { get }
    /// The agent of one connection, or nil if the plug-in is not live.
    func live(_ settings: AgentSettings, in context: AgentContext) -> (any LiveAgent)?
}

/// The plug-ins of a program, in the order in which users read them.
package struct AgentRegistry: Sendable {
    package let plugins: [any AgentPlugin]

    package init(_ plugins: [any AgentPlugin]) { self.plugins = plugins }

    package subscript(kind kind: AgentKind) -> (any AgentPlugin)? { plugins.first { $0.kind == kind } }

    package var kinds: [AgentKind] { plugins.map(\.kind) }
    /// The kinds as a list in a sentence.
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
