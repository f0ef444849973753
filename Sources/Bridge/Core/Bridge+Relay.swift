package import Vocabulary

// The relay's token: refused, changed, or that of another installation.
extension Bridge {
    /// The relay refused the token, or there is none: nothing is sent until `relayResumes`.
    package mutating func relayStops(_ code: RelayErrorCode) { delivery.stop(code) }

    /// The relay takes calls again, with another token.
    package mutating func relayResumes(at now: Instant) {
        delivery.resume(at: now)
        deliver(at: now)
    }

    package mutating func use(connections: Int, heldBytes: Int, at now: Instant) {
        delivery.use(connections: connections, heldBytes: heldBytes)
        deliver(at: now)
    }

    /// Another installation follows: open turns end with a sentence while this one's token still holds. A call that is refused for that
    /// token is given up.
    package mutating func leavesInstallation(at now: Instant) {
        delivery.resume(leaving: true, at: now)
        for id in entries.keys.sorted() {
            change(id, at: now) { $0.bridgeStops(line: Sentences.installationChanged, at: now) }
        }
        deliver(at: now)
        keepChanged(.synced)
    }

    /// A turn began after its installation was left.
    package mutating func leavesInstallation(_ turn: TurnID, at now: Instant) {
        change(turn, at: now) { $0.bridgeStops(line: Sentences.installationChanged, at: now) }
        deliver(at: now)
        keepChanged(.synced)
    }

    /// An installation was left before the turn of its message could begin: nothing of it can be shown.
    package mutating func neverBegins(_ turn: TurnID) {
        delivery.giveUp(turns: 1)
        orders.append(.turnClosed(turn, .gone))
    }

    /// The old token has expired: open turns close with what they have.
    package mutating func abandonsTurns(at now: Instant) {
        delivery.giveUp(turns: entries.count)
        for id in entries.keys.sorted() { change(id, at: now) { $0.giveUp(at: now) } }
        delivery.dropAbandoned(at: now)
        deliver(at: now)
        keepChanged(.synced)
    }
}
