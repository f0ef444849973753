/// One thing that a turn shows on the phone, and the content of a relay call. The lane adds address and key when the post's turn comes.
///
/// Posts of one lane go out in the order they were given.
package enum Post: Hashable, Sendable {
    /// The placeholder. The first post of every lane but those that only carry whole messages.
    case open
    /// The preview grew by this. Joins its neighbours until the first try; may be dropped once an end waits behind it.
    case text(String)
    case taskStarted(TaskStart)
    /// Joins the latest progress of its task until the first try; droppable.
    case taskProgress(TaskProgress)
    case taskEnded(TaskEnd)
    case approval(ApprovalCard)
    case end(EndOfTurn)
    /// A whole message without the interaction.
    case message(WholeMessage)
}

package struct TaskStart: Hashable, Sendable {
    package var task: TaskID
    package var kind: String
    package var label: String?
    package var arguments: JSONText?

    package init(task: TaskID, kind: String, label: String? = nil, arguments: JSONText? = nil) {
        self.task = task
        self.kind = kind
        self.label = label
        self.arguments = arguments
    }
}

package struct TaskProgress: Hashable, Sendable {
    package var task: TaskID
    package var label: String?
    package var percent: Int?
    package var partialResult: JSONText?

    package init(task: TaskID, label: String? = nil, percent: Int? = nil, partialResult: JSONText? = nil) {
        self.task = task
        self.label = label
        self.percent = percent
        self.partialResult = partialResult
    }
}

package struct TaskEnd: Hashable, Sendable {
    package var task: TaskID
    package var name: String?
    package var status: ToolResult.Status
    package var label: String?
    package var error: String?
    package var result: JSONText?

    package init(
        task: TaskID, name: String? = nil, status: ToolResult.Status, label: String? = nil, error: String? = nil,
        result: JSONText? = nil
    ) {
        self.task = task
        self.name = name
        self.status = status
        self.label = label
        self.error = error
        self.result = result
    }
}

package struct ApprovalCard: Hashable, Sendable {
    /// The card's own name: that of its ask, or of a later card of the same ask.
    package var approval: ApprovalID
    package var action: String
    package var title: String
    package var message: String
    package var severity: ApprovalRequest.Severity
    package var command: String?
    package var host: String?
    package var slug: String?
    package var toolCall: ToolCallID?
    /// Life of the card at the relay, or nil for the relay's own.
    package var endsAfter: Duration?

    package init(
        approval: ApprovalID, action: String, title: String, message: String, severity: ApprovalRequest.Severity,
        command: String? = nil, host: String? = nil, slug: String? = nil, toolCall: ToolCallID? = nil,
        endsAfter: Duration? = nil
    ) {
        self.endsAfter = endsAfter
        self.approval = approval
        self.action = action
        self.title = title
        self.message = message
        self.severity = severity
        self.command = command
        self.host = host
        self.slug = slug
        self.toolCall = toolCall
    }
}

package struct EndOfTurn: Hashable, Sendable {
    package enum FinishReason: String, Hashable, Sendable {
        case stop, length
        case contentFilter = "content_filter"
        case toolCall = "tool_call"
    }

    package var text: String
    package var usage: Usage?
    /// Nil if the turn failed or was aborted (relay.md#where-the-sources-disagree).
    package var finishReason: FinishReason?
    /// 1, or more after the relay refused an earlier form: a shorter body needs another key.
    package var form: Int

    package init(
        text: String, usage: Usage? = nil, finishReason: FinishReason? = nil, form: Int = 1
    ) {
        self.text = text
        self.usage = usage
        self.finishReason = finishReason
        self.form = form
    }
}

package struct WholeMessage: Hashable, Sendable {
    package enum Part: Hashable, Sendable {
        /// Text beyond the bubble's limit, counted from 1.
        case more(Int)
        /// Text from after the window had closed.
        case late
        /// A short line for which no bubble is left, counted from 1.
        case line(Int)
    }

    package var part: Part
    package var text: String
    package var usage: Usage?
    /// A fixed sentence, readable in a sealed turn too, because the turn has no key.
    package var inTheOpen: Bool

    package init(part: Part, text: String, usage: Usage? = nil, inTheOpen: Bool = false) {
        self.part = part
        self.text = text
        self.usage = usage
        self.inTheOpen = inTheOpen
    }
}
