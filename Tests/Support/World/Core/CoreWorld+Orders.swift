import BridgeCore
import Vocabulary

/// Carries out the orders of the bridge.
extension CoreWorld {
    mutating func perform(_ bridge: inout Bridge) {
        while bridge.hasOrders {
            for order in bridge.takeOrders() {
                switch order {
                case .keep(let kept, _):
                    do { try journal.keep(kept.record) } catch { violation("not kept: \(error)") }
                    // Confirms only every other part, so the bridge writes some of them again.
                    let heard = kept.record.parts.pending.last { $0.number % 2 == 0 }
                    if let heard { bridge.partsWereKept(of: kept.record.id, through: heard.number) }
                case .commandToKeep(let number, let command): keep(command, number, &bridge)
                case .attempt, .command, .fetch, .dropFiles, .filesTouched, .keepHome, .keepModel, .owe, .fulfilled,
                    .turnOpened, .turnClosed,
                    .connectionStopped, .turnNote,
                    .deliveryNote, .keyTaken, .keyLeft, .anotherBridge, .stuck:
                    perform(order)
                }
            }
        }
    }

    /// An answer waits for the disk, as does a command that the bridge must not withdraw.
    private mutating func keep(_ command: AgentCommand, _ number: CommandNumber, _ bridge: inout Bridge) {
        if case .answer = command {
            let wait = Int64.random(in: 1...40, using: &random)
            schedule(.commandKept(number, command, life: life), after: .milliseconds(wait))
        } else if CoreFaults.ignoresWithdrawal(of: command), plan.restarts.isEmpty {
            schedule(.commandKept(number, command, life: life), after: .seconds(5))
        } else {
            bridge.commandKept(number, at: now)
        }
    }

    /// Whether the person stopped the message that the command is about.
    func isStopped(_ command: AgentCommand) -> Bool {
        let index: Int? =
            switch command {
            case .send(let turn, _, _, _): messageOfTurn[turn]
            case .answer(let question, _, _, _):
                plan.messages.firstIndex { $0.script.asking?.question.id == question }
            default: nil
            }
        return index.flatMap { progress[$0]?.stopped } ?? false
    }

    mutating func perform(_ order: BridgeOrder) {
        switch order {
        case .attempt(let attempt): send(attempt)
        case .command(.send(let turn, _, let run, _)):
            guard let index = messageOfTurn[turn], let known = progress[index] else {
                return takesReplyForMessage(turn, run)
            }
            if known.handedOver { return violation("message \(index) was handed over twice") }
            if known.stopped { return violation("message \(index) was handed over after its Stop") }
            progress[index]?.handedOver = true
            schedule(.accepted(index), after: .milliseconds(2))
            if let first = plan.messages[index].script.steps.first {
                schedule(.runStep(message: index, index: 0), after: first.after)
            }
        case .command(.abort(_, let run, _)):
            guard let index = progress.first(where: { $0.value.run == run })?.key else { return }
            schedule(.abortAnswered(run), after: .milliseconds(2))
            guard progress[index]?.aborted == false else { return }
            progress[index]?.aborted = true
            progress[index]?.endKnownAt = now
        case .command(.resolve), .command(.release): break
        case .command(.answer(let question, _, let answer, _)):
            for _ in 0..<CoreFaults.timesAnswered { answers(question, answer) }
        case .command(.lookUp(_, let run)):
            guard let index = progress.first(where: { $0.value.run == run })?.key else { return }
            schedule(.lookUp(index), after: .milliseconds(5))
        case .turnClosed(let turn, _):
            journal.forget(turn)
            if !closed.insert(turn).inserted { violation("turn \(turn) was closed twice") }
        case .connectionStopped(let code): violation("the connection was stopped: \(code)")
        case .owe(let obligation, let since): journal.owe(obligation, since: since)
        case .fulfilled(let obligation): journal.fulfilled(obligation)
        case .keepHome(let chat, let home): journal.keep(home, of: chat)
        case .fetch, .dropFiles, .filesTouched, .turnOpened, .turnNote, .deliveryNote, .keep, .commandToKeep, .keyTaken,
            .keyLeft, .keepModel, .anotherBridge, .stuck:
            break
        }
    }

    mutating func send(_ attempt: CallAttempt) {
        result.calls += 1
        if attempt.name.isText, attempt.attempt == 1, let since = textSince.removeValue(forKey: attempt.turn) {
            result.longestTextWait = max(result.longestTextWait, now - since)
        }
        let call: RelayCall
        switch attempt.payload {
        case .fresh(let fresh):
            call = fresh
            if attempt.durability != nil, attempt.attempt == 1 { journal.store(attempt, fresh) }
        case .stored(let key):
            guard let stored = journal.body(of: key, in: attempt.turn) else {
                return violation("nothing is stored under \(key)")
            }
            call = stored
        }
        underWay[attempt.turn, default: 0] += 1
        let life = life
        // After a restart, a call of the killed process may still arrive beside the next one's.
        if underWay[attempt.turn, default: 0] > 1, plan.restarts.isEmpty {
            violation("two calls of \(attempt.turn) are under way at once")
        }
        let starves = faults.starves(attempt)
        let way = Duration.milliseconds(Int64.random(in: plan.latency, using: &random))
        schedule(.arrives(attempt, call, life: life), after: starves ? way + .seconds(5) : way)
    }
}
