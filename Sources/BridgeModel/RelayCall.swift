/// One call of the relay's bridge API, as a value (relay.md#bridge-rest-methods). The room RelayProtocol makes bytes of it.
package enum RelayCall: Hashable, Sendable {
    case sendMessage(SendMessage)
    case sendMessageDelta(SendMessageDelta)
    case sendMessageEnd(SendMessageEnd)
    case createTask(CreateTask)
    case updateTask(UpdateTask)
    case finishTask(FinishTask)
    case requestApproval(RequestApproval)
    case createSession(CreateSession)

    package var bucket: RelayBucket {
        switch self {
        case .sendMessage, .sendMessageEnd: .msg
        case .sendMessageDelta: .delta
        case .createTask, .updateTask, .finishTask: .task
        case .requestApproval: .approval
        case .createSession: .default
        }
    }

    /// Nil where the method has none.
    package var key: IdempotencyKey? {
        switch self {
        case .sendMessage(let call): call.key
        case .sendMessageDelta(let call): call.key
        case .sendMessageEnd(let call): call.key
        case .createTask(let call): call.key
        case .updateTask(let call): call.key
        case .finishTask(let call): call.key
        case .requestApproval(let call): call.key
        case .createSession: nil
        }
    }
}

/// The relay's token buckets that this bridge draws from (relay.md#buckets).
package enum RelayBucket: String, Hashable, Sendable, CaseIterable {
    case msg, delta, task, approval
    case `default`
}

package struct SendMessage: Hashable, Sendable {
    package var session: SessionID
    package var interaction: InteractionID?
    package var text: String
    package var usage: Usage?
    package var key: IdempotencyKey

    package init(
        session: SessionID, interaction: InteractionID?, text: String, usage: Usage? = nil, key: IdempotencyKey
    ) {
        self.session = session
        self.interaction = interaction
        self.text = text
        self.usage = usage
        self.key = key
    }
}

package struct SendMessageDelta: Hashable, Sendable {
    package var message: MessageID
    package var delta: String
    package var key: IdempotencyKey

    package init(message: MessageID, delta: String, key: IdempotencyKey) {
        self.message = message
        self.delta = delta
        self.key = key
    }
}

package struct SendMessageEnd: Hashable, Sendable {
    package enum FinishReason: String, Hashable, Sendable {
        case stop, length
        case contentFilter = "content_filter"
        case toolCall = "tool_call"
    }

    package var message: MessageID
    package var text: String
    package var usage: Usage?
    /// Left out on error and abort (relay.md#where-the-sources-disagree).
    package var finishReason: FinishReason?
    package var key: IdempotencyKey

    package init(
        message: MessageID, text: String, usage: Usage? = nil, finishReason: FinishReason? = nil, key: IdempotencyKey
    ) {
        self.message = message
        self.text = text
        self.usage = usage
        self.finishReason = finishReason
        self.key = key
    }
}

package struct CreateTask: Hashable, Sendable {
    package var session: SessionID
    package var interaction: InteractionID?
    package var task: TaskID
    package var kind: String
    package var label: String?
    package var arguments: JSONText?
    package var key: IdempotencyKey

    package init(
        session: SessionID, interaction: InteractionID?, task: TaskID, kind: String, label: String?,
        arguments: JSONText?, key: IdempotencyKey
    ) {
        self.session = session
        self.interaction = interaction
        self.task = task
        self.kind = kind
        self.label = label
        self.arguments = arguments
        self.key = key
    }
}

package struct UpdateTask: Hashable, Sendable {
    package var session: SessionID
    package var interaction: InteractionID?
    package var task: TaskID
    package var label: String?
    package var percent: Int?
    package var partialResult: JSONText?
    package var key: IdempotencyKey

    package init(
        session: SessionID, interaction: InteractionID?, task: TaskID, label: String?, percent: Int?,
        partialResult: JSONText?, key: IdempotencyKey
    ) {
        self.session = session
        self.interaction = interaction
        self.task = task
        self.label = label
        self.percent = percent
        self.partialResult = partialResult
        self.key = key
    }
}

package struct FinishTask: Hashable, Sendable {
    package var session: SessionID
    package var interaction: InteractionID?
    package var task: TaskID
    package var name: String?
    package var status: ToolResult.Status
    package var label: String?
    package var error: String?
    package var result: JSONText?
    package var key: IdempotencyKey

    package init(
        session: SessionID, interaction: InteractionID?, task: TaskID, name: String?, status: ToolResult.Status,
        label: String?, error: String?, result: JSONText?, key: IdempotencyKey
    ) {
        self.session = session
        self.interaction = interaction
        self.task = task
        self.name = name
        self.status = status
        self.label = label
        self.error = error
        self.result = result
        self.key = key
    }
}

package struct RequestApproval: Hashable, Sendable {
    package var session: SessionID
    package var interaction: InteractionID?
    package var approval: ApprovalID
    package var slug: String?
    /// `shell.exec` or `plugin.invoke` (relay.md#requestapproval).
    package var action: String
    package var toolCall: ToolCallID?
    package var title: String
    package var severity: ApprovalRequest.Severity
    package var command: String?
    package var host: String?
    /// Never empty: the relay refuses an empty one, and the run would hang.
    package var message: String
    package var key: IdempotencyKey

    package init(
        session: SessionID, interaction: InteractionID?, approval: ApprovalID, slug: String?, action: String,
        toolCall: ToolCallID?, title: String, severity: ApprovalRequest.Severity, command: String?, host: String?,
        message: String, key: IdempotencyKey
    ) {
        self.session = session
        self.interaction = interaction
        self.approval = approval
        self.slug = slug
        self.action = action
        self.toolCall = toolCall
        self.title = title
        self.severity = severity
        self.command = command
        self.host = host
        self.message = message
        self.key = key
    }
}

package struct CreateSession: Hashable, Sendable {
    package var source: String?

    package init(source: String?) { self.source = source }
}
