package import Vocabulary

// The token that calls go out with: refused, changed, or that of another installation.
extension Delivery {
    /// The relay takes nothing more from this token.
    package mutating func stop(_ code: RelayErrorCode) { token.stop(code) }

    /// The code that stopped all sending, or nil while calls may leave.
    package var stopped: RelayErrorCode? { token.stopped }

    /// Another token: pending calls are sent again. `leaving`: the old token has its last chance, and a call that is refused for it is
    /// a dead letter.
    package mutating func resume(leaving: Bool = false, at instant: Instant) {
        let now = time.read(instant)
        token.resume(leaving: leaving, underWay: Set(lanes.indices.filter { lanes[$0].isUnderWay }))
        rates.renew(at: now)
    }

    /// Counts turns whose posts will never go out.
    package mutating func giveUp(turns: Int) { tally.deadLetters += turns }

    /// Drops calls of abandoned lanes that wait for another try: the next token is of another installation.
    package mutating func dropAbandoned(at instant: Instant) {
        let now = time.read(instant)
        for slot in lanes.indices where lanes[slot].dropAbandoned() { refile(slot, at: now) }
    }
}
