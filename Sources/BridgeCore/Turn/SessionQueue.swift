package import BridgeModel

/// What happens to a message that comes while its agent session is running.
package enum WhenBusy: String, Sendable, Hashable, CaseIterable {
    /// It waits for the run before it to end.
    case wait
    /// It is handed over at once; the agent puts it into the run that is going on.
    case steer
}

/// The turns of one agent session, in the order the messages came.
///
/// Invariants: a turn is handed over once; nothing is handed over while the agent is away; unless messages steer, at most
/// one turn is with the agent.
package struct SessionQueue: Sendable, Hashable {
    private let whenBusy: WhenBusy
    private var waiting: [TurnID] = []
    /// With the agent, the oldest first.
    private var running: [TurnID] = []

    package init(whenBusy: WhenBusy = .wait) { self.whenBusy = whenBusy }

    package var isEmpty: Bool { waiting.isEmpty && running.isEmpty }
    /// The turn whose run is going on.
    package var active: TurnID? { running.first }
    /// All turns of the session, those with the agent first.
    package var turns: [TurnID] { running + waiting }

    /// Turns that wait for the agent, or for one before them.
    package var waitingCount: Int { waiting.count }
    package var runningCount: Int { running.count }
    package var firstWaiting: TurnID? { waiting.first }
    var waitingTurns: [TurnID] { waiting }
    var runningTurns: [TurnID] { running }
    /// The turn that would be next, where no run continues.
    var headOfIdle: TurnID? { running.isEmpty ? waiting.first : nil }

    package mutating func arrived(_ turn: TurnID) { waiting.append(turn) }

    /// From before a restart. Turns come in the order their messages came.
    package mutating func resumed(_ turn: TurnID, isWithAgent: Bool) {
        if isWithAgent { running.append(turn) } else { waiting.append(turn) }
    }

    /// The turn is over or gone, at any position.
    package mutating func left(_ turn: TurnID) {
        running.removeAll { $0 == turn }
        waiting.removeAll { $0 == turn }
    }

    /// The turn that may be handed over now, if there is one.
    package mutating func next(agentPresent: Bool) -> TurnID? {
        guard agentPresent, !waiting.isEmpty, running.isEmpty || whenBusy == .steer else { return nil }
        let turn = waiting.removeFirst()
        running.append(turn)
        return turn
    }
}
