package import Vocabulary

// Runs of an earlier process of this bridge, known from its journal (DESIGN.md#journal-and-recovery).
extension OpenClawSession {
    package enum AdoptedStage: Hashable, Sendable {
        /// Recorded as sent; the gateway may have it.
        case handedOver
        /// The gateway had answered, or a frame of the run was seen.
        case accepted
    }

    /// Call before `start`, for each run of an open turn, and for an ended run whose follow-up is awaited: its message
    /// finds the history. The run is then recovered as after a lost link: an accepted run is looked up and reported as
    /// `lookedUp`; a `handedOver` message is sent again under its key while the gateway must know that key, else the
    /// history is requested first (openclaw.md#disconnects). A stopped message is not sent again, nor one with files, which
    /// this process does not have. `text`: the message, or nil for a run that no message of ours began. `approvals`: those
    /// that detached in the run's turn; `asks`: those that its turn still waits for.
    package mutating func adopt(
        _ run: RunID, in session: AgentSession, text: String?, hadFiles: Bool = false, stage: AdoptedStage,
        isStopped: Bool = false, stopReach: StopReach = .everyRun, model: ModelChoice = .unchanged,
        level: LevelChoice = .unchanged,
        approvals: [ApprovalID] = [], asks: [ApprovalID] = [], sentAtMilliseconds: Int64, at now: Instant,
        wallMilliseconds: Int64
    ) {
        guard runs[run] == nil, runs.hasRoom else { return }
        life.saw(now, wallMilliseconds: wallMilliseconds)
        sessionNames.learn(session)
        // A wall clock that went back proves nothing, so the key counts as forgotten.
        let age = wallMilliseconds - sentAtMilliseconds
        let sentAt = now - (age >= 0 ? .milliseconds(age) : Self.keyLife)
        // A message without text cannot be sent again, so its run counts as accepted.
        let isInDoubt = stage == .handedOver && text != nil
        runs.begins(
            run,
            .init(
                session: session, text: text, files: RunFiles(areGone: hadFiles),
                stage: isInDoubt ? .asked(since: sentAt, tries: 1) : .accepted,
                isStopped: isStopped, stopReach: stopReach, lastHeard: reading(now)))
        if isInDoubt {
            runs.models.wants(model, for: run)
            runs.levels.wants(level, for: run)
        }
        runs.questions.asked(
            .init(run: run, text: text, sentAtMilliseconds: text == nil ? nil : sentAtMilliseconds), at: sentAt)
        for ask in asks { self.approvals.wasOpen(ask, since: sentAt) }
        for approval in approvals { runs.questions.expectFollowUp(of: approval, after: run, in: session, at: now) }
    }

    /// Call before `start`, for a decision that was sent and may be unanswered. It is sent again; if the
    /// gateway then calls it unknown, the first try had arrived (openclaw.md#others).
    package mutating func adopt(
        _ decision: ApprovalDecision, scope: DecisionScope = .unscoped, of approval: ApprovalID,
        subject: ApprovalRequest.Subject, sentAtMilliseconds: Int64, expiresAt: Instant? = nil,
        fingerprint: AskFingerprint? = nil, at now: Instant, wallMilliseconds: Int64
    ) {
        guard approvals[approval] == nil, approvals.hasRoom(for: approval) else { return }
        life.saw(now, wallMilliseconds: wallMilliseconds)
        let sentAt = now - .milliseconds(max(wallMilliseconds - sentAtMilliseconds, 0))
        _ = approvals.keep(
            .init(
                Self.grantable(decision, scope), on: subject, expiresAt: expiresAt ?? sentAt + GatewayApprovals.life,
                fingerprint: fingerprint, askedAt: sentAt, tries: 1),
            about: approval)
    }
}
