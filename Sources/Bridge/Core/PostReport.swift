package import Vocabulary

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

/// A lane's reports to its turn.
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
    /// A status task, or its next label, was not tried, since the bucket of tasks was low.
    case heldBack(PostName)
    /// The relay asked to wait: its bucket is empty. The open is tried again.
    case postponed
    /// Another bridge has opened the bubble (`Claim`). The lane is empty.
    case anothers
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
        // The bridge's own question is the one place that says the command again.
        let first = message.prefix { $0 != "\n" }
        let isSaid = command.map { first.utf8.elementsEqual("Run \($0)?".utf8) } ?? true
        return ([message] + [isSaid ? nil : command, host].compactMap(\.self)).joined(separator: "\n")
    }
}
