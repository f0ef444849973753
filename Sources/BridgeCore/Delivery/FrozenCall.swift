package import BridgeModel

/// A call that was tried, or is about to be: it never changes any more.
package struct FrozenCall: Sendable, Hashable {
    package enum Payload: Sendable, Hashable {
        case fresh(RelayCall)
        /// The bytes that the store holds under this key.
        case stored(IdempotencyKey)
    }

    package var name: PostName
    package var key: IdempotencyKey?
    package var bucket: RelayBucket
    package var payload: Payload
    package var since: Instant
    package var tries: Int
}

/// What a lane could send next.
package struct Candidate: Sendable, Hashable {
    package var bucket: RelayBucket
    package var name: PostName
    package var since: Instant
    package var notBefore: Instant?
    /// Untried: pace and the order of ranks apply as for anything new.
    package var isFresh: Bool
}

/// One try of a call, for the runner to carry out.
package struct CallAttempt: Sendable, Hashable {
    /// Names this try; its answer comes back under it.
    package var call: CallID
    package var turn: TurnID
    package var name: PostName
    package var payload: FrozenCall.Payload
    package var attempt: Int
    /// Saved before this try; nil: it is saved already, or never.
    package var durability: StoredRecord.Durability?
}

package struct CallID: Sendable, Hashable, Comparable {
    package let number: Int

    package static func < (left: Self, right: Self) -> Bool { left.number < right.number }
}
