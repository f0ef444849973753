import BridgeModel

/// The tool cards of a turn. Of those that are finished only that they are: a turn may have hundreds, and each record is written
/// whole.
struct StoredTools: StoredForm {
    struct Call: Codable, Hashable, Sendable {
        var id: ToolCallID
        var task: TaskID
        var name: String
        var label: String?
        var began: Instant?
        var shownLabel: String?
        var outputChannel: StoredChannel?
        var percent: Int?
        var commandOpen: Bool?
        var approval: ApprovalID?
        var held: StoredToolResult?

        enum CodingKeys: String, CodingKey {
            case id = "call"
            case task = "task"
            case name = "name"
            case label = "label"
            case began = "began"
            case shownLabel = "shown_label"
            case outputChannel = "output_channel"
            case percent = "percent"
            case commandOpen = "command_open"
            case approval = "approval"
            case held = "held"
        }
    }

    /// In the order they began.
    var open: [Call]?
    var finished: [ToolCallID]?

    enum CodingKeys: String, CodingKey {
        case open = "open"
        case finished = "finished"
    }
}

extension StoredTools.Call {
    /// Running output is not kept: its card shows what was sent, and its end replaces it.
    mutating func carry(_ call: inout ToolLedger.Call, _ carry: Carry) {
        carry(&call.task, &task)
        carry(&call.name, &name)
        carry(&call.label, &label)
        carry(&call.began, &began)
        carry(&call.shownLabel, &shownLabel)
        carry(&call.outputChannel, as: &outputChannel)
        carry(&call.percent, &percent)
        carry(&call.commandOpen, &commandOpen, absent: false)
        carry(&call.approval, &approval)
        carry(&call.held, as: &held)
    }

    init(_ id: ToolCallID, _ call: ToolLedger.Call) {
        (self.id, task, name) = (id, call.task, call.name)
        var call = call
        carry(&call, .storing)
    }

    var call: ToolLedger.Call {
        var call = ToolLedger.Call(task: task, name: name)
        var stored = self
        stored.carry(&call, .restoring)
        return call
    }
}

extension StoredTools {
    init(_ tools: ToolLedger) {
        open = tools.open.compactMap { id in tools.calls[id].map { Call(id, $0) } }
        finished = tools.calls.filter { $0.value.finished }.keys.sorted()
    }

    var value: ToolLedger {
        var tools = ToolLedger()
        for id in finished ?? [] { tools.calls[id] = .finished(id) }
        for stored in open ?? [] {
            tools.calls[stored.id] = stored.call
            tools.open.append(stored.id)
        }
        return tools
    }
}

struct StoredToolResult: StoredForm {
    var call: ToolCallID
    var channel: StoredChannel
    var name: String?
    var status: StoredToolStatus
    var title: String?
    var result: String?
    var error: String?
    var lacksOutput: Bool?

    enum CodingKeys: String, CodingKey {
        case call = "call"
        case channel = "channel"
        case name = "name"
        case status = "status"
        case title = "title"
        case result = "result"
        case error = "error"
        case lacksOutput = "lacks_output"
    }
}

extension StoredToolResult {
    init(_ value: ToolResult) {
        call = value.call
        channel = StoredChannel(value.channel)
        name = value.name
        status = StoredToolStatus(value.status)
        title = value.title
        result = value.result?.text
        error = value.error
        lacksOutput = value.lacksOutput ? true : nil
    }

    var value: ToolResult {
        var value = ToolResult(
            call: call, channel: channel.value, name: name, status: status.value, title: title,
            result: result.map { JSONText(unchecked: $0) }, error: error)
        value.lacksOutput = lacksOutput ?? false
        return value
    }
}
