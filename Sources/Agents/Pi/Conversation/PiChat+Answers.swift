import AgentKit
import JSONReading
import Vocabulary

// What pi answers to requests, and what follows where it does not.
extension PiChat {
    // MARK: Of a person

    mutating func resolve(
        _ approval: ApprovalID, _ decision: ApprovalDecision, isUnanswered: Bool, shown: AskFingerprint?
    ) -> [Order] {
        guard decision == .deny || dialogs.shows(shown, as: approval.text) else { return [] }
        guard let answer = dialogs.decided(approval, decision, isUnanswered: isUnanswered) else { return [] }
        return [
            .write(PiFrames.answer(answer, to: approval.text)),
            .observed([settled(approval, .decided(decision == .deny ? .deny : .approve))]),
        ]
    }

    mutating func answer(_ question: QuestionID, _ answer: QuestionAnswer, shown: AskFingerprint?) -> [Order] {
        guard dialogs.shows(shown, as: question.text) else { return [] }
        guard let answer = dialogs.answered(question, answer) else { return [.observed([settled(question, .unknown)])] }
        return [.write(PiFrames.answer(answer, to: question.text)), .observed([settled(question, .answered)])]
    }

    // MARK: Answers

    mutating func answered(_ root: FrameNode, at now: Instant) -> [Order] {
        let hasFailed = root["success"]?.flag == false
        let purpose =
            if let id = root["id"]?.string { requests.answered(id) } else if hasFailed {
                requests.failedWithoutID()
            } else { PiRequests.Purpose?.none }
        switch purpose {
        case nil, .prompt: return []
        case .words(let run): return wordsAnswered(run, isTaken: !hasFailed)
        case .barrier where hasFailed:
            failures.doom = root["error"]?.string ?? "it refused get_state"
            return []
        case .barrier: return becameReady(root["data"])
        case .probe: return probed(root["data"], at: now)
        case .abort:
            if turn?.isStopping == true { turn?.state = .stopping(until: now + PiTurn.afterStop) }
            // What was queued would go into the next run (pi.md#steering-and-queueing).
            return [.write(PiFrames.state(requests.add(.probe, for: Self.answerLimit, at: now)))]
        case .history(let run, let isLive):
            let found = PiHistory(root).found(question: asked[run])
            if !isLive { asked[run] = nil }
            return isLive ? endWasLost(of: run, found) : [.observed([.lookedUp(run, found)])]
        case .models(let query): return [.replied(query, PiModel.list(root))]
        case .model(let run, let choice, let wanted): return modelAnswered(root, run, choice, wanted)
        case .level(let run, let choice, let step): return levelAnswered(root, run, choice, step, at: now)
        }
    }

    private mutating func becameReady(_ state: FrameNode?) -> [Order] {
        failures.forget()
        home.model = PiModel.name(state?["model"])
        home.levels.isSaid(state)
        guard let path = state?["sessionFile"]?.string, !home.isKept(path) else {
            process = .ready
            return []
        }
        process = .keeping(file: path)
        return [.keep(file: path)]
    }

    private mutating func probed(_ state: FrameNode?, at now: Instant) -> [Order] {
        home.levels.isSaid(state)
        let isBusy = state?["isStreaming"]?.flag != false || state?["isCompacting"]?.flag == true
        guard !isBusy else { return [] }
        guard let turn else {
            let left = state?["pendingMessageCount"]?.integer(in: 1...Int(Int32.max))
            let orders = decoder.isIdle ? [] : idleWithoutEnd(of: nil, at: now)
            return orders + (left == nil ? [] : leave(at: now))
        }
        switch turn.state {
        // The command that was taken waits for a person.
        case .accepted where dialogs.waitsSince != nil: return []
        case .accepted:
            decoder.abandonRun()
            return [.observed([.sendAnswered(asked: turn.run, .noRun)])] + closeTurn()
        case .going: return idleWithoutEnd(of: turn.run, at: now)
        case .prompted, .stopping: return []
        }
    }

