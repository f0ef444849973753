package import Vocabulary

// Commands on their way to the agent: their records, which are written first, and what a Stop takes back and owes
// (DESIGN.md#the-turn-machine).
extension Bridge {
    /// True if the command took back a message that had not left: the agent never learns of it.
    mutating func give(_ command: AgentCommand, of id: TurnID, at now: Instant) -> Bool {
        switch command {
        // A declined question costs nothing if the process dies: its run does not continue without an answer.
        case .lookUp, .release, .answer(_, _, .declined, _): orders.append(.command(command))
        case .abort(let session, let run, let reach):
            if gate.withdraw(run: run) {
                passKept(at: now)
                return true
            }
            owe(.abort(session: session, run: run, reach: reach), at: now)
        case .resolve(let approval, let subject, .deny, _, _, _, _) where isBeingLeft(id):
            gate.withdraw(decisionOf: approval)
            owe(.deny(approval, subject), at: now)
        case .send, .resolve, .answer:
            guard keeping.isJournaled else {
                orders.append(.command(command))
                return false
            }
            keep(id, .synced)
            orders.append(.commandToKeep(gate.enter(command, of: id), command))
        }
        return false
    }

    private func isBeingLeft(_ id: TurnID) -> Bool {
        guard let turn = entries[id]?.turn else { return true }
        return turn.agent.isStopping || turn.outcome != nil
    }

    /// A Stop does not wait for the disk: the abort leaves at once, and until the agent answers the journal holds it as owed.
    private mutating func owe(_ obligation: Obligation, at now: Instant) {
        obligations.add(obligation, since: now)
        keepObligations()
        orders.append(.command(obligation.command))
    }

    mutating func keepObligations() {
        guard keeping.isJournaled, obligations.hasUnwritten else { return }
        for (obligation, since) in obligations.takeUnwritten() { orders.append(.owe(obligation, since: since)) }
    }

    mutating func fulfil(_ name: String) {
        guard !obligations.isEmpty, let obligation = obligations.fulfil(name) else { return }
        if keeping.isJournaled { orders.append(.fulfilled(obligation)) }
    }

    // MARK: The journal

    /// The record that the command waited for is written, or could not be and need not be. `folder`: of a message, as it was found.
    package mutating func commandKept(_ number: CommandNumber, in folder: String? = nil, at now: Instant) {
        gate.kept(number, in: folder)
        passKept(at: now)
    }

    private mutating func passKept(at now: Instant) {
        for (command, id) in gate.takeKept() {
            let isRefusal = if case .resolve(_, _, .deny, _, _, _, _) = command { true } else { false }
            // A refusal leaves, whatever became of its turn.
            guard isRefusal || entries[id]?.turn.maySend(command) == true else { continue }
            if agent.isClosing, case .send(_, _, let run, _) = command {
                neverLeft(id, run: run, at: now)
            } else {
                orders.append(.command(command))
            }
        }
    }

    /// A message whose record could not be written does not leave.
    package mutating func commandNotKept(_ number: CommandNumber, sentence: String, at now: Instant) {
        guard let (command, id) = gate.dropped(number), case .send = command else { return }
        sendAnswered(.notSent(sentence: sentence), for: id, at: now)
        passKept(at: now)
    }

    package mutating func wasNotKept(_ obligation: Obligation) { obligations.wasNotWritten(obligation) }

    /// Restores an obligation of an earlier process, which leaves when the agent is back.
    package mutating func restore(_ obligation: Obligation, since: Instant) {
        obligations.add(obligation, since: since, isWritten: true)
    }

    /// A turn of an earlier process was being stopped, and its obligations may not have been written.
    mutating func oweAgain(_ turn: Turn, at now: Instant) {
        guard turn.agent.isStopping, turn.occupiesAgent else { return }
        for order in turn.abortRuns(turn.agent.stopReach) {
            guard case .command(.abort(let session, let run, let reach)) = order else { continue }
            obligations.add(.abort(session: session, run: run, reach: reach), since: now)
        }
    }

