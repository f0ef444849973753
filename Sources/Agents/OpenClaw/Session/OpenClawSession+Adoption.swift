package import Vocabulary

// Runs of an earlier process of this bridge, known from its journal (DESIGN.md#journal-and-recovery).
extension OpenClawSession {
    package enum AdoptedStage: Hashable, Sendable {
        /// Written down as handed over: whether the gateway got it is not known.
        case handedOver
        /// The gateway had answered, or a frame of the run was seen.
        case accepted
    }

    /// To be called before `start`, for each run of an open turn, also for one that has ended while a follow-up is awaited: its
    /// history is found by what was asked. The run is then recovered as after a lost link: one that was accepted is looked up and reported
    /// as `lookedUp`; one that was handed over is sent again under its key while the gateway must know that key, else the history
    /// is asked first (openclaw.md#disconnects). One that was being stopped is not sent again, nor one with files, which this process
    /// does not have. `text` is what was sent, nil for a run that no
    /// message of ours began; `approvals` are what its turn was asked for, and `asks` those that it still waits for.
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
        // A wall clock that went back proves nothing: then the key counts as forgotten.
        let age = wallMilliseconds - sentAtMilliseconds
        let sentAt = now - (age >= 0 ? .milliseconds(age) : Self.keyLife)
        // Only what can be sent again can be in doubt.
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

    /// To be called before `start`, for a decision that was handed over and is not known to have been taken. It is sent again;
    /// that the gateway calls it unknown then means that it had arrived (openclaw.md#others).
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
