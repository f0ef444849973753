// A deleted session is forgotten when its grace period is over (relay.md#rest).
extension Relay {
    mutating func forgetDeletedSessions(at now: Moment) {
        while let id = deletedSessions.first, let deletedAt = sessionStates[id]?.deletedAt,
            now.milliseconds(since: deletedAt) > options.deletionGraceMilliseconds
        {
            deletedSessions.removeFirst()
            forget(session: id)
        }
    }

    private mutating func forget(session id: String) {
        guard let session = sessionStates.removeValue(forKey: id) else { return }
        sessionOrder.removeAll { $0 == id }
        for message in session.messages { messagePlaces[message.id] = nil }
        for task in session.tasks { taskPlaces["\(id)/\(task.id)"] = nil }
        interactions = interactions.filter { $0.value.session != id }
        approvals = approvals.filter { $0.value.session != id }
        openApprovals.removeAll { approvals[$0] == nil }
        settledApprovals.removeAll { approvals[$0] == nil }
        announcedFiles.removeAll { $0.session == id }
    }
}
