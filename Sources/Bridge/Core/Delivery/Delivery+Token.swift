package import Vocabulary

// The token that calls go out with: refused, changed, or that of another installation.
extension Delivery {
    /// The relay will have nothing more from this token.
    package mutating func stop(_ code: RelayErrorCode) { token.stop(code) }

    /// Why nothing is sent any more.
    package var stopped: RelayErrorCode? { token.stopped }

    /// Another token: pending calls are sent again. `leaving`: it is the old one's last chance, and a call that is refused for it is a
    /// dead letter.
    package mutating func resume(leaving: Bool = false, at instant: Instant) {
        let now = time.read(instant)
        token.resume(leaving: leaving, underWay: Set(lanes.indices.filter { lanes[$0].isUnderWay }))
        rates.renew(at: now)
    }

    /// What is left of so many turns will never go out.
    package mutating func giveUp(turns: Int) { tally.deadLetters += turns }

    /// Calls of abandoned lanes that would be tried again: the next token is of another installation.
    package mutating func dropAbandoned(at instant: Instant) {
        let now = time.read(instant)
        for slot in lanes.indices where lanes[slot].dropAbandoned() { refile(slot, at: now) }
    }
}
