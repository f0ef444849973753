package import BridgeModel

/// What a turn asks its lane to put on the wire: the words between the two halves of this room.
///
/// A post says what must be seen; the lane makes relay calls of it (message id, keys, pace, tries). Posts of one lane go
/// out in the order they were given.
package enum Post: Hashable, Sendable {
    /// The placeholder. The first post of every lane but those that only carry whole messages.
    case open
    /// The preview grew by this. Joined with its neighbours until first tried; may be dropped once an end waits behind it.
    case text(String)
    case taskStarted(TaskStart)
    /// Joined to the latest of its task until first tried; droppable.
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
    package var approval: ApprovalID
    package var action: String
    package var title: String
    package var message: String
    package var severity: ApprovalRequest.Severity
    package var command: String?
    package var host: String?
    package var slug: String?
    package var toolCall: ToolCallID?

    package init(
        approval: ApprovalID, action: String, title: String, message: String, severity: ApprovalRequest.Severity,
        command: String? = nil, host: String? = nil, slug: String? = nil, toolCall: ToolCallID? = nil
    ) {
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

extension ApprovalCard {
    /// The least that a request must have (relay.md#requestapproval), so that nothing else can be what the relay refuses. The command
    /// moves into the message, since a person must see what is asked; the severity stays, since it guards the answer.
    func least(atMost limit: Int) -> ApprovalCard {
        ApprovalCard(
            approval: approval, action: action, title: title, message: TextCut.marked(wholeQuestion, atMost: limit),
            severity: severity)
    }

    /// Title and all of what is asked.
    var question: String { message.contains(title) ? wholeQuestion : "\(title): \(wholeQuestion)" }

    private var wholeQuestion: String {
        let parts = [message] + [command, host].compactMap(\.self).filter { !message.contains($0) }
        return parts.joined(separator: "\n")
    }
}

package struct EndOfTurn: Hashable, Sendable {
    package var text: String
    package var usage: Usage?
    package var finishReason: SendMessageEnd.FinishReason?
    /// 1, or more when the relay refused an earlier form and this one is shorter: another body needs another key.
    package var form: Int

    package init(
        text: String, usage: Usage? = nil, finishReason: SendMessageEnd.FinishReason? = nil, form: Int = 1
    ) {
        self.text = text
        self.usage = usage
        self.finishReason = finishReason
        self.form = form
    }
}

package struct WholeMessage: Hashable, Sendable {
    package enum Part: Hashable, Sendable {
        /// What did not fit into the bubble, counted from 1.
        case more(Int)
        /// What came after the window had closed.
        case late
        /// A short line that no bubble can hold any more, counted from 1.
        case line(Int)
    }

    package var part: Part
    package var text: String
    package var usage: Usage?
    /// A fixed sentence that goes out readable in a sealed turn too, because the turn has no key to say it under.
    package var inTheOpen: Bool

    package init(part: Part, text: String, usage: Usage? = nil, inTheOpen: Bool = false) {
        self.part = part
        self.text = text
        self.usage = usage
        self.inTheOpen = inTheOpen
    }
}

/// Which post a report is about.
package enum PostName: Hashable, Sendable {
    case open
    /// A delta; the offset is where it ends in the streamed text, in UTF-8 bytes.
    case text(endOffset: Int)
    case taskStarted(TaskID)
    case taskProgress(TaskID)
    case taskEnded(TaskID)
    case approval(ApprovalID)
    case end
    case message(WholeMessage.Part)
}

/// What a lane tells the turn it belongs to.
package enum PostReport: Hashable, Sendable {
    /// The relay has it (or had it before).
    case delivered(PostName, message: MessageID?)
    /// The relay will not have it, and the turn must say what goes in its place; the lane waits for
    /// `TurnOrder.replace` or `TurnOrder.skip`. Only for opens, approvals, ends and whole messages.
    case refused(PostName, PostRefusal)
    /// It was dropped, and the lane went on: a task, a progress or a delta that the relay refused.
    case dropped(PostName, RelayErrorCode)
    /// It was tried for as long as it makes sense, and given up.
    case deadLetter(PostName)
    /// The session or the interaction is gone at the relay: nothing of this turn can be shown any more. The lane is empty.
    case destinationGone(RelayErrorCode)
    /// 410 `interaction_expired`: nothing may carry this interaction any more. The lane dropped what did.
    case windowClosed
}

/// Why the relay will not have a post, as far as its turn can make use of it.
package struct PostRefusal: Hashable, Sendable {
    package var code: RelayErrorCode
    /// A shorter text may be taken.
    package var concernsText: Bool
    /// What a whole message said; nil for other posts, and for a message of an earlier process.
    package var text: String?
    /// It never came to the relay: it was to be sealed, and its key is not there any more.
    package var lacksKey = false

    package init(_ code: RelayErrorCode, concernsText: Bool = false, text: String? = nil) {
        self.code = code
        self.concernsText = concernsText
        self.text = text
    }

    init(_ refusal: RelayRefusal) { self.init(refusal.code, concernsText: refusal.concernsText) }
}

/// Where a lane's calls belong, and who may read them.
package struct LaneAddress: Hashable, Sendable {
    package var turn: TurnID
    package var session: SessionID
    package var interaction: InteractionID?
    package var sealing: TurnSealing

    package init(turn: TurnID, session: SessionID, interaction: InteractionID?, sealing: TurnSealing = .open) {
        self.turn = turn
        self.session = session
        self.interaction = interaction
        self.sealing = sealing
    }
}
