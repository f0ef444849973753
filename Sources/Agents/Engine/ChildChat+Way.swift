import AgentKit
import JSONReading
import Vocabulary

// The child's life, and the walks to it and on it.
extension ChildChat {
    // MARK: The host

    mutating func spawned(_ now: Occasion) -> [Order] {
        guard way.state == .opening else { return [] }
        way.state = .greeting
        return cards(seat.isFree(waiting)) + begin(.greet, now) + advance(now)
    }

    /// All places for children are taken: the host starts this one once a place is free.
    mutating func awaitsPlace(running: Int, behind chats: [WaitingChat]) -> [Order] {
        guard way.state == .opening else { return [] }
        let changed = seat.awaits(running: running, behind: chats)
        let said = saysThatTheyRun()
        return said + cards(changed + seat.show(waiting)) + [.note("\(seat.note); a message waits")]
    }

    /// Prompts whose bubbles can show the wait.
    private var waiting: [RunID] {
        prompts.held.map(\.run) + errands.finds.filter { prompts.sought[$0]?.isSaidToRun == true }
    }

    /// Gives up the wait for a place: nothing needs the child.
    mutating func giveUpPlace() -> [Order] {
        _ = seat.isFree([])
        way.state = .absent
        return [.kill]
    }

    /// Asks the child to end: its place is wanted, or its queue must not meet the next prompt.
    mutating func leave(_ now: Occasion) -> [Order] {
        guard way.state == .open else { return [] }
        way.state = .leaving(until: now.now + Self.leaveLimit)
        return dialect.say(.leave, &reading, here(now)).map { .write($0) } + [.closeInput]
    }

    mutating func kept(_ place: Place, _ isKept: Bool, _ now: Occasion) -> [Order] {
        guard way.state == .keeping(place) else {
            // The agent moved to it by itself.
            if !isKept, place == home.kept { home.wasNotKept(place) }
            return []
        }
        way.state = .open
        guard isKept else {
            home.wasNotKept(place)
            return refuseHeld(
                "The bridge could not write down \(dialect.name)'s session, so the message was not sent. Is the disk full?"
            ) + advance(now)
        }
        home.wasKept(place)
        return advance(now)
    }

    /// `reason`: the end in words. `hasRun`: the child was started, and another start may succeed.
    mutating func died(_ reason: String, hasRun: Bool, _ now: Occasion) -> [Order] {
        let hasFailed =
            switch way.state {
            case .reaching, .opening, .greeting, .joining, .keeping: true
            case .absent, .open, .leaving, .waiting: false
            }
        way.doom = nil
        var orders = cards(seat.isFree(waiting)) + heard(reading.settle(), now) + abandonRun(reason, now)
        if let named = errands.namedStop.take() { orders.append(.observed([.abortAnswered(named)])) }
        if hasRun { orders += losesTurn(reason, now) }
        readsAnew()
        home.childEnded()
        way.endsAfterTurn = false
        for asked in asks.takeAll() { orders += settled(asked, .cancelled) }
        orders += breakOff()
        requests.forgetAll()
        way.state = .absent
        way.idleSince = nil
        // A child that dies repeatedly over one prompt restarts no faster than one that does not start.
        let isLosing = (prompts.turn?.losses ?? 0) > 1
        guard hasFailed || isLosing else { return orders + advance(now) }
        var random = SeededGenerator(seed: now.random)
        let pause = way.starts.next(using: &random)
        guard hasRun, !hasFailed || way.starts.failures < Self.startTries else {
            let sentence = "\(dialect.name) could not be started: \(reason)"
            guard keepsDoubt else {
                way.starts.succeeded()
                return orders + endsTurn(sentence, now) + refuseWaiting(sentence, keepsSought: false) + advance(now)
            }
            way.state = .waiting(until: now.now + pause)
            return orders + refuseWaiting(sentence, keepsSought: true)
        }
        way.state = .waiting(until: now.now + pause)
        return orders
    }

    /// The look-up of a doubtful turn, or of a run that the chat shows, is retried while the program cannot be started: an upgrade
    /// replaces it within seconds.
    private var keepsDoubt: Bool {
        let isDoubtful = dialect.habits.again != .never && prompts.turn?.state == .doubtful
        return way.starts.failures < Self.doubtTries
            && (isDoubtful || errands.finds.contains { isSoughtInSight($0) })
    }

    /// The chat shows that the run continues, and no Stop ends it.
    private func isSoughtInSight(_ run: RunID) -> Bool {
        prompts.sought[run]?.isSaidToRun == true && prompts.sought[run]?.isStopped == false
    }