    /// `run`: ours, whose text may be found.
    private mutating func idleWithoutEnd(of run: RunID?, at now: Instant) -> [Order] {
        // The answer may have overtaken an event that is still being written: one more look.
        guard silence.idleAnswers > 0 else {
            silence.idleAnswers = 1
            return []
        }
        if decoder.isRetryDue(at: now) || run == nil { return heard(decoder.giveUp(), at: now) }
        guard let run, !decoder.isRetrying else { return [] }
        let id = requests.add(.history(run, isLive: true), for: Self.answerLimit, at: now)
        return [.write(PiFrames.messages(id))]
    }

    private mutating func endWasLost(of run: RunID, _ found: RunLookup) -> [Order] {
        guard turn?.run == run, silence.idleAnswers != 0 else { return [] }
        decoder.abandonRun()
        switch found {
        case .ended(let end): return [.observed([signal(.finished(end), of: run)])] + closeTurn()
        case .failed, .running, .waits, .unknown: return loseTurn("pi is idle, and did not say how its run ended")
        }
    }

    // MARK: No answer

    mutating func overdue(_ purpose: PiRequests.Purpose, at now: Instant) -> [Order] {
        switch purpose {
        case .prompt:
            failures.doom = "pi did not take this message within 30 minutes"
            return []
        // It said something meanwhile.
        case .probe where turn?.state == .prompted && silence.since + PiSilence.limit > now: return []
        // What it does before it takes a prompt may hold up all else.
        case .probe where turn?.state == .prompted && (decoder.isCompacting || dialogs.waitsSince != nil): return []
        case .barrier, .probe, .abort:
            failures.doom = "pi does not answer any more"
            return []
        case .history, .models, .words: return unanswered(purpose)
        // Early versions answer a failure without its id (pi.md#responses-stdout).
        case .model(let run, let choice, _): return refused(choice, of: run, "pi did not answer")
        case .level(let run, let choice, let step): return levelUnanswered(run, choice, step)
        }
    }

    mutating func unanswered(_ purpose: PiRequests.Purpose) -> [Order] {
        switch purpose {
        case .barrier, .prompt, .words, .probe, .abort, .model, .level: return []
        case .history(let run, let isLive):
            let gone = RunLookup.failed(RunFailure(kind: .agentGone, message: "its process ended"))
            return isLive ? [] : [.observed([.lookedUp(run, gone)])]
        case .models(let query): return [.replied(query, .refused(message: "pi does not answer"))]
        }
    }

    /// A line was too long. While a history is asked for and no run is followed it was that; else, whatever it said, the run cannot be
    /// followed any more.
    mutating func skipped(_ bytes: Int, at now: Instant) -> [Order] {
        if turn == nil, decoder.isIdle, let run = requests.takeHistory() {
            let failure = RunFailure(
                kind: .agentGone, message: "its process ended, and its chat is too long to be read")
            asked[run] = nil
            return [
                .note("a history of \(bytes) bytes was skipped"), .observed([.lookedUp(run, .failed(failure))]),
            ] + advance(at: now)
        }
        failures.doom = "pi wrote \(bytes) bytes on one line"
        return [.note("a line of \(bytes) bytes was skipped")] + advance(at: now)
    }

    /// pi called itself idle and no end came, or it never answered.
    mutating func stopOverdue() -> [Order] {
        // Of a prompt that waits in pi the Stop has stopped nothing: its loop would begin afterwards.
        if decoder.mayRun { failures.doom = "it ignored a stop" }
        decoder.abandonRun()
        return loseTurn("")
    }

    mutating func refuseErrands(_ sentence: String, prompts only: Bool) -> [Order] {
        var orders: [Order] = []
        var others: [Errand] = []
        for errand in errands {
            switch errand {
            case .prompt(let run, _):
                asked[run] = nil
                orders.append(.observed([.sendAnswered(asked: run, .notSent(sentence: sentence))]))
            case _ where only: others.append(errand)
            case .lookUp(let run, _): orders += unanswered(.history(run, isLive: false))
            case .models(let query): orders.append(.replied(query, .refused(message: sentence)))
            }
        }
        errands = others
        return orders
    }
}
