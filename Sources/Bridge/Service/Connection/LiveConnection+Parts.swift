package import AgentKit
package import BridgeCore
package import Links
package import RelayProtocol
package import Vocabulary

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
        /// A chat's agent begins runs of its own, which are shown there.
        package var hasRunsOfItsOwn = false
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
        private var beside = BesideTurns()
        package var files: FileParts {
            get { beside.files }
            set { beside.files = newValue }
        }
        /// Nil: no person is sent a notice, whatever the configuration says later.
        package var notices: LiveNotices.Parts? {
            get { beside.notices }
            set { beside.notices = newValue }
        }
        package var journal: any TurnJournal
        /// Nil: placeholders do not say whose they are.
        package var statePlace: StatePlace?
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

    /// Where the state directory is, so that a copy of it gets a mark of its own (`StateMark`).
    package struct StatePlace: Sendable {
        var name: String
        /// This start of the machine; nil: the system does not say.
        var start: String?
        var random: any RandomSource

        package init(_ name: String, start: String?, random: any RandomSource) {
            self.name = name
            self.start = start
            self.random = random
        }
    }

    /// What a connection has beside its turns and links.
    private struct BesideTurns: Sendable {
        var files = FileParts()
        var notices: LiveNotices.Parts?
    }

    /// What becomes of runs that no message began.
    private struct OwnRuns: Sendable {
        var mirror = Configuration.Mirror.none
        var deletedChats = Configuration.DeletedChats.new
    }
}
