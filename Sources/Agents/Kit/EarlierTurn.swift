package import Vocabulary

/// Part of one turn that an earlier process handed to the agent: runs that may have begun, and decisions that may have arrived.
package struct EarlierTurn: Hashable, Sendable {
    package struct Run: Hashable, Sendable {
        package var id: RunID
        /// The message that began the run, or nil for a run without one.
        package var text: String?
        /// The message had files, which only the earlier process could read: it must not be sent again without them.
        package var hadFiles: Bool
        /// Model that the message named, for sending it again.
        package var model: ModelChoice
        package var level: LevelChoice
        /// Working folder, or nil also while the chat's workspace cannot be used.
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
        /// Nil if an earlier version wrote the record.
        package var decidedAt: Instant?
        package var expiresAt: Instant?
        /// Fingerprint of the card, or nil if the record lacks it; a yes then answers nothing.
        package var fingerprint: AskFingerprint?
        /// No person made this denial.
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

    /// An approval that the turn requested. Its name stays taken, whatever the outcome.
    package struct Ask: Hashable, Sendable {
        package var approval: ApprovalID
        /// Fingerprint of the card, or nil if the record lacks it.
        package var fingerprint: AskFingerprint?
        /// Later decisions about this ask count no more.
        package var isOver: Bool

        package init(_ approval: ApprovalID, fingerprint: AskFingerprint?, isOver: Bool) {
            self.approval = approval
            self.fingerprint = fingerprint
            self.isOver = isOver
        }
    }

    package var session: AgentSession
    package var runs: [Run]
    /// The agent had answered the runs' prompts.
    package var isAccepted: Bool
    package var isStopping: Bool
    package var stopReach: StopReach
    package var receivedAt: Instant
    package var decisions: [Decision]
    /// All asks, including decided ones.
    package var asks: [Ask]
    /// Approvals that ended their run; another run follows each of them.
    package var detached: [ApprovalID]
    /// Questions without an outcome. A machine whose agent asks again leaves them open; any other settles them.
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
