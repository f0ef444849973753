import BridgeCore
import RelayProtocol
import RelayRules
import Vocabulary

/// Happenings: the user, the agent, the network, and kills of the process.
extension CoreWorld {
    mutating func handle(_ happening: Happening, _ bridge: inout Bridge) {
        switch happening {
        case .userWrites(let index): userWrites(index, &bridge)
        case .accepted(let index):
            guard let turn = progress[index]?.turn, let run = progress[index]?.run, !agentIsAway else { return }
            bridge.sendAnswered(.accepted(run: run), for: turn, at: now)
        case .runStep(let index, let step): runStep(index, step, &bridge)
        case .arrives(let attempt, let call, let life): arrives(attempt, call, life)
        case .answered(let attempt, let answer, let life):
            underWay[attempt.turn, default: 1] -= 1
            guard life == self.life else { return }
            if case .delivered = answer.outcome { journal.answered(attempt) }
            bridge.answered(attempt.call, with: answer, at: now, using: &random)
        case .decides(let index):
            guard let decision = plan.messages[index].script.decision else { return }
            guard progress[index]?.aborted == false, progress[index]?.decided == false else { return }
            guard relay.userDecides(approval: decision.approval.text, decision.decision.rawValue, at: moment) else {
                // The phone does not have the card yet.
                return schedule(.decides(index), after: .seconds(1))
            }
            progress[index]?.decided = true
            bridge.decided(decision.approval, decision.decision, reason: nil, at: now)
        case .stops(let index):
            guard let known = progress[index] else { return }
            progress[index]?.stopped = true
            bridge.stopped(session: SessionID(known.session), interaction: InteractionID(known.interaction), at: now)
        case .restart:
            life += 1
            agentIsAway = true
            bridge = Bridge(settings: settings, agentPresent: false, isJournaled: true)
            do { try journal.restore(&bridge, at: now) } catch { violation("the journal cannot be read: \(error)") }
            schedule(.agentBack, after: .milliseconds(Int64.random(in: 100...3_000, using: &random)))
        case .agentBack:
            agentIsAway = false
            bridge.agentBack(at: now)
            for index in progress.keys.sorted() { catchUp(index, &bridge) }
        case .lookUp(let index): lookUp(index, &bridge)
        case .abortAnswered(let run): if !agentIsAway { bridge.abortAnswered(run, at: now) }
        case .replies(let index, let number): reply(index, number, &bridge)
        case .questionConfirmed(let index): confirm(index, &bridge)
        case .commandKept(let number, let command, let life):
            guard life == self.life else { return }
            if CoreFaults.ignoresWithdrawal(of: command), isStopped(command) { return perform(.command(command)) }
            bridge.commandKept(number, at: now)
        case .endsReply(_, let run):
            bridge.agentSays(RunSignal(run: run, session: nil, event: .finished(RunEnd(text: "Hm?"))), at: now)
        }
    }

    mutating func userWrites(_ index: Int, _ bridge: inout Bridge) {
        let message = plan.messages[index]
        let sent = relay.userSends(text: "message \(index)", session: chats[message.chat], at: moment)
        chats[message.chat] = sent.session
        let turn = TurnID(sent.interaction)
        let opening = TurnOpening(
            id: turn, session: SessionID(sent.session), interaction: InteractionID(sent.interaction),
            agentSession: AgentSession("chat-\(message.chat)"), run: RunID("run-\(index)"),
            message: UserMessage(
                id: MessageID(sent.message), session: SessionID(sent.session),
                interaction: InteractionID(sent.interaction),
                text: "message \(index)"), receivedAt: now, windowEnds: now + .seconds(1_800))
        progress[index] = Progress(
            turn: turn, session: sent.session, interaction: sent.interaction, run: opening.run, begunAt: now)
        messageOfTurn[turn] = index
        bridge.turnBegins(opening, at: now)
        if let after = message.script.stopsAfter { schedule(.stops(index), after: after) }
    }

