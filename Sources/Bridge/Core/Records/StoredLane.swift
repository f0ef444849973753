import BridgeModel

/// A lane, as the journal holds it.
struct StoredLane: StoredForm {
    struct Unanswered: StoredForm {
        var name: StoredPostName
        var key: IdempotencyKey
        var form: Int?
        var triedAt: Instant?

        enum CodingKeys: String, CodingKey {
            case name = "name"
            case key = "key"
            case form = "form"
            case triedAt = "tried_at"
        }
    }

    struct Waiting: StoredForm {
        var post: StoredPost
        var since: Instant
        var withoutInteraction: Bool?
        var form: Int?

        enum CodingKeys: String, CodingKey {
            case post = "post"
            case since = "since"
            case withoutInteraction = "without_interaction"
            case form = "form"
        }
    }

    var turn: TurnID
    var session: SessionID
    var interaction: InteractionID?
    var epoch: Int
    var message: MessageID?
    var deltas: Int?
    var streamed: Int?
    var unanswered: [Unanswered]?
    var ended: Bool?
    var waiting: [Waiting]?
    var bubbleIsLost: Bool?
    var previewIsOver: Bool?
    var windowIsOpen: Bool?
    var isAbandoned: Bool?
    var isClosing: Bool?
    var sealing: StoredSealing?

    enum CodingKeys: String, CodingKey {
        case turn = "turn"
        case session = "session"
        case interaction = "interaction"
        case epoch = "epoch"
        case message = "message"
        case deltas = "deltas"
        case streamed = "streamed"
        case unanswered = "unanswered"
        case ended = "ended"
        case waiting = "waiting"
        case bubbleIsLost = "bubble_is_lost"
        case previewIsOver = "preview_is_over"
        case windowIsOpen = "window_is_open"
        case isAbandoned = "is_abandoned"
        case isClosing = "is_closing"
        case sealing = "sealing"
    }
}

extension StoredLane.Unanswered {
    init(_ call: LaneRecord.UnansweredCall) {
        name = StoredPostName(call.name)
        key = call.key
        form = call.form == 1 ? nil : call.form
        triedAt = call.triedAt
    }

    var value: LaneRecord.UnansweredCall {
        LaneRecord.UnansweredCall(name: name.value, key: key, form: form ?? 1, triedAt: triedAt)
    }
}

extension StoredLane.Waiting {
    init(_ waiting: LaneRecord.WaitingPost) {
        post = StoredPost(waiting.post)
        since = waiting.since
        withoutInteraction = waiting.withoutInteraction ? true : nil
        form = waiting.form == 1 ? nil : waiting.form
    }

    var value: LaneRecord.WaitingPost {
        LaneRecord.WaitingPost(
            post: post.value, since: since, withoutInteraction: withoutInteraction ?? false, form: form ?? 1)
    }
}

extension StoredLane {
    private mutating func carry(_ lane: inout LaneRecord, _ carry: Carry) {
        carry(&lane.message, &message)
        carry(&lane.deltas, &deltas, absent: 0)
        carry(&lane.streamed, &streamed, absent: 0)
        carry(&lane.unanswered, as: &unanswered)
        carry(&lane.ended, &ended, absent: false)
        carry(&lane.waiting, as: &waiting)
        carry(&lane.bubbleIsLost, &bubbleIsLost, absent: false)
        carry(&lane.previewIsOver, &previewIsOver, absent: false)
        carry(&lane.windowIsOpen, &windowIsOpen, absent: true)
        carry(&lane.isAbandoned, &isAbandoned, absent: false)
        carry(&lane.isClosing, &isClosing, absent: false)
    }

    init(_ lane: LaneRecord) {
        turn = lane.address.turn
        session = lane.address.session
        interaction = lane.address.interaction
        sealing = lane.address.sealing.isSealed ? StoredSealing(lane.address.sealing) : nil
        epoch = lane.epoch
        var lane = lane
        carry(&lane, .storing)
    }

    var value: LaneRecord {
        var lane = LaneRecord(
            address: LaneAddress(
                turn: turn, session: session, interaction: interaction, sealing: sealing?.value ?? .open),
            message: nil, epoch: epoch)
        var stored = self
        stored.carry(&lane, .restoring)
        return lane
    }
}