    // MARK: The agent's answers

    /// The agent has stopped the run as asked, or had nothing to stop.
    package mutating func abortAnswered(_ run: RunID, at now: Instant) { fulfil(Obligation.name(ofAbort: run)) }

    /// The agent's answer to the message that was to begin this run, whether or not its turn is still open.
    package mutating func sendAnswered(_ answer: SendAnswer, run: RunID, at now: Instant) {
        let name = Obligation.name(ofAbort: run)
        switch answer {
        case .accepted(let taken), .leavesAgain(as: let taken):
            guard taken != run, let owed = obligations.fulfil(name) else { break }
            if keeping.isJournaled { orders.append(.fulfilled(owed)) }
            guard case .abort(let session, _, let reach) = owed else { break }
            // The same message under another key is a run of ours.
            let isOurs = if case .leavesAgain = answer { true } else { false }
            guard reach.covers(isOurs: isOurs), !isOfAnotherTurn(taken, than: run) else { break }
            owe(.abort(session: session, run: taken, reach: reach), at: now)
        case .noRun, .refused, .notSent: fulfil(name)
        case .neverLeft:
            if let turn = agent.turnOfRun[run] { neverLeft(turn, run: run, at: now) }
            return
        }
        if let turn = agent.turnOfRun[run] { sendAnswered(answer, for: turn, at: now) }
    }

    /// The message went into a run of another turn, which continues: the Stop was not for that run.
    private func isOfAnotherTurn(_ taken: RunID, than run: RunID) -> Bool {
        guard let owner = agent.turnOfRun[taken], owner != agent.turnOfRun[run], let turn = entries[owner]?.turn else {
            return false
        }
        return turn.outcome == nil && !turn.agent.isStopping
    }

    mutating func noteFulfilment(_ signal: RunSignal) {
        guard !obligations.isEmpty else { return }
        switch signal.event {
        case .finished, .failed: if let run = signal.run { fulfil(Obligation.name(ofAbort: run)) }
        case .approvalSettled(let settlement): fulfil(Obligation.name(ofDenial: settlement.id))
        case .started, .text, .tool, .approvalRequested, .asked, .questionSettled, .paused, .retrying,
            .alive:
            break
        }
    }

    /// A Stop refuses a question that the agent still lists. The question belongs to a turn that has ended, not to the one that the session
    /// runs now.
    func isBeingDenied(_ signal: RunSignal) -> Bool {
        guard !obligations.isEmpty else { return false }
        let approval: ApprovalID
        switch signal.event {
        case .approvalRequested(let request): approval = request.id
        // The list of an early gateway first reports that the run waits for the approval.
        case .paused(let call): approval = call.approval
        case .started, .text, .tool, .approvalSettled, .asked, .questionSettled, .retrying, .finished, .failed,
            .alive:
            return false
        }
        return obligations.owes(Obligation.name(ofDenial: approval))
    }

    /// An owed Stop reaches the run that asks, and no turn of its session has begun at the agent since: the question is that run's own, and
    /// refused.
    mutating func deniesForStopped(_ signal: RunSignal, at now: Instant) -> Bool {
        guard case .approvalRequested(let request) = signal.event, signal.run == nil, let session = signal.session,
            obligations.owesAbort(in: session), !entries.values.contains(where: { $0.turn.knows(request.id) })
        else { return false }
        if let active = agent.queues[session]?.active, entries[active]?.turn.phase != .handedOver { return false }
        owe(.deny(request.id, request.subject), at: now)
        return true
    }

    /// Drops expired obligations without an answer: the deadline of each is past its use.
    mutating func forgetObligations(at now: Instant) {
        for obligation in obligations.takeExpired(at: now) {
            if keeping.isJournaled { orders.append(.fulfilled(obligation)) }
            orders.append(.turnNote(TurnID(""), .stopGivenUp))
        }
    }
}
