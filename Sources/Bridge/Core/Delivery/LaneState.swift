import Vocabulary

// States of a lane, each with the values that are valid only in it. `Lane` documents the transitions.
extension Lane {
    enum State: Hashable, Sendable {
        case idle
        case underWay(Frozen)
        case resting(Frozen, until: Instant)
        case refused(Frozen)
        case gone
    }

    /// Whether it continues. *open* can become closing or abandoned, *closing* abandoned.
    enum Course: Hashable, Sendable {
        case open
        /// The turn is closed: the lane goes away when it is empty.
        case closing
        /// Takes no post any more, and tries none that was not tried.
        case abandoned(isClosing: Bool)
    }

    enum Bubble: Hashable, Sendable {
        /// No open was posted.
        case none
        case awaited
        /// `since`: when it became known, if that was in this life.
        case known(MessageID, since: Instant?)
        /// The open was given up: what needs the bubble cannot go out.
        case lost
    }

    /// The end of the turn, forwards only.
    enum End: Hashable, Sendable {
        case notPosted
        /// Posted, and not tried.
        case waits(since: Instant)
        /// Tried, or given up. Nothing goes out any more but whole messages, and approvals when the window is closed.
        case taken

        /// It waits no longer.
        mutating func leave() {
            if case .waits = self { self = .taken }
        }
    }

    /// A call that was tried at least once, or is about to be.
    struct Frozen: Hashable, Sendable {
        var call: CallID
        var name: PostName
        var payload: CallAttempt.Payload
        var attempts = 0
        var isStored = false
        /// The relay itself said how long it rests.
        var wasTold = false
        var since: Instant
        /// Nil: it was not tried yet.
        var firstTried: Instant?
        var tried: RetryPolicy.Tried
        /// Of the try under way: its number in the bucket.
        var number: UInt64 = 0
        /// Of its payload, while it is not answered.
        var bytes = 0
        /// Nil: it goes out in the open.
        var sealed: Sealed?
    }

    /// A call is sealed at most once: its body is kept until it is answered, since a second sealing would make another body under
    /// the same key (relay.md#consequences-for-a-correct-connector).
    struct Sealed: Hashable, Sendable {
        var seal: CallSeal
        /// Nil: it is about to be sealed.
        var body: [UInt8]?
    }

    struct PreparedCall: Hashable, Sendable {
        var call: RelayCall
        var key: IdempotencyKey
        var body: [UInt8]?
    }

    /// What `Delivery` notes of a lane.
    struct Ledger: Hashable, Sendable {
        /// When the lane last had its turn, in the order of all lanes.
        var served: UInt64 = 0
        var servedAt: Instant?
        /// `heldBytes` as it was counted.
        var countedBytes = 0
    }
}

extension Lane {
    /// The call that is under way, rests, or was refused.
    var frozen: Frozen? {
        switch state {
        case .underWay(let frozen), .resting(let frozen, _), .refused(let frozen): frozen
        case .idle, .gone: nil
        }
    }

    var isUnderWay: Bool { if case .underWay = state { true } else { false } }
    var isAbandoned: Bool { if case .abandoned = course { true } else { false } }

    var isClosing: Bool {
        switch course {
        case .open: false
        case .closing: true
        case .abandoned(let isClosing): isClosing
        }
    }

    /// When the end was posted, while it was not tried.
    var endSince: Instant? { if case .waits(let since) = end { since } else { nil } }
}
