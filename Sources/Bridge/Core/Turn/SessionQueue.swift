package import Vocabulary

/// What happens to a message that comes while its agent session is running.
package enum WhenBusy: String, Sendable, Hashable, CaseIterable {
    /// It waits for the run before it to end.
    case wait
    /// It is handed over at once; the agent puts it into the run that is going on.
    case steer
}

/// The turns of one agent session, in the order the messages came.
///
/// Invariants: a turn is handed over once, but for one that did not leave; nothing is handed over while the agent is away; unless messages
/// steer, at most one turn is with the agent, beside words of a refusal that steer it.
package struct SessionQueue: Sendable, Hashable {
    private let whenBusy: WhenBusy
    private var ordinary: [TurnID] = []
    /// Words of refusals, which go before all that waits.
    private var urgent: [Urgent] = []
    /// With the agent, the oldest first.
    private var running: [TurnID] = []

    private struct Urgent: Hashable {
        var turn: TurnID
        /// The agent puts it into the run that asked.
        var steers: Bool
    }

    private var waiting: [TurnID] { urgent.isEmpty ? ordinary : urgent.map(\.turn) + ordinary }

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

    package mutating func arrived(_ turn: TurnID) { ordinary.append(turn) }

    /// The turn's message is what a person says instead of a yes.
    mutating func goesFirst(_ turn: TurnID, steers: Bool) {
        left(turn)
        urgent.append(Urgent(turn: turn, steers: steers))
    }

    /// From before a restart. Turns come in the order their messages came.
    package mutating func resumed(_ turn: TurnID, isWithAgent: Bool) {
        if isWithAgent { running.append(turn) } else { ordinary.append(turn) }
    }

    /// It was handed over, and did not leave: it is the next again.
    package mutating func takenBack(_ turn: TurnID) {
        guard let index = running.firstIndex(of: turn) else { return }
        running.remove(at: index)
        ordinary.insert(turn, at: 0)
    }

    /// The turn is over or gone, at any position.
    package mutating func left(_ turn: TurnID) {
        running.removeAll { $0 == turn }
        ordinary.removeAll { $0 == turn }
        urgent.removeAll { $0.turn == turn }
    }

    /// The turn that may be handed over now, if there is one.
    package mutating func next(agentPresent: Bool) -> TurnID? {
        guard agentPresent else { return nil }
        let isFree = running.isEmpty || whenBusy == .steer
        if let first = urgent.first {
            guard isFree || first.steers else { return nil }
            running.append(urgent.removeFirst().turn)
            return first.turn
        }
        guard isFree, !ordinary.isEmpty else { return nil }
        running.append(ordinary.removeFirst())
        return running.last
    }
}
