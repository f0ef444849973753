package import Vocabulary

/// The name of the post that a call makes. Every stored call has it, so it is short. `n`: the end of a text, or the number of a whole
/// message.
extension PostName: Codable {
    package init(from decoder: any Decoder) throws {
        let record = try decoder.container(keyedBy: FieldKey.self)
        let task = { try record["task"] ?? TaskID("") }
        let word = try record.decode(String.self, forKey: "post")
        self =
            switch word {
            case "open": .open
            case "text": .text(endOffset: try record["n"] ?? 0)
            case "task_started": .taskStarted(try task())
            case "task_progress": .taskProgress(try task())
            case "task_ended": .taskEnded(try task())
            case "approval": .approval(try record["approval"] ?? ApprovalID(""))
            case "end": .end
            case "more": .message(.more(try record["n"] ?? 1))
            case "late": .message(.late)
            case "line": .message(.line(try record["n"] ?? 1))
            default: throw record.noCase("post", word)
            }
    }

    package func encode(to encoder: any Encoder) throws {
        var record = encoder.container(keyedBy: FieldKey.self)
        try record.encode(word, forKey: "post")
        switch self {
        case .open, .end, .message(.late): break
        case .text(let number), .message(.more(let number)), .message(.line(let number)):
            try record.encode(number, forKey: "n")
        case .taskStarted(let task), .taskProgress(let task), .taskEnded(let task):
            try record.encode(task, forKey: "task")
        case .approval(let approval): try record.encode(approval, forKey: "approval")
        }
    }

    private var word: String {
        switch self {
        case .open: "open"
        case .text: "text"
        case .taskStarted: "task_started"
        case .taskProgress: "task_progress"
        case .taskEnded: "task_ended"
        case .approval: "approval"
        case .end: "end"
        case .message(.more): "more"
        case .message(.late): "late"
        case .message(.line): "line"
        }
    }

    /// Sorts a set of names, so that equal sets make equal records.
    var order: String {
        switch self {
        case .message(.more(let number)), .message(.line(let number)): "\(word) \(number)"
        default: word
        }
    }
}

/// A waiting post: its name and its payload. The names of tasks and cards are in the post's name.
extension Post: Codable {
    package init(from decoder: any Decoder) throws {
        let record = try decoder.container(keyedBy: FieldKey.self)
        switch try record.decode(PostName.self, forKey: "name") {
        case .open: self = .open
        case .text: self = .text(try record["text"] ?? "")
        case .taskStarted(let task):
            var start = try record["task"] ?? TaskStart.blank
            start.task = task
            self = .taskStarted(start)
        case .taskProgress(let task):
            var progress = try record["task"] ?? TaskProgress.blank
            progress.task = task
            self = .taskProgress(progress)
        case .taskEnded(let task):
            var end = try record["task"] ?? TaskEnd.blank
            end.task = task
            self = .taskEnded(end)
        case .approval(let approval): self = .approval((try record["card"] ?? ApprovalCard.blank).named(approval))
        case .end: self = .end(try record["end"] ?? EndOfTurn.blank)
        case .message(let part):
            self = .message(
                WholeMessage(
                    part: part, text: try record["text"] ?? "", usage: try record["usage"],
                    inTheOpen: try record["in_the_open"] ?? false))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var record = encoder.container(keyedBy: FieldKey.self)
        try record.encode(name, forKey: "name")
        switch self {
        case .open: break
        case .text(let text): try record.encode(text, forKey: "text")
        case .taskStarted(let start): try record.encode(start, forKey: "task")
        case .taskProgress(let progress): try record.encode(progress, forKey: "task")
        case .taskEnded(let end): try record.encode(end, forKey: "task")
        case .approval(let card): try record.encode(card.unnamed(card.approval), forKey: "card")
        case .end(let end): try record.encode(end, forKey: "end")
        case .message(let message):
            try record.encode(message.text, forKey: "text")
            try record.encodeIfPresent(message.usage, forKey: "usage")
            if message.inTheOpen { try record.encode(true, forKey: "in_the_open") }
        }
    }
}

extension TaskStart: Kept {
    package static let blank = Self(task: TaskID(""), kind: "tool")
    package static let fields: [Field<Self>] = [
        Field(always: "name", \.kind), Field("label", \.label), Field("arguments", \.arguments),
    ]
}

extension TaskProgress: Kept {
    package static let blank = Self(task: TaskID(""))
    package static let fields: [Field<Self>] = [
        Field("label", \.label), Field("percent", \.percent), Field("result", \.partialResult),
    ]
}

extension TaskEnd: Kept {
    package static let blank = Self(task: TaskID(""), status: .completed)
    package static let fields: [Field<Self>] = [
        Field("name", \.name), Field("label", \.label), Field(always: "status", \.status), Field("error", \.error),
        Field("result", \.result),
    ]
}

extension EndOfTurn: Kept {
    package static let blank = Self(text: "")
    package static let fields: [Field<Self>] = [
        Field(always: "text", \.text), Field("usage", \.usage), Field("finish_reason", \.finishReason),
        Field(always: "form", \.form),
    ]
}
extension EndOfTurn.FinishReason: Codable {}

/// A later card of an ask has a `name`; the first has the name of its ask or its post, and `unnamed` leaves it out.
extension ApprovalCard: Kept {
    package static let blank = Self(approval: ApprovalID(""), action: "", title: "", message: "", severity: .medium)
    package static let fields: [Field<Self>] = [
        Field(always: "action", \.action), Field(always: "title", \.title), Field(always: "message", \.message),
        Field(always: "severity", \.severity), Field("command", \.command), Field("host", \.host),
        Field("slug", \.slug), Field("tool_call", \.toolCall),
        Field("name", \.approval, absent: ApprovalID("")),
        Field("ends_after_ms") {
            $0.endsAfter.map { Int64($0 / .milliseconds(1)) }
        } read: {
            $0.endsAfter = $1.map { .milliseconds(min(max($0, 0), 86_400_000)) }
        },
    ]

    func unnamed(_ name: ApprovalID) -> Self {
        var card = self
        if approval == name { card.approval = ApprovalID("") }
        return card
    }

    func named(_ name: ApprovalID) -> Self {
        var card = self
        if approval.text.isEmpty { card.approval = name }
        return card
    }
}
extension ApprovalRequest.Severity: Codable {}
