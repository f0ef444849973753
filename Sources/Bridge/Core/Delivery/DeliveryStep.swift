package import Vocabulary

/// A call of this process, the same over all its tries.
package struct CallID: Hashable, Sendable {
    /// Counts the calls of a `Delivery` from 1.
    package let number: UInt64
    /// The lane's slot, so that an answer finds it without a search.
    let slot: Int
}

/// One try of a relay call, to be made now.
package struct CallAttempt: Hashable, Sendable {
    package enum Payload: Hashable, Sendable {
        // Indirect: attempts are passed on several times, and a call is large.
        indirect case fresh(RelayCall)
        /// The bytes that were stored under this key before the restart.
        case stored(IdempotencyKey)
    }

    package var call: CallID
    package var turn: TurnID
    package var name: PostName
    package var payload: Payload
    /// Number of the try, from 1. A later try must send the very bytes of the first.
    package var attempt: Int
    /// How durable key and bytes must be before this try leaves. Nil if they are saved already, or are not worth saving.
    package var durability: Durability?
    /// The call may use the connections that are kept for opens and ends.
    package var reserve: Bool
    /// The body, if it was made already: ahead of a first try, or sealed by an earlier one.
    package var body: [UInt8]?
    /// The seal for the body, which is sealed once. Nil if the call goes out in the open.
    package var seal: CallSeal?
    /// The next call of the lane is fixed: its body can be made while this one is under way.
    package var isFollowed = false
    /// The call is a placeholder with the mark of its state directory (`Claim`).
    package var isMarked = false
    /// The moment at which the post came to the lane; of text, its first piece.
    package var since: Instant

    /// Whether the journal gets the call before this try leaves.
    package var isSavedFirst: Bool {
        guard attempt == 1, durability != nil, case .fresh(let call) = payload else { return false }
        return call.key != nil
    }
}

/// The chat and the key that a call is sealed for.
package struct CallSeal: Hashable, Sendable {
    package var session: SessionID
    /// Nil if there is none, and the call says nothing that needs one.
    package var key: KeyName?

    package init(session: SessionID, key: KeyName?) {
        self.session = session
        self.key = key
    }
}

/// A call that is sure to follow another, so that its body can be made ahead.
package struct CallAhead: Hashable, Sendable {
    package var call: RelayCall
    package var seal: CallSeal?
}

package enum DeliveryStep: Hashable, Sendable {
    case attempt(CallAttempt)
    /// Something happened without an answer, such as a post that cannot be carried.
    case report(DeliveryReport)
    /// Nothing to do before that moment, or if nil before something happens. An answer or a post ends the wait early.
    case idle(until: Instant?)
}

/// The order of sending. Within a rank the longest waiting goes first; a lane that had its turn goes to the back.
package enum DeliveryRank: UInt8, Hashable, Sendable, Comparable, CaseIterable {
    case approval, bubble, taskEnd, taskStart
    /// The first text of a turn ends the phone's waiting, so it goes before other text.
    case firstText
    case text, progress

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

package struct DeliverySettings: Hashable, Sendable {
    /// Calls under way at once.
    package var connections = 64
    /// Connections kept for opens, ends and whole messages.
    package var reserved = 8
    /// The share of the delta bucket's refill that text may use.
    package var deltaShare = 0.8
    /// An end that waits longer takes turns with the opens that are late too. A hair under the 5 s that no end may wait.
    package var endTarget = Duration.milliseconds(4970)
    /// An open that waits longer takes turns with the ends that are late too.
    package var openTarget = Duration.seconds(10)
    /// How long untried text may hold back the end behind it.
    package var textHold = LaneBounds.lastDeltaHold
    /// Bytes that all lanes and the texts of turns may hold. Above it the oldest progress is dropped, then payloads of cards are cut.
    package var heldBytes = 16 << 20
    /// Figures in force until the relay's headers say something else.
    package var figures: [RelayBucket: BucketFigures] = [:]

    package init() {}
}

extension RelayBucket {
    static let inOrder: [RelayBucket] = [.msg, .delta, .task, .approval, .default]

    var index: Int {
        switch self {
        case .msg: 0
        case .delta: 1
        case .task: 2
        case .approval: 3
        case .default: 4
        }
    }
}

extension PostName {
    package var isText: Bool { kind == .text }
    /// End of a delta in the streamed text.
    package var endOffset: Int? { if case .text(let offset) = self { offset } else { nil } }
    /// The relay answers with the id of a message.
    package var makesMessage: Bool { kind == .open || kind == .message }

    package var kind: PostKind {
        switch self {
        case .open: .open
        case .text: .text
        case .taskStarted: .taskStarted
        case .taskProgress: .taskProgress
        case .taskEnded: .taskEnded
        case .approval: .approval
        case .end: .end
        case .message: .message
        }
    }
}

extension PostKind {
    package var bucket: RelayBucket {
        switch self {
        case .open, .end, .message: .msg
        case .text: .delta
        case .taskStarted, .taskProgress, .taskEnded: .task
        case .approval: .approval
        }
    }

    package var rank: DeliveryRank {
        switch self {
        case .approval: .approval
        case .open, .end, .message: .bubble
        case .taskEnded: .taskEnd
        case .taskStarted: .taskStart
        case .text: .text
        case .taskProgress: .progress
        }
    }

    /// Texts and progress may be lost.
    var isDroppable: Bool { self == .text || self == .taskProgress }

    /// How durable a call must be before its first try (DESIGN.md#lanes-buckets-pacing). Progress is not stored.
    var durability: Durability? {
        switch self {
        case .open, .end, .message, .approval: .synced
        case .text, .taskStarted, .taskEnded: .written
        case .taskProgress: nil
        }
    }
}
