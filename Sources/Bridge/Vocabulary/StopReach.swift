/// Runs that a Stop of the relay ends, by its reason
/// (relay.md#sessioncancelled-the-user-pressed-stop-or-the-session-went). A repeated delivery ends no run
/// that began after the first one.
///
/// | reason | runs of ours | runs of others |
/// |---|---|---|
/// | `user_aborted`, or none | aborted | aborted |
/// | `session_deleted` | aborted | the view is closed (`Bridge.ended`) |
/// | `installation_revoked` | aborted | the view is closed (`Bridge.installationRevoked`) |
/// | `navigation_away`, any other | aborted | untouched |
///
/// A reach stays with its abort until the agent has answered the abort: if the agent names a run of its own
/// as the answer to our message, a stop of `ownRuns` does not follow it there.
package enum StopReach: Hashable, Sendable {
    /// A person pressed Stop.
    case everyRun
    /// The relay has a reason of its own.
    case ownRuns

    package func covers(isOurs: Bool) -> Bool {
        isOurs || self == .everyRun
    }
}
