/// What the bridge wants of an agent, whatever its bus.
package enum AgentCommand: Hashable, Sendable {
    /// Hand the user's message over. `run` is the idempotency key and, where the agent lets us choose, the run's id.
    case send(turn: TurnID, session: AgentSession, run: RunID, message: UserMessage)
    /// `reach`: a run of another client that took our message is ended only by a stop that reaches it.
    case abort(session: AgentSession, run: RunID, reach: StopReach = .everyRun)
    /// The scope is how far an `approveAlways` may reach; no agent may grant more. `isUnanswered`: a denial that no person made, since
    /// no answer came in time; the machine says so where its protocol has words for it. `shown`: of what the person saw, for a yes; an
    /// ask that shows anything else under this name is not answered by it, also one that the core has not heard of yet. `wordsFollow`: a
    /// `send` with `steers` has what to do instead; where the agent's denial takes words they go with it.
    case resolve(
        approval: ApprovalID, subject: ApprovalRequest.Subject, decision: ApprovalDecision,
        scope: DecisionScope = .unscoped, isUnanswered: Bool = false, shown: AskFingerprint? = nil,
        wordsFollow: Bool = false)
    /// Sent once for each question, and again only where the agent asks again after a loss. The machine confirms at once that it has it
    /// (`questionSettled`), since the next question is not asked before, or says why it could not be given. `shown`: as of an approval.
    case answer(question: QuestionID, session: AgentSession, answer: QuestionAnswer, shown: AskFingerprint? = nil)
    /// Ask what became of the run and what its text is: history or transcript, whatever the bus has.
    case lookUp(session: AgentSession, run: RunID)
    /// The person archived or deleted the chat: nothing of it runs any more, so what serves it alone ends. Of a chat that was deleted
    /// nothing is kept; an archived one may go on.
    case release(session: AgentSession, isDeleted: Bool)
}

/// A message of the user, on its way to the agent.
package struct UserMessage: Hashable, Sendable {
    package var id: MessageID
    package var session: SessionID
    package var interaction: InteractionID?
    package var text: String
    package var attachments: [Attachment]
    package var model: String?
    package var thoughtLevel: String?
    /// The folder of its chat's workspace, for agents that work in one; a session of the agent's stays in its folder. Looked at just
    /// before the message leaves, and not stored with it.
    package var folder: String?
    /// The relay left `model` out: the one that it last named for the chat counts.
    package var isModelUnsaid = false
    /// Decided when it is handed over, from `model` and what the agent refused before.
    package var choice = ModelChoice.unchanged
    /// Decided when it is handed over, from `thoughtLevel` and what the chat had before.
    package var level = LevelChoice.unchanged
    /// What a person says instead of a yes: where the agent steers, it goes into the run that goes on.
    package var steers = false

    package init(
        id: MessageID, session: SessionID, interaction: InteractionID?, text: String, attachments: [Attachment] = [],
        model: String? = nil, thoughtLevel: String? = nil
    ) {
        self.id = id
        self.session = session
        self.interaction = interaction
        self.text = text
        self.attachments = attachments
        self.model = model
        self.thoughtLevel = thoughtLevel
    }
}

package struct Attachment: Hashable, Sendable {
    package var url: String?
    package var key: String?
    package var mimeType: String?
    package var name: String?
    /// Nil until it was fetched. Not kept in the journal: another process fetches it again.
    package var outcome: AttachmentOutcome?

    package init(url: String? = nil, key: String? = nil, mimeType: String? = nil, name: String? = nil) {
        self.url = url
        self.key = key
        self.mimeType = mimeType
        self.name = name
    }
}

/// The agent's answer to `AgentCommand.send`.
package enum SendAnswer: Hashable, Sendable {
    /// Taken. The run's id may be another than the one asked for: it is adopted (openclaw.md#chatsend).
    case accepted(run: RunID)
    /// The run that was asked for never began: the message leaves again, under another key.
    case leavesAgain(as: RunID)
    /// The input was a command that runs no agent (a stop phrase): there is nothing to wait for.
    case noRun
    case refused(message: String)
    /// The bridge itself could not hand it over; the sentence says why, and what to do.
    case notSent(sentence: String)
}

/// What a look-up found out about a run.
package enum RunLookup: Hashable, Sendable {
    /// Still going; its text so far, if the bus reports it.
    case running(text: String?)
    /// The bridge's side holds its message, which the agent has not taken yet: the next process must not count it as taken.
    case waits
    case ended(RunEnd)
    case failed(RunFailure)
    /// The agent knows nothing of it (yet).
    case unknown
}
