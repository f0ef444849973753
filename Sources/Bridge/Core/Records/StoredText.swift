import BridgeModel

/// The newest segment is not kept: what was streamed of it is in the deltas (`RunText.resume`).
struct StoredText: StoredForm {
    var base: String?
    var ended: String?
    var hasGap: Bool?
    var isIncomplete: Bool?
    var isTorn: Bool?

    enum CodingKeys: String, CodingKey {
        case base = "base"
        case ended = "ended"
        case hasGap = "has_gap"
        case isIncomplete = "is_incomplete"
        case isTorn = "is_torn"
    }
}

extension StoredText {
    private mutating func carry(_ text: inout RunText, _ carry: Carry) {
        carry(&text.base, &base, absent: "")
        carry(&text.ended, &ended, absent: "")
        carry(&text.hasGap, &hasGap, absent: false)
        carry(&text.isIncomplete, &isIncomplete, absent: false)
        carry(&text.isTorn, &isTorn, absent: false)
    }

    init(_ text: RunText) {
        var text = text
        carry(&text, .storing)
    }

    var value: RunText {
        var text = RunText()
        var stored = self
        stored.carry(&text, .restoring)
        return text
    }
}

/// What was streamed is not kept here: it is in the deltas (`Preview.resume`).
struct StoredPreview: StoredForm {
    enum State: String, Codable {
        case inStep = "in_step"
        case ahead = "ahead"
        case apart = "apart"
        case over = "over"
    }

    var limit: Int
    var state: State

    enum CodingKeys: String, CodingKey {
        case limit = "limit"
        case state = "state"
    }
}

extension StoredPreview {
    init(_ preview: Preview) {
        limit = preview.limit
        state =
            switch preview.state {
            case .inStep: .inStep
            case .ahead: .ahead
            case .apart: .apart
            case .over: .over
            }
    }

    var value: Preview {
        var preview = Preview(limit: limit)
        preview.state =
            switch state {
            case .inStep: .inStep
            case .ahead: .ahead
            case .apart: .apart
            case .over: .over
            }
        return preview
    }
}

struct StoredNames: StoredForm {
    var usedLate: Bool?
    var more: Int?
    var lines: Int?

    enum CodingKeys: String, CodingKey {
        case usedLate = "used_late"
        case more = "more"
        case lines = "lines"
    }
}

extension StoredNames {
    private mutating func carry(_ names: inout MessageNames, _ carry: Carry) {
        carry(&names.usedLate, &usedLate, absent: false)
        carry(&names.more, &more, absent: 0)
        carry(&names.lines, &lines, absent: 0)
    }

    init(_ names: MessageNames) {
        var names = names
        carry(&names, .storing)
    }

    var value: MessageNames {
        var names = MessageNames()
        var stored = self
        stored.carry(&names, .restoring)
        return names
    }
}
