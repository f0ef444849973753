import AgentKit
import JSONReading
import Vocabulary

// The turn: its prompt, its frames, its end.
extension ChildChat {
    // MARK: Handing over

    /// `isMore`: the caller looks at the next prompt, or at the same one again.
    mutating func handOver(_ now: Occasion) -> (orders: [Order], isMore: Bool) {
        guard let next = prompts.held.first else { return ([], false) }
        if let steering = steer(next, now) { return (steering, true) }
        guard ConversationRules.mayBegin(turn: prompts.turn, isFree: reading.isFree) else {
            return (waitsForRun(), false)
        }
        // The next child works in the message's folder.
        home.moves(to: next.folder)
        if home.isElsewhere { return (leave(now), false) }
        if let place = home.unkept {
            way.state = .keeping(place)
            return ([.keep(place)], false)
        }
        let (run, prompt) = (next.run, next.prompt)
        if prompt.model != .unchanged, !choosing.isSettled(.model, of: run) {
            return (begin(.model(run, prompt.model), now), true)
        }
        if prompt.level != .unchanged, !choosing.isSettled(.level, of: run) {
            return (begin(.level(run, prompt.level), now), true)
        }
        guard prompt.isReady else { return ([.load(run, prompt.pictures)], false) }
        _ = prompts.takeFirst()
        var orders = cards(seat.leaves(run))
        if home.hasLostSession {
            home.hasLostSession = false
            orders.append(.observed([.conversationLost(run)]))
        }
        if let news = reading.takeNews() { orders.append(.observed([.told(run, news)])) }
        let frames = dialect.say(.prompt(run, prompt), &reading, here(now))
        requests.add(.prompt(run), for: ChildTurn.promptLimit, at: now.now)
        let again = dialect.habits.again == .never ? nil : prompt
        prompts.turn = ChildTurn(run, prompt: again, in: next.folder, losses: next.losses)
        silence.heard(.frame, at: now.now)
        return (orders + frames.map { .write($0) }, true)
    }

    /// Tells a message that came during a run (`when_busy: steer`) why it waits, if the agent takes none.
    private mutating func waitsForRun() -> [Order] {
        guard prompts.turn != nil, !dialect.habits.steers else { return [] }
        let words = "\(dialect.name) takes one message at a time: this one waits for the run before it."
        return cards(seat.tells(words, prompts.held.map(\.run)))
    }

    /// Steers the run with the words of a refusal. Nil if they have to wait as a prompt.
    private mutating func steer(_ next: Prompts.Held, _ now: Occasion) -> [Order]? {
        guard dialect.habits.steers, next.prompt.steers, next.prompt.isReady, !next.prompt.text.hasPrefix("/"),
            let turn = prompts.turn, turn.state == .going, !turn.isStopping, prompts.words == nil,
            !reading.isPreparing
        else { return nil }
        prompts.words = prompts.takeFirst()
        let frames = dialect.say(.steer(next.run, next.prompt), &reading, here(now))
        requests.add(.steer(next.run), for: Self.answerLimit, at: now.now)
        return frames.map { .write($0) }
    }

    // MARK: Files

    func isToWrite(_ run: RunID) -> Bool { prompts.isHeld(run) }

    /// Takes a prompt's files, or drops them if the prompt was stopped in the meantime.
    mutating func loaded(_ loaded: FileLoads.Loaded, _ now: Occasion) -> [Order] {
        let run = loaded.run
        guard let leftOut = prompts.change(run, { $0.take(loaded) }) else { return [] }
        let said: [Order] = leftOut.isEmpty ? [] : [.observed([.filesLeftOut(run, leftOut)])]
        return said
            + (prompts[held: run]?.isNothing == true
                ? leavesOut(run, PicturePrompt.nothingLeft, now) : advance(now))
    }

    /// Refuses a prompt whose files cannot be read.
    mutating func leavesOut(_ run: RunID, _ answer: SendAnswer, _ now: Occasion) -> [Order] {
        guard prompts.drop(run) else { return [] }
        return [.observed([.sendAnswered(asked: run, answer)])] + advance(now)
    }

    /// Hands back the prompts that no child has had, because the bridge's process ends. The last is first: each takes its place
    /// before those behind it.
    mutating func handsBack() -> [Order] {
        let runs = prompts.held.filter { !$0.isAgain && !$0.wasSaid }.map(\.run)
        return runs.reversed().flatMap { run in
            _ = prompts.drop(run)
            return cards(seat.leaves(run)) + [.observed([.sendAnswered(asked: run, .neverLeft)])]
        }
    }

    // MARK: Stop

