package import Vocabulary

/// The content of one frame of an agent's bus, in the bridge's terms. Frames of the bridge count too: a replay follows them.
package enum Observation: Hashable, Sendable {
    case signal(RunSignal)
    /// The bridge sent a prompt.
    case prompt(AgentPrompt)
    case stopSent(session: AgentSession?, run: RunID?)
    case decisionSent(ApprovalID, ApprovalDecision)
    case answerSent(QuestionID, AgentSession, QuestionAnswer)
    case sendAnswered(asked: RunID, SendAnswer)
    /// Answer to the model choice of this run's message, before the message leaves.
    case modelAnswered(RunID, ModelChoice, ModelAnswer)
    /// Answer to the level choice. The agent may correct it later, when it tells which level its model has instead.
    case levelAnswered(RunID, LevelChoice, LevelAnswer)
    /// The message leaves without these files.
    case filesLeftOut(RunID, [MissingFile])
    /// The agent has lost the chat's conversation: this run's message begins another one.
    case conversationLost(RunID)
    /// A line of the bridge for this run's bubble, without a word of the chat.
    case told(RunID, String)
    /// The stopped run has ended, had ended before, or never began.
    case abortAnswered(RunID)
    case lookedUp(RunID, RunLookup)
    /// The agent's scheduler began or ended a job.
    case jobStarted(AgentJob)
    case jobFinished(AgentJob)
    case linkLost
    case linkBack
}

/// The scheduler's facts about a job; unknown ones are nil.
package struct AgentJob: Hashable, Sendable {
    package var name: String?
    package var session: AgentSession?
    package var run: RunID?

    package init(name: String?, session: AgentSession? = nil, run: RunID? = nil) {
        self.name = name
        self.session = session
        self.run = run
    }
}

package struct AgentPrompt: Hashable, Sendable {
    package var session: AgentSession
    package var run: RunID
    package var text: String

    package init(session: AgentSession, run: RunID, text: String) {
        self.session = session
        self.run = run
        self.text = text
    }
}

/// Maps the frames of one agent, in order, to observations. Lives on one thread.
package protocol AgentDecoder {
    /// A frame from the agent. `capacity`: readable bytes from its beginning.
    mutating func received(_ frame: UnsafeRawBufferPointer, capacity: Int, at now: Instant) -> [Observation]
    /// A frame to the agent.
    mutating func sent(_ frame: UnsafeRawBufferPointer, capacity: Int, at now: Instant) -> [Observation]
    /// When `deadlineHit` is due without an earlier event.
    var nextDeadline: Instant? { get }
    mutating func deadlineHit(at now: Instant) -> [Observation]
    var unknown: UnknownTally { get }
}
