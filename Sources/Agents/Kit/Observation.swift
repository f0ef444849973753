package import Vocabulary

/// The content of one frame of an agent's bus, in the bridge's terms. Frames that we sent count too, so that a
/// recording can be followed.
package enum Observation: Hashable, Sendable {
    case signal(RunSignal)
    /// We asked the agent to do something.
    case prompt(AgentPrompt)
    case stopSent(session: AgentSession?, run: RunID?)
    case decisionSent(ApprovalID, ApprovalDecision)
    case answerSent(QuestionID, AgentSession, QuestionAnswer)
    case sendAnswered(asked: RunID, SendAnswer)
    /// The choice of the message of this run; before the message leaves.
    case modelAnswered(RunID, ModelChoice, ModelAnswer)
    /// The same of its level. Said once more where the agent tells later which level its model has instead.
    case levelAnswered(RunID, LevelChoice, LevelAnswer)
    /// The message leaves without these of its files.
    case filesLeftOut(RunID, [MissingFile])
    /// The agent has no record of the chat's conversation any more: the message of this run begins another one.
    case conversationLost(RunID)
    /// A line of the bridge's for the bubble of this run, without a word of the chat.
    case told(RunID, String)
    /// The run that was to be stopped is stopped, was over, or never began.
    case abortAnswered(RunID)
    case lookedUp(RunID, RunLookup)
    /// The agent's scheduler began or ended a job.
    case jobStarted(AgentJob)
    case jobFinished(AgentJob)
    case linkLost
    case linkBack
}

/// What the scheduler says of a job; what it does not say is nil.
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

/// Frames of one agent, in order, to observations. Lives on one thread.
package protocol AgentDecoder {
    /// A frame from the agent. `capacity` says how many bytes from its beginning may be read.
    mutating func received(_ frame: UnsafeRawBufferPointer, capacity: Int, at now: Instant) -> [Observation]
    /// A frame that went to the agent.
    mutating func sent(_ frame: UnsafeRawBufferPointer, capacity: Int, at now: Instant) -> [Observation]
    /// When `deadlineHit` is due, if nothing else comes.
    var nextDeadline: Instant? { get }
    mutating func deadlineHit(at now: Instant) -> [Observation]
    var unknown: UnknownTally { get }
}
