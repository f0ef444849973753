package import AgentKit
package import BridgeCore
package import BridgeModel
package import Links
package import RelayProtocol

extension LiveConnection {
    package struct Parts: Sendable {
        package var name: ConnectionName
        package var bridge: BridgeSettings
        package var relay: RelayLinkSettings
        package var relayAddress: RelayAddress
        package var runner: BridgeRunner.Edges
        package var relayLink: LinkEdges
        /// Why there is no token; nil: `relay` has one.
        package var missingToken: String?
        private var ownRuns = OwnRuns()
        package var mirror: Configuration.Mirror {
            get { ownRuns.mirror }
            set { ownRuns.mirror = newValue }
        }
        package var deletedChats: Configuration.DeletedChats {
            get { ownRuns.deletedChats }
            set { ownRuns.deletedChats = newValue }
        }
        /// Bytes that may wait in memory before nothing more is read from the agent.
        package var memoryLimit = 64 << 20
        /// Nil: nothing is sealed here, and no sealed message is read.
        package var keys: LiveKeys.Parts?
        package var files = FileParts()
        package var journal: any TurnJournal
        /// The agent's session that answers in a chat of the phone's.
        package var agentSession: @Sendable (SessionID) -> AgentSession
        /// Makes the agent's link, with the outlet of its events.
        package var agent: @Sendable (@escaping @Sendable (AgentLinkEvent) -> Void) -> any AgentLink

        package init(
            name: ConnectionName, bridge: BridgeSettings, relay: RelayLinkSettings, relayAddress: RelayAddress,
            runner: BridgeRunner.Edges, relayLink: LinkEdges, journal: any TurnJournal,
            agentSession: @escaping @Sendable (SessionID) -> AgentSession,
            agent: @escaping @Sendable (@escaping @Sendable (AgentLinkEvent) -> Void) -> any AgentLink
        ) {
            self.name = name
            self.bridge = bridge
            self.relay = relay
            self.relayAddress = relayAddress
            self.runner = runner
            self.relayLink = relayLink
            self.journal = journal
            self.agentSession = agentSession
            self.agent = agent
        }
    }

    /// What becomes of runs that no message began.
    private struct OwnRuns: Sendable {
        var mirror = Configuration.Mirror.none
        var deletedChats = Configuration.DeletedChats.new
    }
}
