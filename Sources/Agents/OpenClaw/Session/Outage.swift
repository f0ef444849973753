import Vocabulary

/// Why the link is away, and what the gateway said of its return. Nothing while the link is up, but for a restart that was announced.
struct Outage {
    /// What a person can do about it; nil where there is nothing.
    var trouble: OpenClawSession.Trouble?
    private var restart: Duration?
    private var isAnnounced = false
    /// The gateway stopped at that moment. It may run again within the same process, whose age counts from before.
    private(set) var stoppedAt: Instant?

    /// The gateway says that it stops; nil: not for how long.
    mutating func announced(restart: Duration?) {
        self.restart = restart
        isAnnounced = true
    }

    /// `saysRestart`: the socket's end says that the gateway restarts.
    mutating func closed(saysRestart: Bool, at now: Instant) {
        if isAnnounced || saysRestart { stoppedAt = stoppedAt ?? now }
    }

    /// Counts once, for the close that follows.
    mutating func takeRestart() -> Duration? {
        defer { restart = nil }
        return restart
    }
}