    mutating func runStep(_ index: Int, _ step: Int, _ bridge: inout Bridge) {
        guard var known = progress[index], !known.aborted, step == known.nextStep else { return }
        let steps = plan.messages[index].script.steps
        if waitsForDecision(steps[step], known) {
            return schedule(.runStep(message: index, index: step), after: .seconds(1))
        }
        known.nextStep = step + 1
        progress[index] = known
        if step + 1 < steps.count { schedule(.runStep(message: index, index: step + 1), after: steps[step + 1].after) }
        switch steps[step].event {
        case .finished, .failed:
            if step + 1 == steps.count { progress[index]?.endKnownAt = now }
        default: break
        }
        guard !agentIsAway else {
            progress[index]?.missedSteps.append(step)
            if case .text(.append) = steps[step].event { progress[index]?.lacksBeginning = true }
            if case .text(.segmentEnded) = steps[step].event { progress[index]?.lacksBeginning = false }
            return
        }
        say(index, step, &bridge)
    }

    /// An agent continues only once it knows the decision or the answer.
    func waitsForDecision(_ step: RunScript.Step, _ known: Progress) -> Bool {
        if case .approvalSettled = step.event { return !known.decided }
        if case .questionSettled = step.event { return messageOfTurn[known.turn].map(waitsForAnswer) ?? false }
        return step.inFollowUp && !known.decided
    }

    /// After a gap the bus repeats what it keeps: ended messages, tools and open approvals, but neither the text as
    /// it grew nor the end (oppi.md#catch-up, openclaw.md#disconnects).
    mutating func catchUp(_ index: Int, _ bridge: inout Bridge) {
        let steps = plan.messages[index].script.steps
        for step in progress[index]?.missedSteps ?? [] {
            switch steps[step].event {
            case .text(.segmentEnded), .tool, .approvalRequested, .paused, .approvalSettled, .asked, .questionSettled:
                say(index, step, &bridge)
            case .started, .text, .retrying, .finished, .failed, .alive: break
            }
        }
        progress[index]?.missedSteps = []
        askAgain(index, &bridge)
    }

    mutating func say(_ index: Int, _ step: Int, _ bridge: inout Bridge) {
        guard let known = progress[index] else { return }
        let steps = plan.messages[index].script.steps
        if plan.messages[index].script.isSegmented {
            // A decoder drops additions to a message whose beginning it missed.
            switch steps[step].event {
            case .text(.append) where known.lacksBeginning: return
            case .text(.segmentEnded) where known.nextStep == step + 1: progress[index]?.lacksBeginning = false
            default: break
            }
        }
        let follow = plan.messages[index].script.decision.map { RunID("exec-approval-followup:\($0.approval):nonce:1") }
        let run = steps[step].inFollowUp ? follow ?? known.run : known.run
        switch steps[step].event {
        case .asked: ask(index)
        case .questionSettled: return questionEnds(index, &bridge)
        default: break
        }
        if case .approvalRequested = steps[step].event, let decision = plan.messages[index].script.decision {
            schedule(.decides(index), after: decision.after)
        }
        if tellsMore(steps[step].event, known.turn), textSince[known.turn] == nil { textSince[known.turn] = now }
        bridge.agentSays(
            RunSignal(
                run: run, session: AgentSession("chat-\(plan.messages[index].chat)"),
                event: faults.heard(steps[step].event) ?? steps[step].event), at: now)
    }

    /// True if the event adds visible text. The bridge holds white space at the end of a text back until more
    /// follows, so a wait for it is no delay.
    mutating func tellsMore(_ event: RunEvent, _ turn: TurnID) -> Bool {
        guard case .text(let change) = event else { return false }
        let before = told[turn] ?? ""
        switch change {
        case .append(let more): told[turn] = before + more
        case .snapshot(let text): told[turn] = text
        case .segment(let text): told[turn] = before + text
        case .segmentEnded, .replaced: return false
        }
        func length(_ text: String) -> Int { text.utf8.count - text.utf8.reversed().prefix { $0 <= 0x20 }.count }
        return length(told[turn] ?? "") != length(before)
    }