    /// Breaks off the walk of the dead child.
    private mutating func breakOff() -> [Order] {
        guard let walk = errands.walk.take() else {
            _ = choosing.childDied(over: nil)
            return []
        }
        let isGivenUp = choosing.childDied(over: walk.kind)
        let words = "\(dialect.name) ended when it was asked for it"
        switch walk.kind {
        case .reach, .greet, .join, .find(_, isTurn: true): return []
        case .find(let sought, isTurn: false): return seeksAgain(sought.run)
        case .list(let query): return [.replied(query, .refused(message: "\(dialect.name) does not answer"))]
        case .model(let run, let choice):
            return isGivenUp && prompts.isHeld(run)
                ? [.observed([.modelAnswered(run, choice, .refused(message: words))])] : []
        case .level(let run, let choice):
            return isGivenUp && prompts.isHeld(run)
                ? [.observed([.levelAnswered(run, choice, .refused(message: words))])] : []
        }
    }

    /// The next child looks again, if a finding can prove anything.
    private mutating func seeksAgain(_ run: RunID) -> [Order] {
        if dialect.habits.again != .never, let known = prompts.sought[run], known.losses + 1 < ChildTurn.losses {
            prompts.changeSought(run) { $0.losses += 1 }
            errands.finds.insert(run, at: 0)
            return []
        }
        return fate(.fate(Self.gone), of: run)
    }

    static var gone: RunLookup { .failed(RunFailure(kind: .agentGone, message: "its process ended")) }

    /// A line was too long. During a look without a run it was the agent's history, and the look fails. Otherwise the line may hold
    /// anything, and the run cannot be followed.
    mutating func skipped(_ bytes: Int, _ now: Occasion) -> [Order] {
        if prompts.turn == nil, reading.isIdle, requests.isWalking,
            case .find(let sought, isTurn: false)? = errands.walk?.kind
        {
            requests.forget(.walk)
            errands.walk = nil
            let failure = RunFailure(
                kind: .agentGone, message: "its process ended, and its chat is too long to be read")
            return [.note("a history of \(bytes) bytes was skipped")]
                + fate(.fate(.failed(failure)), of: sought.run) + advance(now)
        }
        way.doom = "\(dialect.name) wrote \(bytes) bytes on one line"
        return [.note("a line of \(bytes) bytes was skipped")] + advance(now)
    }

    // MARK: Walks

    mutating func begin(_ kind: ChildWalk.Kind, _ now: Occasion) -> [Order] {
        errands.walks += 1
        errands.walk = ChildWalk(kind, number: errands.walks, at: now.now)
        return walks(.begin, now)
    }

    /// Result of a work that the walk ordered.
    mutating func finished(_ result: WorkResult, ofWalk number: Int, _ now: Occasion) -> [Order] {
        guard let walk = errands.walk, walk.number == number, walk.awaitsWork else { return [] }
        return walks(.result(result), now) + advance(now)
    }

    mutating func walks(_ heard: Heard, _ now: Occasion) -> [Order] {
        guard let kind = errands.walk?.kind else { return [] }
        guard errands.walk?.isEndless(at: now.now) != true else {
            return walkFailed("\(dialect.name) does not answer any more", now)
        }
        errands.walk?.wakes()
        let here = here(now)
        switch kind {
        case .reach: return take(dialect.reach(heard, &reading, here), now) { $0.isReached($1, now) }
        case .greet: return take(dialect.greet(heard, &reading, here), now) { greeted, _ in greeted.isGreeted(now) }
        case .join: return take(dialect.join(heard, &reading, here), now) { $0.hasJoined($1, now) }
        case .find(let sought, let isTurn):
            return take(dialect.find(sought, heard, &reading, here), now) { found, end in
                isTurn ? found.turnFound(end, of: sought.run, now) : found.found(end, of: sought.run)
            }
        case .model(let run, let choice):
            return take(dialect.choose(choice, heard, &reading, here), now) { chosen, answer in
                chosen.choosing.settles(.model, of: run)
                return [.observed([.modelAnswered(run, choice, answer)])]
            }
        case .level(let run, let choice):
            return take(dialect.choose(choice, heard, &reading, here), now) { chosen, answer in
                chosen.choosing.settles(.level, of: run)
                return [.observed([.levelAnswered(run, choice, answer)])]
            }
        case .list(let query):
            return take(dialect.list(heard, &reading, here), now) { _, reply in [.replied(query, reply)] }
        }
    }

    private mutating func take<End>(
        _ step: Step<End>, _ now: Occasion, done: (inout Self, End) -> [Order]
    ) -> [Order] {
        switch step {
        case .done(let end):
            errands.walk = nil
            return done(&self, end)
        case .failed(let reason): return walkFailed(reason, now)
        case .ask(let frame, let limit):
            errands.walk?.asked(requests.next)
            requests.add(.walk, for: limit, at: now.now)
            return [.write(frame)]
        case .work(let work):
            errands.walk?.works()
            return [.work(work, walk: errands.walk?.number ?? 0)]
        case .pause(let time, let words):
            errands.walk?.pauses(until: now.now + time)
            let said = saysThatTheyRun()
            return said + (words.map { cards(seat.tells($0, waiting)) } ?? [])
        }
    }

