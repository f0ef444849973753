import Vocabulary

/// The turns that cards on the phone belong to. A provider's call id is unique in its run only, and the relay keeps cards for longer than
/// turns last: the same id in another turn gets a name of its own.
struct TaskNames: Sendable {
    /// Names beyond this limit are forgotten, oldest first.
    static let limit = 4_096

    private var owners: [TaskID: TurnID] = [:]
    private var order: [TaskID] = []
    private var oldest = 0

    /// The card's name at the relay.
    mutating func name(of task: TaskID, in turn: TurnID) -> TaskID {
        guard let owner = owners[task], owner != turn else {
            take(task, by: turn)
            return task
        }
        let name = TaskID("\(task.text.prefix(230))~\(StableHash.text(of: turn.text).prefix(8))")
        take(name, by: turn)
        return name
    }

    mutating func take(_ task: TaskID, by turn: TurnID) {
        guard owners.updateValue(turn, forKey: task) == nil else { return }
        guard order.count >= Self.limit else { return order.append(task) }
        owners[order[oldest]] = nil
        order[oldest] = task
        oldest = (oldest + 1) % Self.limit
    }
}
