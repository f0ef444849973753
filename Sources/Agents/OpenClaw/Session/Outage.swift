import Vocabulary

/// The cause of a lost link, and the gateway's announcement of its return.
/// Empty while the link is up, except for an announced restart.
struct Outage {
    /// Remedy for a person, or nil if there is none.
    var trouble: OpenClawSession.Trouble?
    private var restart: Duration?
    private var isAnnounced = false
    /// When the gateway stopped. It may restart within the same process, whose age then counts from before.
    private(set) var stoppedAt: Instant?

    /// The gateway announces a stop; `restart` is nil if it does not say for how long.
    mutating func announced(restart: Duration?) {
        self.restart = restart
        isAnnounced = true
    }

    /// `saysRestart`: the close reports a restart.
    mutating func closed(saysRestart: Bool, at now: Instant) {
        if isAnnounced || saysRestart { stoppedAt = stoppedAt ?? now }
    }

    /// Takes the announced delay, which applies to one close only.
    mutating func takeRestart() -> Duration? {
        defer { restart = nil }
        return restart
    }
}
