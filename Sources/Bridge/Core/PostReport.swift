package import Vocabulary

/// The post that a report is about.
package enum PostName: Hashable, Sendable {
    case open
    /// A delta. The offset is its end in the streamed text, in UTF-8 bytes.
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
    /// The relay has the post, or had it before.
    case delivered(PostName, message: MessageID?)
    /// The relay refused the post for good, and the turn must say what goes in its place. The lane waits for `TurnOrder.replace` or
    /// `TurnOrder.skip`. Opens, approvals, ends and whole messages alone.
    case refused(PostName, PostRefusal)
    /// The relay refused a task, a progress or a delta, which was dropped; the lane continued.
    case dropped(PostName, RelayErrorCode)
    /// The post was tried for as long as that makes sense, and given up.
    case deadLetter(PostName)
    /// A status task, or its next label, was not tried, since the bucket of tasks was low.
    case heldBack(PostName)
    /// The relay asked to wait: its bucket is empty. The open is tried again.
    case postponed
    /// Another bridge has opened the bubble (`Claim`). The lane is empty.
    case anothers
    /// The session or the interaction is gone at the relay: nothing more of this turn can be shown. The lane is empty.
    case destinationGone(RelayErrorCode)
    /// 410 `interaction_expired`: nothing more may carry this interaction. The lane dropped the posts that did.
    case windowClosed
}

/// The relay's objection to a post, as far as its turn can make use of it.
package struct PostRefusal: Hashable, Sendable {
    package var code: RelayErrorCode
    /// A shorter text may be taken.
    package var concernsText: Bool
    /// The text of a whole message, or nil for other posts and for a message of an earlier process.
    package var text: String?
    /// The post never reached the relay: it was to be sealed, and its key is gone.
    package var lacksKey = false

    package init(_ code: RelayErrorCode, concernsText: Bool = false, text: String? = nil) {
        self.code = code
        self.concernsText = concernsText
        self.text = text
    }

    init(_ refusal: RelayRefusal) { self.init(refusal.code, concernsText: refusal.concernsText) }
}

/// The destination of a lane's calls, and who may read them.
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

    /// The title, and everything that is asked.
    var question: String { message.contains(title) ? wholeQuestion : "\(title): \(wholeQuestion)" }

    private var wholeQuestion: String {
        // The bridge's own question may hold the command already.
        let first = message.prefix { $0 != "\n" }
        let isSaid = command.map { first.utf8.elementsEqual("Run \($0)?".utf8) } ?? true
        return ([message] + [isSaid ? nil : command, host].compactMap(\.self)).joined(separator: "\n")
    }
}
