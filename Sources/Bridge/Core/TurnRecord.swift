package import Vocabulary

/// A record on its way to the journal, passed on by reference. Two are equal only if they are one object.
package final class KeptRecord: Sendable, Hashable {
    package let record: TurnRecord

    init(_ record: TurnRecord) { self.record = record }

    package static func == (left: KeptRecord, right: KeptRecord) -> Bool { left === right }
    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// One turn as a journal keeps it: enough to resume it in another process.
///
/// The record leaves out the text, except for pending text, that of the end, and the newest of the ended text. The deltas, each stored by
/// itself before its first try, hold what was streamed, `parts` hold what has ended, and the agent supplies the rest. So a record stays
/// small, however long the answer is.
package struct TurnRecord: Sendable {
    var turn: Turn
    var lane: LaneRecord
    var renamed: [TaskID: TaskID]
    /// Rows of the journal besides the record; `turn` is whole in memory.
    package internal(set) var parts = KeptParts()

    package var id: TurnID { turn.opening.id }
    /// The names of the bubble and the run, for look-ups.
    package var opening: TurnOpening { turn.opening }
    /// The message as the agent receives it.
    package var prompt: UserMessage? { turn.prompt }
    /// The place of the turn, for a time at which the record can no longer be read.
    package var place: TurnPlace {
        TurnPlace(session: opening.session, interaction: opening.interaction, bubble: lane.message)
    }
    /// Keys of the bodies that will be requested again.
    package var unanswered: [IdempotencyKey] { lane.unanswered.map(\.key) }

    /// Facts of the earlier process for the agent's link: runs that were handed over may have begun, and decisions that were forwarded
    /// may have arrived.
    package struct Forwarded: Sendable, Hashable {
        package var runs: [RunID] = []
        /// Files that are named behind the message, because none of its files went along. Empty if some went, it had none, or that
        /// is unknown.
        package var wentWithout: [MissingFile] = []
        /// The agent had accepted the runs.
        package var isAccepted = false
        package var isStopping = false
        package var stopReach = StopReach.everyRun
        package var decisions: [Decision] = []
        /// All approvals that the agent asked for.
        package var asks: [Ask] = []
        /// Approvals that ended their run: another one follows each of them.
        package var detached: [ApprovalID] = []
        /// Questions without an answer, or whose answer may not have arrived.
        package var questions: [QuestionID] = []
    }

    package struct Decision: Sendable, Hashable {
        package var approval: ApprovalID
        package var subject: ApprovalRequest.Subject
        package var decision: ApprovalDecision
        package var scope: DecisionScope
        /// Nil if a record of an earlier version does not say.
        package var decidedAt: Instant?
        package var expiresAt: Instant?
        /// The fingerprint of the ask as it was shown, or nil if the record does not say.
        package var fingerprint: AskFingerprint?
        /// The ask went unanswered; no person denied it.
        package var isUnanswered = false
    }

    package struct Ask: Sendable, Hashable {
        package var approval: ApprovalID
        /// The fingerprint of the ask as it was shown, or nil if the record does not say.
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

    /// Adds the text that was stored after this record was made.
    package mutating func catchUp(with deltas: [StoredDelta]) { lane.catchUp(with: deltas) }
}
