import Vocabulary

/// Stops on their way to the gateway.
///
/// - A stop is kept until the gateway has answered it, its run has ended, or a day has
///   passed, the time for which the core owes it. A lost socket makes it due again.
struct KeptStops {
    struct Stop {
        let session: AgentSession
        fileprivate let until: Instant
        /// Tries on this socket.
        fileprivate(set) var tries = 0
        fileprivate(set) var errand = Errand.due
        /// The gateway knew no run of this name on this socket: the run has another name.
        fileprivate(set) var isUnknown = false
    }

    private static let limit = 256
    private static let life = Duration.seconds(24 * 3_600)

    private var stops: [RunID: Stop] = [:]

    subscript(run: RunID) -> Stop? { stops[run] }

    /// Runs with a stop, sorted.
    var runs: [RunID] { stops.keys.sorted() }

    var hasRoom: Bool { stops.count < Self.limit }

    func due(at now: Instant) -> [RunID] { runs.filter { stops[$0]?.errand.resendAt.map { $0 <= now } == true } }

    var nextResend: Instant? { stops.values.lazy.compactMap(\.errand.resendAt).min() }

    var nextEnd: Instant? { stops.values.lazy.map(\.until).min() }

    mutating func keep(_ run: RunID, in session: AgentSession, at now: Instant) {
        stops[run] = Stop(session: session, until: now + Self.life)
    }

    mutating func asked(_ run: RunID) {
        stops[run]?.tries += 1
        stops[run]?.errand = .asked
    }

    mutating func putOff(_ run: RunID, until moment: Instant) { stops[run]?.errand = .putOff(until: moment) }

    /// A new socket grants the stop all its tries again.
    mutating func beginAnew(_ run: RunID) {
        stops[run]?.tries = 0
        stops[run]?.isUnknown = false
    }

    mutating func isUnknown(_ run: RunID) { stops[run]?.isUnknown = true }

    mutating func forget(_ run: RunID) { stops[run] = nil }

    mutating func forgetOld(at now: Instant) { stops = stops.filter { $0.value.until > now } }

    mutating func socketLost() { for run in stops.keys { stops[run]?.errand = .due } }
}
