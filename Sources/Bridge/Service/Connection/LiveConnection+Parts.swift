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
        /// Why there is no token, or nil if `relay` has one.
        package var missingToken: String?
        private var ownRuns = OwnRuns()
        /// True if a chat's agent begins runs of its own, which are shown in that chat.
        package var hasRunsOfItsOwn = false
        package var mirror: Configuration.Mirror {
            get { ownRuns.mirror }
            set { ownRuns.mirror = newValue }
        }
        package var deletedChats: Configuration.DeletedChats {
            get { ownRuns.deletedChats }
            set { ownRuns.deletedChats = newValue }
        }
        /// Memory limit at which reading from the agent pauses.
        package var memoryLimit = 64 << 20
        /// Keys of sealed chats, or nil if this connection seals nothing and reads no sealed message.
        package var keys: LiveKeys.Parts?
        private var beside = BesideTurns()
        package var files: FileParts {
            get { beside.files }
            set { beside.files = newValue }
        }
        /// Recipient of notices, or nil to send none, whatever a later configuration says.
        package var notices: LiveNotices.Parts? {
            get { beside.notices }
            set { beside.notices = newValue }
        }
        package var journal: any TurnJournal
        /// Place of the state directory, or nil if placeholders must not be marked as this bridge's.
        package var statePlace: StatePlace?
        /// Agent session that answers in a chat of the phone.
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

    /// Place of the state directory, so that a copy of it gets a mark of its own (`StateMark`).
    package struct StatePlace: Sendable {
        var name: String
        /// This start of the machine, or nil if the system does not name it.
        var start: String?
        var random: any RandomSource

        package init(_ name: String, start: String?, random: any RandomSource) {
            self.name = name
            self.start = start
            self.random = random
        }
    }

    /// Parts of a connection beside its turns and links.
    private struct BesideTurns: Sendable {
        var files = FileParts()
        var notices: LiveNotices.Parts?
    }

    /// Settings for runs that no message began.
    private struct OwnRuns: Sendable {
        var mirror = Configuration.Mirror.none
        var deletedChats = Configuration.DeletedChats.new
    }
}
