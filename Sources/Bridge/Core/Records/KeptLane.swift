import Vocabulary

extension LaneRecord: Kept {
    package static let blank = Self(
        address: LaneAddress(turn: TurnID(""), session: SessionID(""), interaction: nil), message: nil, epoch: 0)
    package static let fields: [Field<Self>] = [
        Field(always: "turn", \.address.turn), Field(always: "session", \.address.session),
        Field("interaction", \.address.interaction), Field("sealing", \.address.sealing, absent: .open),
        Field(always: "epoch", \.epoch), Field("message", \.message), Field("deltas", \.deltas, absent: 0),
        Field("streamed", \.streamed, absent: 0), Field("unanswered", \.unanswered, absent: []),
        Field("ended", \.ended, absent: false), Field("waiting", \.waiting, absent: []),
        Field("bubble_is_lost", \.bubbleIsLost, absent: false),
        Field("preview_is_over", \.previewIsOver, absent: false),
        Field("window_is_open", \.windowIsOpen, absent: true), Field("is_abandoned", \.isAbandoned, absent: false),
        Field("is_closing", \.isClosing, absent: false),
    ]
}

extension LaneRecord.UnansweredCall: Kept {
    package static let blank = Self(name: .open, key: IdempotencyKey(""))
    package static let fields: [Field<Self>] = [
        Field(always: "name", \.name), Field(always: "key", \.key), Field("form", \.form, absent: 1),
        Field("tried_at", \.triedAt),
    ]
}

extension LaneRecord.WaitingPost: Kept {
    package static let blank = Self(post: .open, since: .zero, withoutInteraction: false, form: 1)
    package static let fields: [Field<Self>] = [
        Field(always: "post", \.post), Field(always: "since", \.since),
        Field("without_interaction", \.withoutInteraction, absent: false), Field("form", \.form, absent: 1),
    ]
}
