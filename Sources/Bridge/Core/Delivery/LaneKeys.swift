import Vocabulary

/// The names of one lane's calls at the relay: their keys, and the mark of its placeholder.
///
/// Invariant: no two deltas and no two updates get the same key, over all epochs.
struct LaneKeys: Hashable, Sendable {
    /// Keys of posts that have one place in the turn.
    let fixed: IdempotencyKeys
    /// One life of the process.
    let epoch: Int
    /// `StateMark.bits`, if the placeholder carries them.
    var mark: UInt32?
    /// Number of deltas in this epoch.
    private var deltas = 0
    private var updates = 0

    init(turn: TurnID, epoch: Int) {
        fixed = IdempotencyKeys(turn: turn)
        self.epoch = epoch
    }

    var lastDelta: IdempotencyKey { fixed.delta(epoch: epoch, number: deltas) }

    mutating func nextDelta() -> IdempotencyKey {
        deltas += 1
        return lastDelta
    }

    mutating func nextUpdate(of task: TaskID) -> IdempotencyKey {
        updates += 1
        return fixed.taskUpdate(task, epoch: epoch, number: updates)
    }
}
