/// Why the link is away, and what the gateway said of its return. Nothing while the link is up, but for a restart that was announced.
struct Outage {
    /// What a person can do about it; nil where there is nothing.
    var trouble: OpenClawSession.Trouble?
    private var restart: Duration?

    /// The gateway says that it stops; nil: not for how long.
    mutating func announced(restart: Duration?) { self.restart = restart }

    /// Counts once, for the close that follows.
    mutating func takeRestart() -> Duration? {
        defer { restart = nil }
        return restart
    }
}
