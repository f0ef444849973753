// A deleted session is forgotten after its grace period (relay.md#rest).
extension Relay {
    mutating func forgetDeletedSessions(at now: Moment) {
        for session in chats.forgetDeleted(at: now, after: options.deletionGraceMilliseconds) {
            approvals.forget(session: session)
            installation.devices.forget(session: session)
        }
    }
}
