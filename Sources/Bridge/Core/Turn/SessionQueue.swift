package import Vocabulary

/// Policy for a message that comes while its agent session is running.
package enum WhenBusy: String, Sendable, Hashable, CaseIterable {
    /// The message waits for the run before it to end.
    case wait
    /// The message is handed over at once, and the agent puts it into the current run.
    case steer
}

/// The turns of one agent session, in the order the messages came.
///
/// Invariants: a turn is handed over once, unless it did not leave; nothing is handed over while the agent is away; unless messages
/// steer, at most one turn is with the agent, besides words of a refusal that steer it.
package struct SessionQueue: Sendable, Hashable {
    private let whenBusy: WhenBusy
    private var ordinary: [TurnID] = []
    /// Words of refusals, which go before all other waiting turns.
    private var urgent: [Urgent] = []
    /// Turns with the agent, oldest first.
    private var running: [TurnID] = []

    private struct Urgent: Hashable {
        var turn: TurnID
        /// The agent puts the words into the run that asked.
        var steers: Bool
    }

    private var waiting: [TurnID] { urgent.isEmpty ? ordinary : urgent.map(\.turn) + ordinary }

    package init(whenBusy: WhenBusy = .wait) { self.whenBusy = whenBusy }

    package var isEmpty: Bool { waiting.isEmpty && running.isEmpty }
    /// The turn whose run is active.
    package var active: TurnID? { running.first }
    /// All turns of the session, those with the agent first.
    package var turns: [TurnID] { running + waiting }

    /// Number of turns that wait for the agent, or for an earlier turn.
    package var waitingCount: Int { waiting.count }
    package var runningCount: Int { running.count }
    package var firstWaiting: TurnID? { waiting.first }
    var waitingTurns: [TurnID] { waiting }
    var runningTurns: [TurnID] { running }
    /// The next turn of an idle session, or nil while a run continues.
    var headOfIdle: TurnID? { running.isEmpty ? waiting.first : nil }

    package mutating func arrived(_ turn: TurnID) { ordinary.append(turn) }

    /// Moves the turn to the front: a person wrote its message instead of tapping yes.
    mutating func goesFirst(_ turn: TurnID, steers: Bool) {
        left(turn)
        urgent.append(Urgent(turn: turn, steers: steers))
    }

    /// Restores a turn after a restart. Turns come in the order of their messages.
    package mutating func resumed(_ turn: TurnID, isWithAgent: Bool) {
        if isWithAgent { running.append(turn) } else { ordinary.append(turn) }
    }

    /// Returns a turn that was handed over but did not leave to the head of the queue.
    package mutating func takenBack(_ turn: TurnID) {
        guard let index = running.firstIndex(of: turn) else { return }
        running.remove(at: index)
        ordinary.insert(turn, at: 0)
    }

    /// Removes a turn that has ended, at any position.
    package mutating func left(_ turn: TurnID) {
        running.removeAll { $0 == turn }
        ordinary.removeAll { $0 == turn }
        urgent.removeAll { $0.turn == turn }
    }

    /// The next turn to hand over, or nil if none may go now.
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
