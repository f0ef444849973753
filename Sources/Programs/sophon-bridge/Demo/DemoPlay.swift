import BridgeCore
import BridgeService
import Locking
import Simulator
import Vocabulary

/// One playing of a recorded run in a chat: its pace, and the person in front of it.
final class DemoPlay: ReplayUser {
    enum End: Sendable { case stopped, denied, closed }

    private struct State {
        var hasBegun = false
        /// True once the bridge knows the turn; a turn that it does not know after that has delivered its end.
        var isAsked = false
        var decisions: [ApprovalID: ApprovalDecision] = [:]
        var end: End?
        /// Moment of the recording's time zero; it moves while a person is thinking.
        var origin: Instant
    }

    let session: SessionID
    let interaction: InteractionID
    private let message: MessageID
    private let simulator: RelaySimulator
    private let runner: BridgeRunner
    private let speed: ReplaySpeed
    private let keys: DemoKeys?
    private let turnSealing: TurnSealing
    private let willWrite: @Sendable (String) -> Void
    private let clock = SystemClock()
    private let state: Locked<State>

    /// How long the page must be disconnected before the demo decides by itself: longer than a reload takes.
    private static let patience = Duration.seconds(15)

    init(
        session: SessionID, interaction: InteractionID, message: MessageID, simulator: RelaySimulator,
        runner: BridgeRunner, speed: ReplaySpeed, keys: DemoKeys?, sealing: TurnSealing,
        willWrite: @escaping @Sendable (String) -> Void
    ) {
        self.keys = keys
        turnSealing = sealing
        self.session = session
        self.interaction = interaction
        self.message = message
        self.simulator = simulator
        self.runner = runner
        self.speed = speed
        self.willWrite = willWrite
        state = Locked(State(origin: clock.now))
    }

    func end(_ reason: End) { state.withLock { $0.end = $0.end ?? reason } }

    func decided(_ approval: ApprovalID, _ decision: ApprovalDecision) {
        state.withLock { $0.decisions[approval] = decision }
    }

    // MARK: The pace

    /// False if no more frames should be played.
    func wait(for milliseconds: Int64) -> Bool {
        state.withLock { state in
            guard !state.hasBegun else { return }
            state.hasBegun = true
            state.origin = clock.now
        }
        // Do not wait for frames after the run's end, such as the gateway's ticks.
        while !isDue(milliseconds), reasonToEnd == nil, !isOver { Pace.doze() }
        if let reason = reasonToEnd { endRun(reason) }
        return reasonToEnd == nil && (isDue(milliseconds) || !isOver)
    }

    private func isDue(_ milliseconds: Int64) -> Bool {
        guard case .times(let times) = speed else { return true }
        let due = state.withLock { $0.origin } + .nanoseconds(milliseconds * 1_000_000 / Int64(times))
        return clock.now >= due
    }

    private var reasonToEnd: End? { state.withLock { $0.end } }

    private var isOver: Bool {
        guard state.withLock({ $0.isAsked }) else { return false }
        let turn = TurnID(interaction.text)
        return runner.ask { bridge in bridge.turn(turn).map { $0.outcome != nil } ?? true }
    }

    /// True if the person sees the card, or has decided. The bridge takes a card back that the relay refuses to show.
    private func isForPerson(_ approval: ApprovalID) -> Bool {
        let turn = TurnID(interaction.text)
        return runner.ask { bridge in bridge.turn(turn)?.isForPerson(approval) ?? false }
    }

    /// Ends the run in the agent's place, after a decision that differs from the recording's.
    private func endRun(_ reason: End) {
        let turn = TurnID(interaction.text)
        guard let run = runner.ask({ $0.turn(turn)?.opening.run }), !isOver else { return }
        let events: [RunEvent] =
            switch reason {
            case .stopped, .closed: [.finished(RunEnd(reason: .aborted))]
            case .denied: [.text(.append("\n\nAll right, I will leave it.")), .finished(RunEnd())]
            }
        for event in events {
            runner.tell { bridge, now in bridge.agentSays(RunSignal(run: run, session: nil, event: event), at: now) }
        }
    }

    // MARK: The person

    func writes(_ text: String, in session: SessionID?) -> (SessionID, InteractionID?, MessageID) {
        guard session != nil else {
            state.withLock { $0.isAsked = true }
            return (self.session, interaction, message)
        }
        // This is a second prompt of the recording: its words are made up here, and start no run of their own.
        willWrite(text)
        let sent =
            keys?.sends(text, in: self.session) ?? simulator.userSends(text: text, session: self.session.text)
        return (SessionID(sent.session), InteractionID(sent.interaction), MessageID(sent.message))
    }

    func sealing(in session: SessionID) -> TurnSealing { turnSealing }

    /// The person at the page decides; without an open page the demo taps the recording's own decision. An approval that never reached the relay
    /// cannot be decided, and the bridge has denied it.
    func decides(_ approval: ApprovalID, _ decision: ApprovalDecision) -> Bool {
        let begun = clock.now
        var lastSeen: Instant? = simulator.readerCount > 0 ? begun : nil
        while true {
            let known = state.withLock { (decision: $0.decisions[approval], end: $0.end) }
            if known.end != nil { return true }
            if let made = known.decision {
                let waited = clock.now - begun
                state.withLock { state in
                    state.origin = state.origin + waited
                    if made == .deny, decision != .deny { state.end = .denied }
                }
                return true
            }
            if !isForPerson(approval) {
                if decision != .deny { end(.denied) }
                return true
            }
            if simulator.readerCount > 0 { lastSeen = clock.now }
            let isAlone = lastSeen.map { clock.now - $0 > Self.patience } ?? true
            if isAlone { _ = simulator.decide(approval: approval.text, decision: decision.rawValue) }
            Pace.doze()
        }
    }
}
