package import BridgeModel

/// What is on its way, for `status` and metrics.
package struct BridgeFigures: Hashable, Sendable {
    package var openTurns: Int
    package var waitingTurns: Int
    package var callsUnderWay: Int
    package var deadLetters: Int
    /// Calls that each bucket would allow now.
    package var levels: [RelayBucket: Double]
    /// `HeldBytes.lanes` of this machine.
    package var held = 0
}

extension Bridge {
    package func figures(at now: Instant) -> BridgeFigures {
        // A copy, since a bucket that is asked fills itself up to the moment.
        var delivery = delivery
        var levels: [RelayBucket: Double] = [:]
        for bucket in RelayBucket.allCases { levels[bucket] = delivery.level(of: bucket, at: now) }
        return BridgeFigures(
            openTurns: openTurns, waitingTurns: queues.values.reduce(0) { $0 + $1.waitingCount },
            callsUnderWay: callsUnderWay, deadLetters: tally.deadLetters, levels: levels, held: heldBytes)
    }

    /// What the lanes hold (`HeldBytes.lanes`). At most `DeliverySettings.heldBytes`, but for what is never cut: ends, messages,
    /// approvals, text, and the calls under way.
    package var heldBytes: Int { delivery.heldBytes }

    /// The call was tried and will be tried again.
    package func isPending(_ call: CallID) -> Bool { delivery.isPending(call) }
}
