// A deleted session is forgotten when its grace period is over (relay.md#rest).
extension Relay {
    mutating func forgetDeletedSessions(at now: Moment) {
        for session in chats.forgetDeleted(at: now, after: options.deletionGraceMilliseconds) {
            approvals.forget(session: session)
            installation.devices.forget(session: session)
        }
    }
}