    mutating func arrives(_ attempt: CallAttempt, _ call: RelayCall, _ life: Int) {
        if plan.faultRate > 0, random.happens(plan.faultRate) { relay.plan(Fault(misfortune())) }
        let request = RawRequest(
            method: "POST", target: RelayEncoder.path(of: call),
            headers: [RawHeader("Authorization", "Bearer \(RelayOptions().bridgeToken)")],
            body: RelayEncoder.body(of: call))
        let exchange = faults.carry(request, to: &relay, at: moment)
        var result: Result<HTTPResponse, HTTPFailure> = .success(
            HTTPResponse(
                status: exchange.response.status,
                headers: exchange.response.headers.map { HTTPHeader($0.name, $0.value) }, body: exchange.response.body))
        var extra = Duration.zero
        switch exchange.delivery {
        case .normal: break
        case .delayed(let milliseconds): extra = .milliseconds(milliseconds)
        case .responseLost, .connectionReset:
            result = .failure(HTTPFailure(.connectionLost, "the connection was reset", mayHaveBeenApplied: true))
        }
        let answer = RelayDecoder.answer(
            to: result, expecting: RelayDecoder.expected(of: call), wall: moment.milliseconds)
        if exchange.response.status == 200, exchange.delivery == .normal { measure(attempt) }
        let back = Duration.milliseconds(Int64.random(in: plan.latency, using: &random))
        schedule(.answered(attempt, answer, life: life), after: back + extra)
    }

    mutating func measure(_ attempt: CallAttempt) {
        guard let index = messageOfTurn[attempt.turn], let known = progress[index] else { return }
        if attempt.name == .open { result.openWaits.append(now - known.begunAt) }
        if attempt.name == .end, let end = known.endKnownAt {
            result.endWaits.append(now - end)
            result.endedAt[index] = now - Instant.zero
        }
    }

    mutating func misfortune() -> Fault.Kind {
        random.pick([
            .rateLimited(retryAfterMilliseconds: 300, namesBucket: true),
            .rateLimited(retryAfterMilliseconds: 200, namesBucket: false), .status(500, retryAfterMilliseconds: nil),
            .status(503, retryAfterMilliseconds: 400), .reset, .replyLost, .html, .truncated, .oddRetryAfter("soon"),
            .slow(milliseconds: 900),
        ])
    }

    mutating func lookUp(_ index: Int, _ bridge: inout Bridge) {
        guard let known = progress[index], !agentIsAway else { return }
        let script = plan.messages[index].script
        // Once only follow-up steps remain, the first run of a detached approval has ended.
        let firstRun = script.steps.prefix { !$0.inFollowUp }.count
        if known.nextStep >= script.steps.count {
            bridge.lookedUp(.ended(RunEnd(text: script.wholeText, includesFollowUp: true)), of: known.run, at: now)
        } else if known.nextStep >= firstRun {
            bridge.lookedUp(.ended(RunEnd(text: textSoFar(script, firstRun))), of: known.run, at: now)
        } else {
            bridge.lookedUp(.running(text: textSoFar(script, known.nextStep)), of: known.run, at: now)
        }
    }

    /// Text of the run after this many steps, as an agent would send it whole, or nil if the agent sends one message
    /// at a time.
    func textSoFar(_ script: RunScript, _ steps: Int) -> String? {
        var text = ""
        for step in script.steps.prefix(steps) where !step.inFollowUp {
            switch step.event {
            case .text(.append(let more)): text += more
            case .text(.snapshot(let whole)): text = whole
            case .text(.segment), .text(.segmentEnded): return nil
            case .retrying, .alive: text = ""
            default: break
            }
        }
        return text
    }
}
