package import Vocabulary

/// A live agent whose machine needs the configuration alone: it reads no file, and nothing changes before the next start.
package struct PlainAgent: LiveAgent {
    package let abilities: GrantAbilities
    private let kind: AgentKind
    private let open: @Sendable (any AgentHost) -> any AgentLink

    /// `open` makes the machine and gives it to the host.
    package init(
        _ kind: AgentKind, abilities: GrantAbilities = GrantAbilities(),
        open: @escaping @Sendable (any AgentHost) -> any AgentLink
    ) {
        self.kind = kind
        self.abilities = abilities
        self.open = open
    }

    package func session(of chat: SessionID) -> AgentSession {
        AgentSession("\(kind.rawValue):\(ChatName.text(of: chat))")
    }
    package func read(_ settings: AgentSettings) -> AgentReading { examine() }
    package func use(_ settings: AgentSettings) {}
    package func examine() -> AgentReading { AgentReading(open: open) }
}
