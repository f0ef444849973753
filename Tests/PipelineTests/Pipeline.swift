import AgentKit
import Agents
import BridgeCore
import BridgeService
import Recording
import RelayRules
import Simulator
import Testing
import Transport
import Vocabulary

/// The real pipeline against the real simulator, over sockets on loopback.
final class Pipeline {
    let simulator = RelaySimulator()
    private let http = CurlClient()
    private let log = ReplayLog()
    let calls: CallLog
    let runner: BridgeRunner

    init() throws {
        try simulator.start()
        let log = log
        calls = CallLog(http)
        var settings = BridgeSettings()
        settings.withdrawsCards = false
        // The trace plays at once, and the expected ends have all the text. The number of deltas sent before the end
        // must not depend on how fast this machine is.
        settings.delivery.textHold = .seconds(60)
        runner = BridgeRunner(
            settings: settings,
            relay: RelayAddress(baseURL: simulator.baseURL, token: simulator.bridgeToken),
            edges: BridgeRunner.Edges(
                http: calls, clock: SystemClock(), alarm: try SystemAlarm(), random: SystemRandom()),
            observe: { log.observe($0) })
    }

    func play(_ trace: String) throws {
        let reader = try RecordingReader(file: Fixtures.trace(trace))
        let agent = try AgentRegistry.all.recognised(in: Fixtures.trace(trace))
        let replay = Replay(
            runner: runner, log: log, agent: agent, name: trace, user: PipelineUser(simulator: simulator),
            clock: SystemClock())
        try replay.play(reader) { _ in true }
    }

    /// Waits until all turns are closed. The relay's own faults bound that time, and so does the test's time limit.
    func finish() async -> ReplaySummary {
        while !runner.isAtRest, !Task.isCancelled { await Task.yield() }
        runner.stop()
        http.close()
        let state = runner.ask { (tally: $0.tally, open: $0.openTurns) }
        simulator.stop()
        return log.result(tally: state.tally, openTurns: state.open, seconds: 0)
    }

    /// Sorts ends by the texts of the user or, if one of those is unknown and all ends are in one chat, by the order
    /// of its messages. The order in which the relay confirms ends says nothing: each interaction has calls of its
    /// own.
    func inOrder(_ ends: [ReplaySummary.End], of expected: [Fixtures.End]) -> [ReplaySummary.End] {
        let chats = simulator.sessions
        let places: [(expected: Int?, written: Int?)] = ends.map { end in
            let chat = chats.first { $0.id == end.session.text }?.messages ?? []
            let written = chat.firstIndex { $0.role == .user && $0.interaction == end.interaction?.text }
            return (expected.firstIndex { $0.prompt != nil && $0.prompt == written.map { chat[$0].text } }, written)
        }
        func sorted(by place: KeyPath<(expected: Int?, written: Int?), Int?>) -> [ReplaySummary.End]? {
            guard Set(places.compactMap { $0[keyPath: place] }).count == ends.count else { return nil }
            return zip(ends, places).sorted { ($0.1[keyPath: place] ?? 0) < ($1.1[keyPath: place] ?? 0) }.map(\.0)
        }
        let isOneChat = Set(ends.map(\.session)).count == 1
        return sorted(by: \.expected) ?? (isOneChat ? sorted(by: \.written) : nil) ?? ends
    }

    func bubble(of end: ReplaySummary.End) -> PhoneMessage? {
        simulator.sessions.first { $0.id == end.session.text }?.messages
            .last { $0.role == .agent && $0.interaction == end.interaction?.text }
    }
}

private struct PipelineUser: ReplayUser {
    let simulator: RelaySimulator

    func writes(_ text: String, in session: SessionID?) -> (SessionID, InteractionID?, MessageID) {
        let sent = simulator.userSends(text: text, session: session?.text)
        return (SessionID(sent.session), InteractionID(sent.interaction), MessageID(sent.message))
    }

    func decides(_ approval: ApprovalID, _ decision: ApprovalDecision) -> Bool { false }
}
