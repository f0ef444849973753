package import BridgeModel

/// One turn as a journal keeps it: enough to go on with it in another process.
///
/// The text is not in it, but for what waits to be sent and what the end holds: the deltas, each stored by itself before its
/// first try, say what was streamed, and the agent is asked for the rest. So a record stays small however long the answer
/// is.
package struct TurnRecord: Sendable, Codable {
    var turn: Turn
    var lane: LaneRecord
    var renamed: [TaskID: TaskID]

    package var id: TurnID { turn.opening.id }
    /// What its bubble and its run are called, for whoever looks things up.
    package var opening: TurnOpening { turn.opening }
    /// The bodies that will be asked for by their keys.
    package var unanswered: [IdempotencyKey] { lane.unanswered.map(\.key) }
    /// How far the turn has come, for the agent's link: a run that was handed over may have begun.
    package var runs: [RunID] { turn.occupiesAgent ? turn.runs.sorted() : [] }

    /// What was stored of the text after this record was made.
    package mutating func catchUp(with deltas: [StoredDelta]) { lane.catchUp(with: deltas) }
}
