package import AgentKit
package import Vocabulary

/// Ports of the outside that the host needs.
package struct AgentEdges: Sendable {
    /// Kind of the agent. Facts are kept under it, apart from those of another agent of the same connection.
    package var kind: AgentKind
    package var sockets: any WebSocketClient
    package var children: any ChildRunner
    package var work: any WorkPort
    /// Nil if nothing may be kept, as for `doctor`.
    package var journal: (any TurnJournal)?
    package var clock: any Clock
    package var alarm: any Alarm
    package var random: any RandomSource
    /// Nil if every ordered child starts at once.
    package var places: ChildPlaces?
    /// Masks secrets in standard error of children.
    package var redact: @Sendable (String) -> String = { $0 }
    /// Whether some chat is sealed: no word of it may reach the log. Read at each line.
    package var isSealed: @Sendable () -> Bool = { false }
    /// Hears every frame; true marks incoming ones.
    package var record: (@Sendable (ChannelID, Bool, [UInt8]) -> Void)?

    package init(
        kind: AgentKind, sockets: any WebSocketClient, children: any ChildRunner, work: any WorkPort,
        journal: (any TurnJournal)?, clock: any Clock, alarm: any Alarm, random: any RandomSource
    ) {
        self.kind = kind
        self.sockets = sockets
        self.children = children
        self.work = work
        self.journal = journal
        self.clock = clock
        self.alarm = alarm
        self.random = random
    }
}

/// Receivers of a machine's words.
package struct AgentOutlets: Sendable {
    package var tell: @Sendable (AgentLinkEvent) -> Void
    /// Takes each secret before anything may name it.
    package var cover: @Sendable (Secret) -> Void

    package init(
        tell: @escaping @Sendable (AgentLinkEvent) -> Void, cover: @escaping @Sendable (Secret) -> Void = { _ in }
    ) {
        self.tell = tell
        self.cover = cover
    }
}

/// The host of one connection's agent.
package struct ConnectionHost: AgentHost {
    private let edges: AgentEdges
    private let outlets: AgentOutlets

    package init(_ edges: AgentEdges, _ outlets: AgentOutlets) {
        self.edges = edges
        self.outlets = outlets
    }

    package func carry<Machine: AgentMachine & ~Copyable>(
        _ machine: consuming sending Machine, settings: @escaping @Sendable () -> Machine.Settings?
    ) -> any AgentLink { AgentRunner(machine, edges: edges, outlets: outlets, settings: settings) }
}
