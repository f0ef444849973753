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

    /// The course of the lane. *open* can become closing or abandoned, *closing* abandoned.
    enum Course: Hashable, Sendable {
        case open
        /// The turn is closed: the lane goes away when it is empty.
        case closing
        /// The lane takes no more posts, and tries none that was not tried.
        case abandoned(isClosing: Bool)
    }

    enum Bubble: Hashable, Sendable {
        /// No open was posted.
        case none
        case awaited
        /// `since`: the moment at which the id became known, if that was in this life.
        case known(MessageID, since: Instant?)
        /// The open was given up: what needs the bubble cannot go out.
        case lost
    }

    /// The end of the turn; its states only go forwards.
    enum End: Hashable, Sendable {
        case notPosted
        /// Posted, and not tried.
        case waits(since: Instant)
        /// Tried, or given up. Nothing more goes out but whole messages, and approvals once the window is closed.
        case taken

        /// The end no longer waits.
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
        /// The relay itself set how long the call rests.
        var wasTold = false
        var since: Instant
        /// Nil before the first try.
        var firstTried: Instant?
        var tried: RetryPolicy.Tried
        /// Number in the bucket of the try under way.
        var number: UInt64 = 0
        /// Bytes of the payload until it is answered.
        var bytes = 0
        /// Nil if the call goes out in the open.
        var sealed: Sealed?
    }

    /// A call is sealed at most once. Its body is kept until it is answered, since a second sealing would make another body under the
    /// same key (relay.md#consequences-for-a-correct-connector).
    struct Sealed: Hashable, Sendable {
        var seal: CallSeal
        /// Nil until the call is sealed.
        var body: [UInt8]?
    }

    struct PreparedCall: Hashable, Sendable {
        var call: RelayCall
        var key: IdempotencyKey
        var body: [UInt8]?
    }

    /// Notes of `Delivery` about a lane.
    struct Ledger: Hashable, Sendable {
        /// The lane's last turn, in the order of all lanes.
        var served: UInt64 = 0
        var servedAt: Instant?
        /// `heldBytes` when they were last counted.
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

    /// The moment at which the end was posted, until it is tried.
    var endSince: Instant? { if case .waits(let since) = end { since } else { nil } }
}
