package import Vocabulary

/// What an earlier process had handed over to the agent for one turn: runs that may have begun, and decisions that may have arrived.
package struct EarlierTurn: Hashable, Sendable {
    package struct Run: Hashable, Sendable {
        package var id: RunID
        /// The message that began it, where it was one.
        package var text: String?
        /// The message had files, which only the earlier process could read: it must not be sent again without them.
        package var hadFiles: Bool
        /// Where the message is sent again, the model that it named comes first.
        package var model: ModelChoice
        package var level: LevelChoice
        /// Where it is carried out; nil also where the chat's workspace cannot be used.
        package var folder: String?

        package init(
            _ id: RunID, text: String?, hadFiles: Bool = false, model: ModelChoice = .unchanged,
            level: LevelChoice = .unchanged, folder: String? = nil
        ) {
            self.id = id
            self.text = text
            self.hadFiles = hadFiles
            self.model = model
            self.level = level
            self.folder = folder
        }
    }

    package struct Decision: Hashable, Sendable {
        package var approval: ApprovalID
        package var subject: ApprovalRequest.Subject
        package var decision: ApprovalDecision
        package var scope: DecisionScope
        /// Nil: a record of an earlier version does not say.
        package var decidedAt: Instant?
        package var expiresAt: Instant?
        /// Of what was shown; nil: the record does not say, so that a yes answers nothing.
        package var fingerprint: AskFingerprint?
        /// A denial that no person made.
        package var isUnanswered: Bool

        package init(
            _ decision: ApprovalDecision, scope: DecisionScope, of approval: ApprovalID,
            subject: ApprovalRequest.Subject, decidedAt: Instant?, expiresAt: Instant?,
            fingerprint: AskFingerprint? = nil, isUnanswered: Bool = false
        ) {
            self.approval = approval
            self.subject = subject
            self.decision = decision
            self.scope = scope
            self.decidedAt = decidedAt
            self.expiresAt = expiresAt
            self.fingerprint = fingerprint
            self.isUnanswered = isUnanswered
        }
    }

    /// An approval that the turn has asked for, whatever became of it: its name is taken.
    package struct Ask: Hashable, Sendable {
        package var approval: ApprovalID
        /// Of what was shown; nil: the record does not say.
        package var fingerprint: AskFingerprint?
        /// Nothing that is decided about it counts any more.
        package var isOver: Bool

        package init(_ approval: ApprovalID, fingerprint: AskFingerprint?, isOver: Bool) {
            self.approval = approval
            self.fingerprint = fingerprint
            self.isOver = isOver
        }
    }

    package var session: AgentSession
    package var runs: [Run]
    /// The agent had answered for them.
    package var isAccepted: Bool
    package var isStopping: Bool
    package var stopReach: StopReach
    package var receivedAt: Instant
    package var decisions: [Decision]
    /// Those with a decision among them.
    package var asks: [Ask]
    /// Approvals that ended their run: another one follows each of them.
    package var detached: [ApprovalID]
    /// Questions without an outcome: a machine whose agent asks them again says nothing, any other settles them.
    package var questions: [QuestionID]

    package init(
        session: AgentSession, runs: [Run], isAccepted: Bool, isStopping: Bool, receivedAt: Instant,
        decisions: [Decision], asks: [Ask] = [], detached: [ApprovalID], questions: [QuestionID] = [],
        stopReach: StopReach = .everyRun
    ) {
        self.session = session
        self.runs = runs
        self.isAccepted = isAccepted
        self.isStopping = isStopping
        self.stopReach = stopReach
        self.receivedAt = receivedAt
        self.decisions = decisions
        self.asks = asks
        self.detached = detached
        self.questions = questions
    }
}
