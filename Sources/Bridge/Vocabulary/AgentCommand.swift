/// A command to an agent, in one vocabulary across all buses.
package enum AgentCommand: Hashable, Sendable {
    /// Hands the user's message over. `run` is the idempotency key and, if the agent accepts our ids, the run's id.
    case send(turn: TurnID, session: AgentSession, run: RunID, message: UserMessage)
    /// Aborts a run. `reach` decides for another client's run that took our message: only `everyRun` ends it.
    case abort(session: AgentSession, run: RunID, reach: StopReach = .everyRun)
    /// Answers an ask. `scope` is the furthest reach of an `approveAlways`; no agent may grant more. `isUnanswered` marks a denial after the time
    /// ran out, which no person made; the machine says so if its protocol has words for it. `shown` is the fingerprint of the card behind a yes: an
    /// ask under this name that shows anything else stays unanswered, even one that the core has not heard of yet. `wordsFollow`: a `send` with
    /// `steers` brings the person's instructions; if the agent's denial takes words, they go with it.
    case resolve(
        approval: ApprovalID, subject: ApprovalRequest.Subject, decision: ApprovalDecision,
        scope: DecisionScope = .unscoped, isUnanswered: Bool = false, shown: AskFingerprint? = nil,
        wordsFollow: Bool = false)
    /// Sent once for each question, and again only if the agent asks again after a loss. The machine confirms at once (`questionSettled`),
    /// since the next question waits for that, or reports why it could not deliver the answer. `shown` as in `resolve`.
    case answer(question: QuestionID, session: AgentSession, answer: QuestionAnswer, shown: AskFingerprint? = nil)
    /// Asks for the run's fate and text, from the history or transcript of the bus.
    case lookUp(session: AgentSession, run: RunID)
    /// The person archived or deleted the chat: its runs have ended, and everything that serves it alone ends.
    /// The machine keeps nothing of a deleted chat; an archived one may continue later.
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
    /// Folder of its chat's workspace, for agents that work in one; an existing session of the agent stays in
    /// its folder. Looked up just before the message leaves, and not stored with it.
    package var folder: String?
    /// The relay left `model` out: the last model that it named for the chat counts.
    package var isModelUnsaid = false
    /// Decided at the hand-over, from `model` and earlier refusals of the agent.
    package var choice = ModelChoice.unchanged
    /// Decided at the hand-over, from `thoughtLevel` and the chat's earlier level.
    package var level = LevelChoice.unchanged
    /// The message holds a person's words in place of a yes. An agent that steers takes it into the running run.
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
    /// Nil until the fetch has ended. Not stored in the journal: another process fetches the file again.
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
    /// The agent accepted the message. The run's id may differ from the requested one: the bridge adopts it (openclaw.md#chatsend).
    case accepted(run: RunID)
    /// The requested run never began: the message leaves again, under another key.
    case leavesAgain(as: RunID)
    /// The input was a command that runs no agent (a stop phrase): no answer follows.
    case noRun
    case refused(message: String)
    /// The bridge itself could not hand the message over. The sentence gives the reason and the remedy.
    case notSent(sentence: String)
    /// The bridge's process ends, and the agent has had nothing of the message: the next process hands it over.
    case neverLeft
}

/// Result of a look-up of a run.
package enum RunLookup: Hashable, Sendable {
    /// The run continues; `text` so far, if the bus reports it.
    case running(text: String?)
    /// The bridge's side holds the message, and the agent has not accepted it: the next process must not count it as accepted.
    case waits
    case ended(RunEnd)
    case failed(RunFailure)
    /// The agent does not know the run, or not yet.
    case unknown
}
