import Vocabulary

// Names of cards. A turn knows its cards by names of its own; the relay needs names that no other turn has.
extension Bridge {
    /// A provider's call id is unique in its session only: a card of another turn may have it already.
    mutating func renamed(_ post: Post, of id: TurnID) -> Post {
        switch post {
        case .taskStarted(var task):
            let name = tasksInUse.name(of: task.task, in: id)
            if name != task.task { entries[id]?.renamed[task.task] = name }
            task.task = name
            return .taskStarted(task)
        case .taskProgress(var task):
            task.task = entries[id]?.renamed[task.task] ?? task.task
            return .taskProgress(task)
        case .taskEnded(var task):
            task.task = entries[id]?.renamed[task.task] ?? task.task
            return .taskEnded(task)
        case .open, .text, .approval, .end, .message: return post
        }
    }

    /// The turn's own name for the card that the relay knows by this one. Nil if that is a card of another turn.
    func ownName(of task: TaskID, in entry: Entry) -> TaskID? {
        entry.renamed.first { $0.value == task }?.key ?? (entry.renamed[task] == nil ? task : nil)
    }

    /// A turn knows its cards by the names that it gave them.
    func withOwnNames(_ report: PostReport, of id: TurnID) -> PostReport {
        func own(_ task: TaskID) -> TaskID { entries[id].flatMap { ownName(of: task, in: $0) } ?? task }
        return switch report {
        case .dropped(.taskStarted(let task), let code): .dropped(.taskStarted(own(task)), code)
        case .deadLetter(.taskStarted(let task)): .deadLetter(.taskStarted(own(task)))
        case .delivered, .refused, .dropped, .deadLetter, .heldBack, .postponed, .anothers, .destinationGone,
            .windowClosed:
            report
        }
    }
}