    /// A failed walk to the child ends the child; any other fails only its own request.
    private mutating func walkFailed(_ reason: String, _ now: Occasion) -> [Order] {
        guard let kind = errands.walk?.kind else { return [] }
        switch kind {
        case .reach, .greet, .join:
            way.doom = reason
            return []
        case .find, .model, .level, .list: break
        }
        errands.walk = nil
        switch kind {
        case .reach, .greet, .join: return []
        case .find(let sought, isTurn: false): return found(.fate(Self.gone), of: sought.run)
        // The next probe asks again about a turn under way.
        case .find(_, isTurn: true): return prompts.turn?.state == .doubtful ? endsTurn(reason, now) : []
        case .model(let run, let choice):
            choosing.settles(.model, of: run)
            return [.observed([.modelAnswered(run, choice, .refused(message: reason))])]
        case .level(let run, let choice):
            choosing.settles(.level, of: run)
            return [.observed([.levelAnswered(run, choice, .refused(message: reason))])]
        case .list(let query): return [.replied(query, .refused(message: reason))]
        }
    }

    private mutating func isReached(_ reached: Reached, _ now: Occasion) -> [Order] {
        guard way.state == .reaching else { return [] }
        if reached.losesSession { home.losesSession() }
        way.state = .opening
        home.isStarted()
        return cards(seat.isFree(waiting)) + [.start(reached.plan)]
    }

    private mutating func isGreeted(_ now: Occasion) -> [Order] {
        way.state = .joining
        return begin(.join, now)
    }

    private mutating func hasJoined(_ place: Place?, _ now: Occasion) -> [Order] {
        way.starts.succeeded()
        guard let place = place.map({ home.place($0.native) }), place != home.kept else {
            way.state = .open
            return []
        }
        way.state = .keeping(place)
        return [.keep(place)]
    }

    private mutating func found(_ found: Found, of run: RunID) -> [Order] {
        let news = reading.takeNews().map { [Order.observed([.told(run, $0)])] } ?? []
        return news + fate(found, of: run)
    }

    private mutating func fate(_ found: Found, of run: RunID) -> [Order] {
        let known = prompts.sought[run]
        prompts.forget(run)
        let isStopped = known?.isStopped == true
        // A Stop of this run waited for its fate.
        let stopped: [Order] = isStopped ? [.observed([.abortAnswered(run)])] : []
        if let known, let prompt = known.prompt,
            ConversationRules.mayBeWrittenAgain(
                dialect.habits.again, found, isStopped: isStopped, isWhole: !prompt.isIncomplete)
        {
            prompts.remember(.init(sought: known.sought))
            prompts.holdAgain(run, prompt, in: known.folder, losses: known.losses)
            return known.isSaidToRun ? [] : [.observed([.lookedUp(run, .waits)])]
        }
        // A run that ended here without a word has no other record.
        var fate = known == nil ? RunLookup.unknown : Self.gone
        if case .fate(let known) = found { fate = known }
        guard known?.isSaidToRun == true else { return [.observed([.lookedUp(run, fate)])] + stopped }
        switch fate {
        case .ended(let end): return [.observed([signal(.finished(end), of: run)])] + stopped
        case .failed(let failure):
            let end: RunEvent = isStopped ? .finished(RunEnd(reason: .aborted)) : .failed(failure)
            return [.observed([signal(end, of: run)])] + stopped
        case .running, .waits, .unknown:
            let failure = RunFailure(kind: .agentGone, message: "its process ended")
            return [.observed([signal(.failed(failure), of: run)])] + stopped
        }
    }

    // MARK: All that waits

    mutating func refuseHeld(_ sentence: String) -> [Order] {
        prompts.takeAll().map { .observed([.sendAnswered(asked: $0.run, .notSent(sentence: sentence))]) }
    }

    /// Refuses messages, look-ups and lists that wait, except perhaps look-ups of runs that the chat shows.
    private mutating func refuseWaiting(_ sentence: String, keepsSought: Bool) -> [Order] {
        var orders = refuseHeld(sentence)
        let kept = keepsSought ? errands.finds.filter { isSoughtInSight($0) } : []
        for run in errands.finds where !kept.contains(run) {
            let known = prompts.sought[run]
            // The core asks again, and the next child may find the run.
            let isAskedAgain =
                dialect.habits.again != .never && known?.isSaidToRun == false && known?.isStopped == false
            let failure = RunFailure(kind: .agentGone, message: sentence)
            if !isAskedAgain { orders += fate(.fate(.failed(failure)), of: run) }
        }
        for query in errands.lists { orders.append(.replied(query, .refused(message: sentence))) }
        (errands.finds, errands.lists) = (kept, [])
        return orders
    }
}
