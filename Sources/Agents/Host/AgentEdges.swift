package import AgentKit
package import Vocabulary

/// What the host needs of the outside, each behind its port.
package struct AgentEdges: Sendable {
    /// Whose facts these are: a connection that gets another agent keeps them apart.
    package var kind: AgentKind
    package var sockets: any WebSocketClient
    package var children: any ChildRunner
    package var work: any WorkPort
    /// Nil: nothing may be kept, as for `doctor`.
    package var journal: (any TurnJournal)?
    package var clock: any Clock
    package var alarm: any Alarm
    package var random: any RandomSource
    /// Nil: children are started at once, as many as are ordered.
    package var places: ChildPlaces?
    /// Takes secrets out of what children write to standard error.
    package var redact: @Sendable (String) -> String = { $0 }
    /// Some chat is encrypted: no word of it may reach the log. Asked at each line.
    package var isSealed: @Sendable () -> Bool = { false }
    /// Hears every frame, incoming ones with true.
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

/// Where the words of a machine go.
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
