package import Vocabulary

// Calls that only the phone may read (relay.md#end-to-end-encryption).
extension Delivery {
    /// The turn's key has come, or is gone.
    package mutating func use(_ sealing: TurnSealing, of turn: TurnID) {
        change(turn, at: time.latest) { $0.use(sealing) }
    }

    /// Drops the lane's pending posts that cannot go out without a key.
    package mutating func dropUnsealed(of turn: TurnID) {
        change(turn, at: time.latest) { $0.dropUnsealed() }
    }

    /// The body for each try of the call from now on, or nil if the call is not under way.
    package mutating func keepSealed(_ body: [UInt8], of call: CallID) -> [UInt8]? {
        guard lanes.indices.contains(call.slot) else { return nil }
        defer { count(call.slot) }
        return lanes[call.slot].keepSealed(body, of: call)
    }

    /// The attempt was not made, because its key is gone.
    package mutating func couldNotSeal(_ call: CallID, at instant: Instant) -> [DeliveryReport] {
        let now = time.read(instant)
        guard let returned = comesBack(call) else { return [] }
        rates.cameToNothing(returned.number, in: returned.tried.kind.bucket, at: now)
        let code = RelayErrorCode.other("key_gone")
        var refusal = PostRefusal(code)
        refusal.lacksKey = true
        let decision = returned.tried.kind.mustBeSeen ? RetryDecision.askTurn(refusal) : .drop(code)
        tally.count(decision, wasTold: true)
        var told: [PostReport] = []
        lanes[call.slot].answered(decision, tried: returned.tried, wasTold: true, at: now, into: &told)
        refile(call.slot, at: now)
        return told.map { DeliveryReport.post(returned.turn, $0) }
    }
}