    /// An orphan of an earlier bridge process may still work on the run: this process has started no child in the chat.
    private var mayHaveOrphan: Bool {
        dialect.habits.finishesAlone && way.children == 0 && way.state == .absent && home.kept.native != nil
    }

    mutating func abort(_ run: RunID, _ now: Occasion) -> [Order] {
        let stopped: [Order] = [.observed([.abortAnswered(run)])]
        if prompts.words?.run == run {
            // The words wait in the agent's queue, and would meet the next prompt.
            prompts.words = nil
            reading.forgetWords()
            prompts.forget(run)
            way.endsAfterTurn = true
            return stopped
        }
        let wasHeld = prompts.drop(run)
        // The bubble ends, and its card with it.
        _ = seat.leaves(run)
        if !isWanted, seat.isAwaited { return giveUpPlace() + stopped }
        if !isWanted, way.state == .reaching {
            // Nothing else needs the walk to the child.
            errands.walk = nil
            way.state = .absent
        }
        if errands.finds.contains(run) {
            // The fate of the run is being looked for, perhaps behind a process that works on it: answer the Stop with it.
            prompts.changeSought(run) { $0.isStopped = true }
            return []
        }
        if !wasHeld, reading.going == run, prompts.turn?.run != run {
            // No prompt of the bridge began this run; a person named it.
            guard prompts.turn != nil else {
                prompts.turn = ChildTurn(run, prompt: nil)
                prompts.turn?.state = .going
                return stop(run, now)
            }
            errands.namedStop = run
            return writeStop(of: run, now)
        }
        guard !wasHeld, prompts.turn?.run == run else {
            prompts.changeSought(run) { $0.isStopped = true }
            guard !wasHeld, mayHaveOrphan else { return stopped }
            if prompts.sought[run] == nil { prompts.remember(.init(sought: Sought(run, text: nil), isStopped: true)) }
            errands.finds.append(run)
            return advance(now)
        }
        return stop(run, now)
    }

    private mutating func stop(_ run: RunID, _ now: Occasion) -> [Order] {
        guard let turn = prompts.turn, !turn.isStopping else { return [] }
        prompts.turn?.stops(by: now.now + ChildTurn.stopPatience)
        guard turn.state != .doubtful else { return [] }
        // Take back a prompt that waits behind another run: a Stop would end that run.
        if let other = reading.going, other != run {
            let frames = dialect.say(.takeBack(run), &reading, here(now))
            if !frames.isEmpty {
                requests.add(.takeBack, for: ChildTurn.stopPatience, at: now.now)
                return frames.map { .write($0) }
            }
        }
        return writeStop(of: run, now)
    }

    private mutating func writeStop(of run: RunID, _ now: Occasion) -> [Order] {
        let frames = dialect.say(.stop, &reading, here(now))
        if !frames.isEmpty { requests.add(.stop(run), for: ChildTurn.stopPatience, at: now.now) }
        return frames.map { .write($0) }
    }

    /// The child called itself idle and no end came, or it never answered.
    mutating func stopOverdue(_ now: Occasion) -> [Order] {
        // A prompt that waits in the child was not stopped: its loop would begin afterwards.
        if reading.mayRun { way.doom = "it ignored a stop" }
        let ended = abandonRun("its process was ended for a stop behind it", now) + endsTurn("", now)
        return !isWanted && seat.isAwaited ? ended + giveUpPlace() : ended
    }

    // MARK: What the child says

    mutating func reported(_ report: Report<D.Slip>, _ now: Occasion) -> [Order] {
        switch report {
        case .seen(let observations): return heard(observations, now)
        case .asks(let ask): return asked(ask, now)
        case .withdrawn(let name): return asks.take(name).map { settled($0, .cancelled) } ?? []
        case .replies(let frame): return [.write(frame)]
        case .moved(let place):
            guard way.state == .open, home.place(place.native) != home.kept else { return [] }
            home.wasKept(home.place(place.native))
            return [.keep(home.kept)]
        case .broken(let reason):
            way.doom = reason
            return []
        case .outdated:
            way.endsAfterTurn = true
            return []
        case .sessionIsGone:
            home.losesSession()
            return []
        case .hadBefore(let run):
            guard prompts.turn?.run == run else { return [] }
            let ended = abandonRun("its end could not be followed", now)
            // The agent says that it had the prompt: no finding proves the opposite.
            prompts.turn?.prompt = nil
            return ended
                + losesTurn("\(dialect.name) had this message before, and does not say what became of it", now)
        case .tells(let words):
            guard let run = prompts.turn?.run ?? reading.going else { return [] }
            return [.observed([.told(run, words)])]
        case .note(let words): return [.note(words)]
        }
    }

