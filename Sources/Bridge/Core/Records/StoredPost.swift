import BridgeModel

/// Which post a call makes. It is stored with each call, so it is short.
package struct StoredPostName: StoredForm {
    enum Kind: String, Codable {
        case open = "open"
        case text = "text"
        case taskStarted = "task_started"
        case taskProgress = "task_progress"
        case taskEnded = "task_ended"
        case approval = "approval"
        case end = "end"
        case more = "more"
        case late = "late"
        case line = "line"
    }

    var kind: Kind
    /// Of a text: where it ends. Of a whole message: which one.
    var number: Int?
    var task: TaskID?
    var approval: ApprovalID?

    enum CodingKeys: String, CodingKey {
        case kind = "post"
        case number = "n"
        case task = "task"
        case approval = "approval"
    }
}

extension StoredPostName {
    package init(_ name: PostName) {
        switch name {
        case .open: kind = .open
        case .text(let end): (kind, number) = (.text, end)
        case .taskStarted(let task): (kind, self.task) = (.taskStarted, task)
        case .taskProgress(let task): (kind, self.task) = (.taskProgress, task)
        case .taskEnded(let task): (kind, self.task) = (.taskEnded, task)
        case .approval(let approval): (kind, self.approval) = (.approval, approval)
        case .end: kind = .end
        case .message(.more(let place)): (kind, number) = (.more, place)
        case .message(.late): kind = .late
        case .message(.line(let place)): (kind, number) = (.line, place)
        }
    }

    package var value: PostName {
        let task = task ?? TaskID("")
        return switch kind {
        case .open: .open
        case .text: .text(endOffset: number ?? 0)
        case .taskStarted: .taskStarted(task)
        case .taskProgress: .taskProgress(task)
        case .taskEnded: .taskEnded(task)
        case .approval: .approval(approval ?? ApprovalID(""))
        case .end: .end
        case .more: .message(.more(number ?? 1))
        case .late: .message(.late)
        case .line: .message(.line(number ?? 1))
        }
    }
}

/// A post that waits: which one, and what is to be said.
struct StoredPost: StoredForm {
    var name: StoredPostName
    var text: String?
    var usage: StoredUsage?
    var inTheOpen: Bool?
    var task: StoredTask?
    var card: StoredCard?
    var end: StoredEnd?

    enum CodingKeys: String, CodingKey {
        case name = "name"
        case text = "text"
        case usage = "usage"
        case inTheOpen = "in_the_open"
        case task = "task"
        case card = "card"
        case end = "end"
    }
}

extension StoredPost {
    init(_ post: Post) {
        name = StoredPostName(post.name)
        switch post {
        case .open: break
        case .text(let text): self.text = text
        case .taskStarted(let start): task = StoredTask(start)
        case .taskProgress(let progress): task = StoredTask(progress)
        case .taskEnded(let end): task = StoredTask(end)
        case .approval(let card): self.card = StoredCard(card)
        case .end(let end): self.end = StoredEnd(end)
        case .message(let message):
            (text, usage) = (message.text, message.usage.map { StoredUsage($0) })
            inTheOpen = message.inTheOpen ? true : nil
        }
    }

    var value: Post {
        switch name.value {
        case .open: .open
        case .text: .text(text ?? "")
        case .taskStarted(let id): .taskStarted((task ?? StoredTask()).start(id))
        case .taskProgress(let id): .taskProgress((task ?? StoredTask()).progress(id))
        case .taskEnded(let id): .taskEnded((task ?? StoredTask()).end(id))
        case .approval(let id): .approval((card ?? StoredCard()).card(id))
        case .end: .end(end?.value ?? EndOfTurn(text: ""))
        case .message(let part):
            .message(
                WholeMessage(part: part, text: text ?? "", usage: usage?.value, inTheOpen: inTheOpen ?? false))
        }
    }
}

/// What a post says about a tool's card.
struct StoredTask: Codable, Hashable, Sendable {
    var name: String?
    var label: String?
    var arguments: String?
    var percent: Int?
    var status: StoredToolStatus?
    var error: String?
    var result: String?

    enum CodingKeys: String, CodingKey {
        case name = "name"
        case label = "label"
        case arguments = "arguments"
        case percent = "percent"
        case status = "status"
        case error = "error"
        case result = "result"
    }
}

extension StoredTask {
    init(_ start: TaskStart) { (name, label, arguments) = (start.kind, start.label, start.arguments?.text) }

    init(_ progress: TaskProgress) {
        (label, percent, result) = (progress.label, progress.percent, progress.partialResult?.text)
    }

    init(_ end: TaskEnd) {
        (name, label, error, result) = (end.name, end.label, end.error, end.result?.text)
        status = StoredToolStatus(end.status)
    }

    func start(_ task: TaskID) -> TaskStart {
        TaskStart(
            task: task, kind: name ?? "tool", label: label, arguments: arguments.map { JSONText(unchecked: $0) })
    }

    func progress(_ task: TaskID) -> TaskProgress {
        TaskProgress(
            task: task, label: label, percent: percent, partialResult: result.map { JSONText(unchecked: $0) })
    }

    func end(_ task: TaskID) -> TaskEnd {
        TaskEnd(
            task: task, name: name, status: status?.value ?? .completed, label: label, error: error,
            result: result.map { JSONText(unchecked: $0) })
    }
}

/// What the card of an approval shows.
struct StoredCard: Codable, Hashable, Sendable {
    var action: String?
    var title: String?
    var message: String?
    var severity: StoredSeverity?
    var command: String?
    var host: String?
    var slug: String?
    var toolCall: ToolCallID?
    /// Of a later card of an ask; the first has the ask's own name.
    var name: ApprovalID?
    var endsAfter: Int64?

    enum CodingKeys: String, CodingKey {
        case action = "action"
        case title = "title"
        case message = "message"
        case severity = "severity"
        case command = "command"
        case host = "host"
        case slug = "slug"
        case toolCall = "tool_call"
        case name = "name"
        case endsAfter = "ends_after_ms"
    }
}

extension StoredCard {
    init(_ card: ApprovalCard) {
        (action, title, message) = (card.action, card.title, card.message)
        severity = StoredSeverity(card.severity)
        (command, host, slug, toolCall) = (card.command, card.host, card.slug, card.toolCall)
        endsAfter = card.endsAfter.map { Int64($0 / .milliseconds(1)) }
    }

    func card(_ approval: ApprovalID) -> ApprovalCard {
        ApprovalCard(
            approval: name ?? approval, action: action ?? "", title: title ?? "", message: message ?? "",
            severity: severity?.value ?? .medium, command: command, host: host, slug: slug, toolCall: toolCall,
            endsAfter: endsAfter.map { .milliseconds(min(max($0, 0), 86_400_000)) })
    }
}

struct StoredEnd: StoredForm {
    var text: String
    var usage: StoredUsage?
    var finishReason: StoredFinishReason?
    var form: Int

    enum CodingKeys: String, CodingKey {
        case text = "text"
        case usage = "usage"
        case finishReason = "finish_reason"
        case form = "form"
    }
}

extension StoredEnd {
    init(_ end: EndOfTurn) {
        text = end.text
        usage = end.usage.map { StoredUsage($0) }
        finishReason = end.finishReason.map { StoredFinishReason($0) }
        form = end.form
    }

    var value: EndOfTurn {
        EndOfTurn(text: text, usage: usage?.value, finishReason: finishReason?.value, form: form)
    }
}
