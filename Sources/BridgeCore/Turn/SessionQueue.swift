package import BridgeModel

/// The turns of one agent session: one run at a time, in the order the messages came.
///
/// Invariants: at most one turn is with the agent; a turn is handed over once; nothing is handed over while the agent is away.
package struct SessionQueue: Sendable, Hashable {
    private var waiting: [TurnID] = []
    package private(set) var active: TurnID?

    package init() {}

    package var isEmpty: Bool { waiting.isEmpty && active == nil }
    /// All turns of the session, the active one first.
    package var turns: [TurnID] { (active.map { [$0] } ?? []) + waiting }

    package mutating func arrived(_ turn: TurnID) { waiting.append(turn) }

    /// A run that no message began occupies the session.
    package mutating func occupied(by turn: TurnID) {
        if active == nil { active = turn }
    }

    /// The turn is over or gone, wherever it stands.
    package mutating func left(_ turn: TurnID) {
        if active == turn { active = nil }
        waiting.removeAll { $0 == turn }
    }

    /// The turn that may be handed over now, if there is one.
    package mutating func next(agentPresent: Bool) -> TurnID? {
        guard agentPresent, active == nil, !waiting.isEmpty else { return nil }
        active = waiting.removeFirst()
        return active
    }
}