    /// Drops the run of the reading. A run that no prompt of the bridge began gets its end: no frame tells it later.
    mutating func abandonRun(_ reason: String, _ now: Occasion) -> [Order] {
        let other = reading.going == prompts.turn?.run ? nil : reading.going
        reading.abandonRun()
        guard let other else { return [] }
        let end: RunEvent =
            errands.namedStop == other
            ? .finished(RunEnd(reason: .aborted)) : .failed(RunFailure(kind: .agentGone, message: reason))
        return [.observed([signal(end, of: other)])] + otherEnded(end, other, now)
    }

    /// Forwards the observations, and moves the turn by them.
    mutating func heard(_ observations: [Observation], _ now: Occasion) -> [Order] {
        guard !observations.isEmpty else { return [] }
        var orders: [Order] = [.observed(observations)]
        for observation in observations {
            switch observation {
            case .sendAnswered(let run, .accepted) where prompts.words?.run == run:
                prompts.words = nil
                prompts.forget(run)
            case .sendAnswered(let run, .accepted) where prompts.turn?.run == run:
                requests.forget(.prompt(run))
                if prompts.turn?.state == .written { prompts.turn?.state = .taken }
            case .sendAnswered(let run, .refused) where prompts.turn?.run == run: orders += closeTurn(now)
            // The agent removed the prompt from its queue.
            case .abortAnswered(let run) where prompts.turn?.run == run:
                prompts.turn = nil
                prompts.forget(run)
                requests.forget(.prompt(run))
            case .signal(let signal):
                // The dialect saw the agent settle this ask.
                if let name = signal.event.settledAsk, let asked = asks.forget(name) { orders += ends(asked) }
                guard let turn = prompts.turn, signal.run == turn.run else {
                    if let run = signal.run { orders += otherEnded(signal.event, run, now) }
                    continue
                }
                switch signal.event {
                case .started:
                    prompts.turn?.state = .going
                    if ConversationRules.stopsAgain(turn) {
                        orders += writeStop(of: turn.run, now)
                    }
                case .finished, .failed: orders += closeTurn(now)
                case .tool: prompts.turn?.hasWorked = true
                case .text, .approvalRequested, .approvalSettled, .asked, .questionSettled, .paused, .retrying,
                    .alive:
                    break
                }
            default: break
            }
        }
        return orders
    }

    /// Drops the asks of an ended run of the agent's own, and answers a Stop that named it.
    private mutating func otherEnded(_ event: RunEvent, _ run: RunID, _ now: Occasion) -> [Order] {
        switch event {
        case .finished, .failed: break
        case .started, .text, .tool, .approvalRequested, .approvalSettled, .asked, .questionSettled, .paused, .retrying,
            .alive:
            return []
        }
        let named = errands.namedStop == run
        if named { errands.namedStop = nil }
        return asks.take(of: run, withSessions: false).flatMap {
            say(.dropped, to: $0.ask, now) + settled($0, .cancelled)
        }
            + (named ? [.observed([.abortAnswered(run)])] : [])
    }

    // MARK: The end of a turn

    mutating func closeTurn(_ now: Occasion) -> [Order] {
        guard let turn = prompts.turn.take() else { return [] }
        prompts.forget(turn.run)
        requests.forget(.prompt(turn.run))
        if prompts.words != nil { way.endsAfterTurn = true }
        promptsWords()
        return (turn.isStopping ? [.observed([.abortAnswered(turn.run)])] : []) + dropAsks(of: turn.run, now)
    }

    /// The run ended without the words, or refused them: they become the next prompt.
    private mutating func promptsWords() {
        guard var left = prompts.words.take() else { return }
        reading.forgetWords()
        left.prompt.steers = false
        prompts.holdFirst(left)
    }

    /// Ends the run without an end from the agent.
    mutating func endsTurn(_ reason: String, _ now: Occasion) -> [Order] {
        guard let turn = prompts.turn else { return [] }
        let end: RunEvent =
            turn.isStopping
            ? .finished(RunEnd(reason: .aborted))
            : .failed(RunFailure(kind: .agentGone, message: reason))
        return [.observed([signal(end, of: turn.run)])] + closeTurn(now)
    }

    /// The child died: the next one looks for the turn, if a finding can prove anything.
    mutating func losesTurn(_ reason: String, _ now: Occasion) -> [Order] {
        guard dialect.habits.again != .never, let turn = prompts.turn, turn.losses + 1 < ChildTurn.losses else {
            return endsTurn(reason, now)
        }
        prompts.turn?.losses += 1
        prompts.turn?.state = .doubtful
        return []
    }

