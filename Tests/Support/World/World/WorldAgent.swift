import AgentHosting
package import AgentKit
package import Vocabulary

/// The agent of a side: its machine, and the network of its channels.
package struct WorldAgent {
    package var kind: AgentKind
    /// Nil if the channels lead to the side's gateway.
    package var network: DoubleNetwork?
    package var session: @Sendable (SessionID) -> AgentSession
    package var open: @Sendable (any AgentHost) -> any AgentLink
    /// Opens the machine of `doctor`.
    package var examine: @Sendable (any AgentHost) -> any AgentLink
    package var hasRunsOfItsOwn = false

    package init(
        kind: AgentKind, network: DoubleNetwork?, session: @escaping @Sendable (SessionID) -> AgentSession,
        open: @escaping @Sendable (any AgentHost) -> any AgentLink,
        examine: @escaping @Sendable (any AgentHost) -> any AgentLink
    ) {
        self.kind = kind
        self.network = network
        self.session = session
        self.open = open
        self.examine = examine
    }

    /// The live agent of a plug-in. Its far side is the network.
    package init(_ kind: AgentKind, _ live: any LiveAgent, _ reading: AgentReading, _ network: DoubleNetwork) {
        self.init(
            kind: kind, network: network, session: { live.session(of: $0) }, open: { reading.open($0) },
            examine: { live.examine().open($0) })
        hasRunsOfItsOwn = live.hasRunsOfItsOwn
    }
}

extension WorldSide {
    func agentEdges(
        _ kind: AgentKind, _ sockets: any WebSocketClient, _ random: any RandomSource,
        _ isAlive: @escaping () -> Bool, keeps: Bool = true
    ) -> AgentEdges {
        let network = agent?.network
        var edges = AgentEdges(
            kind: kind, sockets: network?.sockets(isAlive) ?? sockets,
            children: network?.programs(isAlive) ?? NoChildren(), work: VirtualWork(files, time, isAlive: isAlive),
            journal: keeps ? journal : nil, clock: time, alarm: VirtualAlarm(time, isAlive: isAlive), random: random)
        edges.places = world?.places
        edges.record = { [weak self] in self?.onRecord?($0, $1, $2) }
        return edges
    }

    /// `doctor` without a bridge: its machine's findings, and whether it reported its end.
    package func examine(
        for duration: Duration = .seconds(30)
    ) -> (findings: [DoctorFinding], isDone: Bool, isClosed: Bool) {
        let heard = Heard()
        let agent = self.agent ?? openClaw
        let sockets = VirtualSockets(side: self, life: lives())
        let edges = agentEdges(agent.kind, sockets, SeededSource(1), { true }, keeps: false)
        let host = ConnectionHost(edges, AgentOutlets(tell: { heard.take($0) }))
        let link = agent.examine(throughHost?(host) ?? host)
        link.check()
        let end = time.now + duration
        while !heard.isDone, time.step(until: end) { pump() }
        link.shutDown()
        let closing = time.now + .seconds(5)
        while !link.isClosed, time.step(until: closing) { pump() }
        defer { link.stop() }
        return (heard.findings, heard.isDone, link.isClosed)
    }

    private final class Heard: @unchecked Sendable {
        var findings: [DoctorFinding] = []
        var isDone = false

        func take(_ event: AgentLinkEvent) {
            switch event {
            case .finding(let finding): findings.append(finding)
            case .done: isDone = true
            case .observed, .state, .note: break
            }
        }
    }
}
