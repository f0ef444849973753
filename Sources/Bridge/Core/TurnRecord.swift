package import Vocabulary

/// A record on its way to the journal, passed on by reference. Two are the same only if they are one.
package final class KeptRecord: Sendable, Hashable {
    package let record: TurnRecord

    init(_ record: TurnRecord) { self.record = record }

    package static func == (left: KeptRecord, right: KeptRecord) -> Bool { left === right }
    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// One turn as a journal keeps it: enough to go on with it in another process.
///
/// The text is not in it, but for pending text, the end's, and the newest of what has ended: the deltas, each stored by itself before
/// its first try, say what was streamed, `parts` hold what has ended, and the agent is asked for the rest. So a record stays small however
/// long the answer is.
package struct TurnRecord: Sendable {
    var turn: Turn
    var lane: LaneRecord
    var renamed: [TaskID: TaskID]
    /// Rows beside the record; `turn` is whole in memory.
    package internal(set) var parts = KeptParts()

    package var id: TurnID { turn.opening.id }
    /// The names of its bubble and its run, for look-ups.
    package var opening: TurnOpening { turn.opening }
    /// Its message as the agent receives it.
    package var prompt: UserMessage? { turn.prompt }
    /// For when the record cannot be read any more.
    package var place: TurnPlace {
        TurnPlace(session: opening.session, interaction: opening.interaction, bubble: lane.message)
    }
    /// The bodies that will be asked for by their keys.
    package var unanswered: [IdempotencyKey] { lane.unanswered.map(\.key) }

    /// What the agent's link must know of the process before: runs that were handed over may have begun, and decisions that
    /// were forwarded may have arrived.
    package struct Forwarded: Sendable, Hashable {
        package var runs: [RunID] = []
        /// None of its files went along: these are named behind its text. Empty: some went, it had none, or that is not known.
        package var wentWithout: [MissingFile] = []
        /// The agent had answered for them.
        package var isAccepted = false
        package var isStopping = false
        package var stopReach = StopReach.everyRun
        package var decisions: [Decision] = []
        /// All approvals that were asked for.
        package var asks: [Ask] = []
        /// Approvals that ended their run: another one follows each of them.
        package var detached: [ApprovalID] = []
        /// Not answered, or it is not known whether the answer arrived.
        package var questions: [QuestionID] = []
    }

    package struct Decision: Sendable, Hashable {
        package var approval: ApprovalID
        package var subject: ApprovalRequest.Subject
        package var decision: ApprovalDecision
        package var scope: DecisionScope
        /// Nil: a record of an earlier version does not say.
        package var decidedAt: Instant?
        package var expiresAt: Instant?
        /// Of what was shown; nil: the record does not say.
        package var fingerprint: AskFingerprint?
        /// No person denied it: it went unanswered.
        package var isUnanswered = false
    }

    package struct Ask: Sendable, Hashable {
        package var approval: ApprovalID
        /// Of what was shown; nil: the record does not say.
        package var fingerprint: AskFingerprint?
        package var isOver: Bool
    }

    package var forwarded: Forwarded {
        guard turn.occupiesAgent else { return Forwarded() }
        return Forwarded(
            runs: turn.runs.all.sorted(), wentWithout: turn.agent.wentWithout,
            isAccepted: turn.phase != .handedOver && !turn.agent.isInDoubt, isStopping: turn.agent.isStopping,
            stopReach: turn.agent.stopReach,
            decisions: turn.approvals.forwarded.map {
                Decision(
                    approval: $0.approval, subject: $0.subject, decision: $0.decision, scope: $0.scope,
                    decidedAt: $0.decidedAt, expiresAt: $0.expiresAt, fingerprint: $0.fingerprint,
                    isUnanswered: $0.isUnanswered)
            }, asks: turn.approvals.asks, detached: turn.approvals.detached, questions: turn.agent.questions.unsettled)
    }

    /// What was stored of the text after this record was made.
    package mutating func catchUp(with deltas: [StoredDelta]) { lane.catchUp(with: deltas) }
}