    /// Outcome of the look for a doubtful turn, or for one whose end was missing.
    mutating func turnFound(_ found: Found, of run: RunID, _ now: Occasion) -> [Order] {
        guard let turn = prompts.turn, turn.run == run else { return [] }
        let isDoubtful = turn.state == .doubtful
        guard isDoubtful || silence.idleAnswers != 0 else { return [] }
        if isDoubtful, let prompt = turn.prompt,
            ConversationRules.mayBeWrittenAgain(
                dialect.habits.again, found, isStopped: turn.isStopping, isWhole: !prompt.isIncomplete,
                hasWorked: turn.hasWorked)
        {
            prompts.turn = nil
            prompts.holdAgain(turn.run, prompt, in: turn.folder, losses: turn.losses)
            // The next attempt repeats the text of this one.
            return turn.hasBegun
                ? [.observed([signal(.retrying(reason: "its process ended"), of: turn.run)])] : []
        }
        if !isDoubtful { reading.abandonRun() }
        switch found {
        case .fate(.ended(let end)): return [.observed([signal(.finished(end), of: turn.run)])] + closeTurn(now)
        case .fate(.failed(let failure)) where isDoubtful && !turn.isStopping:
            return [.observed([signal(.failed(failure), of: turn.run)])] + closeTurn(now)
        case .fate, .absent:
            return endsTurn(
                isDoubtful ? "its process ended" : "\(dialect.name) is idle, and did not say how its run ended",
                now)
        }
    }

    // MARK: Answers

    mutating func answered(_ answer: RequestAnswer, _ frame: FrameNode, _ now: Occasion) -> [Order] {
        let purpose = answer.request.map { requests.answered($0) } ?? requests.answeredWithoutName()
        switch purpose {
        case nil, .prompt, .takeBack: return []
        case .steer(let run):
            // A refused message is not queued.
            if answer.isRefusal, prompts.words?.run == run { promptsWords() }
            return []
        case .walk: return walks(.answer(frame), now)
        case .probe: return probed(dialect.probed(frame, &reading), now)
        case .stop:
            if prompts.turn?.isStopping == true { prompts.turn?.stops(by: now.now + ChildTurn.afterStop) }
            // A queued message would enter the next run: look at the queue.
            return probe(now)
        }
    }

    mutating func probe(_ now: Occasion) -> [Order] {
        // The limit of an unanswered prompt counts from the last sign of life.
        let isUnanswered = prompts.turn?.state == .written && prompts.turn?.isStopping == false
        let limit = isUnanswered ? ChildTurn.startLimit - ChildTurn.startPatience : Self.answerLimit
        let frames = dialect.say(.probe, &reading, here(now))
        requests.add(.probe, for: limit, at: now.now)
        return frames.map { .write($0) }
    }

    private mutating func probed(_ activity: Activity, _ now: Occasion) -> [Order] {
        guard case .idle(let hasQueue) = activity else { return [] }
        guard let turn = prompts.turn else {
            let orders = reading.isIdle ? [] : idleWithoutEnd(of: nil, now)
            return orders + (hasQueue ? leave(now) : [])
        }
        guard !turn.isStopping else { return [] }
        switch turn.state {
        // The command that the agent took waits for a person.
        case .taken where asks.waitsSince != nil: return []
        case .taken:
            reading.abandonRun()
            return [.observed([.sendAnswered(asked: turn.run, .noRun)])] + closeTurn(now)
        case .going: return idleWithoutEnd(of: turn.run, now)
        case .written, .doubtful: return []
        }
    }

    /// `run`: the turn's run, whose text may be found.
    private mutating func idleWithoutEnd(of run: RunID?, _ now: Occasion) -> [Order] {
        // The answer may have overtaken a frame that is still being written: one more look.
        guard silence.idleAnswers > 0 else {
            silence.idleAnswers = 1
            return []
        }
        if reading.isRetryDue(at: now.now) || run == nil { return heard(reading.giveUp(), now) }
        guard let run, !reading.isRetrying, errands.walk == nil else { return [] }
        return begin(.find(soughtOf(run), isTurn: true), now)
    }

    // MARK: No answer

    mutating func overdue(_ purpose: Requests.Purpose, _ now: Occasion) -> [Order] {
        let isUnanswered = prompts.turn?.state == .written && prompts.turn?.isStopping == false
        switch purpose {
        case .prompt: way.doom = "\(dialect.name) did not take this message within 30 minutes"
        // A frame came in the meantime.
        case .probe where isUnanswered && silence.since + ChildTurn.startLimit > now.now: break
        // A compaction, or an ask before the prompt is taken, may hold up all answers.
        case .probe where isUnanswered && (reading.isPreparing || asks.waitsSince != nil): break
        case .probe, .stop, .takeBack: way.doom = "\(dialect.name) does not answer any more"
        case .steer: break
        case .walk:
            errands.walk?.wasLate()
            return walks(.timeIsOver, now)
        }
        return []
    }
}
