import AgentKit
import JSONReading
import Vocabulary

// The next step, and the way to the thread.
extension CodexChat {
    // MARK: What is next

    mutating func advance(at now: Instant) -> [Order] {
        guard link.isUp else { return [] }
        if turn == nil, !behind.isEmpty, home != .unknown {
            turn = behind.removeFirst()
            if way == .open {
                way = .listing
                return list()
            }
        }
        switch (home, way) {
        case (.unknown, _): return begin(at: now)
        case (.making, _), (.keeping, _): return []
        case (.kept, _) where conversation.isDeleted && mayRest: return leave()
        case (.kept, .absent):
            guard turn != nil || !errands.isEmpty || asks.hasEarlier || thread.turn != nil || !cleanUps.isEmpty else {
                return conversation.isDeleted ? leave() : []
            }
            return join()
        case (.kept, .open):
            let waits = turn == nil && thread.turn != nil && !errands.isEmpty
            link.watchDue = waits ? link.watchDue ?? now + CodexTurn.silence : nil
            link.restDue = mayRest ? link.restDue ?? now + Self.restAfter : nil
            return work(at: now)
        case (.kept, .joining), (.kept, .listing), (.kept, .waiting): return []
        }
    }

    private mutating func begin(at now: Instant) -> [Order] {
        // A thread is recorded before any message leaves for it: without one, none of those behind has left.
        var orders = sendBehind()
        if let turn, !turn.mayBeRepeated {
            orders += failTurn("the bridge does not know its thread")
        } else if let turn {
            self.turn = nil
            errands.insert(.prompt(turn.prompt), at: 0)
        }
        while !behind.isEmpty {
            turn = behind.removeFirst()
            orders += failTurn("the bridge does not know its thread")
        }
        orders += takeLooks().map { .observed([$0]) }
        guard let prompt = errands.lazy.compactMap(\.prompt).first else { return orders }
        // A chat without a known workspace gets no thread: the sandbox lets the agent write to the whole folder.
        guard let folder = prompt.folder ?? link.folder ?? settings.folder else {
            let why = "The bridge does not know this chat's workspace. Please send the message again."
            return orders + refusePrompts(why)
        }
        link.folder = folder
        home = .making
        return orders + [.request(.start, "thread/start", CodexFrames.start(settings, folder: folder))]
    }

    /// Answers looks in an unknown thread. `isLost`: its turns are unreachable, so no stop is owed to them.
    mutating func takeLooks(isLost: Bool = true) -> [Observation] {
        if isLost { cleanUps.giveUp() }
        var left: [Errand] = []
        let looks = errands.compactMap { errand -> Observation? in
            switch errand {
            case .lookUp(let run): return .lookedUp(run, .unknown)
            case .abort(let run, _) where isLost: return .abortAnswered(run)
            case .abort, .prompt:
                left.append(errand)
                return nil
            }
        }
        errands = left
        return looks
    }

    // MARK: Leaving

    /// Unsubscribes from the thread and its sub-agents' threads; Codex unloads them unless another client has them.
    mutating func leave() -> [Order] {
        let threads = way == .absent ? [] : [place?.thread].compactMap(\.self) + thread.subAgents.sorted()
        link.restDue = nil
        way = .absent
        thread.forgetChildren()
        let left = threads.map { Order.request(.aside, "thread/unsubscribe", CodexFrames.thread($0)) }
        guard conversation.isDeleted, place != nil else { return left }
        home = .unknown
        conversation = Conversation()
        return left + [.record(nil)]
    }

    // MARK: Joining

    private mutating func join() -> [Order] {
        guard let place else { return [] }
        way = .joining
        // Peek before our resume loads the thread: only then does its status say whether the prompt's process is alive.
        if ([turn].compactMap(\.self) + behind).contains(where: { $0.state == .doubtful && !$0.wasAccepted }) {
            return [.request(.peek, "thread/read", CodexFrames.thread(place.thread))]
        }
        return resume()
    }

    private func resume() -> [Order] {
        guard let place else { return [] }
        let params = CodexFrames.resume(
            place.thread, settings, folder: place.folder, showsTurn: turn != nil && bearsWhole)
        let resume = Order.request(.resume, "thread/resume", params)
        // A goal on a configured server would begin a turn at once (codex.md#what-moves-without-us).
        guard settings.own == nil else { return [resume] }
        return [.request(.pauseGoal, "thread/goal/set", CodexFrames.pauseGoal(place.thread)), resume]
    }

    private mutating func resumed(_ result: FrameNode, at now: Instant) -> [Order] {
        thread.opened(result, isNew: false)
        let isIdle = result["thread"]?["status"]?["type"]?.holds("active") != true
        link.status = isIdle ? .idle(since: nil) : .active
        link.asksDue = asks.isEmpty && !asks.hasEarlier ? nil : now + CodexTurn.lookAgain
        let isLooking = errands.contains { if case .prompt = $0 { false } else { true } }
        guard turn != nil || isLooking || !isIdle || thread.turn != nil else {
            isFollowed(at: now)
            return advance(at: now)
        }
        way = .listing
        return list()
    }

    mutating func isFollowed(at now: Instant) {
        way = .open
        // Open asks may come again from now on.
        link.asksDue = link.asksDue == nil ? nil : now + CodexTurn.lookAgain
        link.losses = 0
        link.refusals = 0
        link.backOff.succeeded()
    }

    mutating func list() -> [Order] {
        link.pages = 0
        return page(from: nil)
    }

    mutating func page(from cursor: String?) -> [Order] {
        guard let place else { return [] }
        link.pages += 1
        let params = CodexFrames.turns(of: place.thread, isWhole: listsWhole, from: cursor)
        return [.request(.list, "thread/turns/list", params)]
    }

    /// The page requested last has all items of its turns.
    var listsWhole: Bool { link.pages <= Self.wholePages && bearsWhole }
    /// Whole turns are requested until too many connections were lost over them.
    var bearsWhole: Bool { link.losses < Self.lossesOfWhole }

    private mutating func refusedToJoin(_ code: Int, _ message: String, at now: Instant) -> [Order] {
        if CodexRefusal.hasNoThread(message) { return loseHome() + advance(at: now) }
        guard let place else { return [] }
        if CodexRefusal.isArchived(message), link.refusals == 0 {
            link.refusals += 1
            return [.request(.unarchive, "thread/unarchive", CodexFrames.thread(place.thread))]
        }
        let why =
            CodexRefusal.isOwnedElsewhere(message)
            ? "Another program has this chat's thread open (the Codex app, an editor or a terminal); close it there, "
                + "or begin a new chat."
            : "Codex cannot open this chat's thread: \(message)"
        return joinsLater(why, isLost: code != CodexRefusal.overloaded, at: now)
    }

    /// Resumes the thread later, which says whether a turn continues in it. Nothing is written to the thread before.
    private mutating func joinsLater(_ why: String, isLost: Bool, at now: Instant) -> [Order] {
        link.refusals += 1
        var random = SeededGenerator(seed: link.random)
        way = .waiting(until: now + link.backOff.next(using: &random))
        guard link.refusals >= Self.refusalLimit else { return [] }
        link.refusals = 0
        let looks = takeLooks(isLost: isLost).map { Order.observed([$0]) }
        return refusePrompts(why) + looks + (isLost ? failTurns(why) : [])
    }

    /// A refused list leaves the turn running: join again later.
    mutating func listRefused(_ code: Int, _ message: String, at now: Instant) -> [Order] {
        guard way == .listing || way == .open else { return [] }
        if CodexRefusal.hasNoThread(message) { return loseHome() + advance(at: now) }
        if CodexRefusal.isNotLoaded(message), link.refusals == 0 {
            link.refusals += 1
            way = .absent
            return advance(at: now)
        }
        let why = "Codex cannot list this chat's thread: \(message)"
        return joinsLater(why, isLost: code != CodexRefusal.overloaded, at: now)
    }

    /// The thread is not stored, so it never had a turn.
    private mutating func loseHome() -> [Order] {
        link.folder = place?.folder ?? link.folder
        let ended = endForeignTurn()
        if place?.hasTurns == true { conversation.isLost = true }
        home = .unknown
        way = .absent
        thread = CodexThread()
        guard let turn, turn.state == .doubtful, turn.mayBeRepeated, turn.watch.isOfSameServer == true else {
            let note = Order.note("the thread of a chat is gone; its next message begins a new one")
            return ended + [note] + (turn.map { failTurn($0.lossSentence) } ?? [])
        }
        errands.insert(.prompt(turn.prompt), at: 0)
        self.turn = nil
        return ended
    }

    /// `leavesOthers`: another client's turn in the followed thread continues.
    mutating func failTurn(_ why: String, leavesOthers: Bool = false) -> [Order] {
        guard let turn else { return [] }
        let end: RunEvent =
            turn.isStopping
            ? .finished(RunEnd(reason: .aborted)) : .failed(RunFailure(kind: .agentGone, message: why))
        if leavesOthers, let other = thread.turn, other.id != turn.id {
            return say(asks.closeUnasked()) + [observed(end, of: turn.run)] + closeTurn()
        }
        let ended = endForeignTurn()
        thread.abandonTurn()
        return say(asks.closeAll()) + ended + [observed(end, of: turn.run)] + closeTurn()
    }

    mutating func closeTurn() -> [Order] {
        guard let turn else { return [] }
        promptsWords()
        self.turn = nil
        return turn.isStopping ? [.observed([.abortAnswered(turn.run)])] : []
    }

    // MARK: Answers

    mutating func answered(_ request: Request, _ result: FrameNode, at now: Instant) -> [Order] {
        switch request {
        case .start:
            link.silences = 0
            guard home == .making, let id = result["thread"]?["id"]?.string, let folder = link.folder else { return [] }
            thread = CodexThread()
            thread.opened(result, isNew: true)
            way = .open
            let place = CodexPlace(thread: id, folder: folder, hasTurns: false)
            home = .keeping(place)
            return [.keep(place)]
        case .peek:
            guard way == .joining else { return [] }
            let status = result["thread"]?["status"]?["type"]
            areOfSameServer(status != nil && status?.holds("notLoaded") == false)
            return resume()
        case .unarchive: return way == .joining ? resume() : []
        case .resume: return way == .joining ? resumed(result, at: now) : []
        case .list: return listed(result, at: now) + advance(at: now)
        case .items(let turn): return itemsListed(result, of: turn)
        case .turn(let run): return turnAnswered(run, result, at: now)
        // The words' item confirms that Codex took them.
        case .steer:
            turn?.heard(at: now)
            return []
        case .follow(let child, let isStopping): return isFollowed(child, result, isStopping: isStopping, at: now)
        case .childTurns(let child): return childIsListed(child, result, isStopping: false)
        case .cleanUp(let cleanUp, let attempt): return answered(cleanUp, attempt: attempt, result, at: now)
        case .probe:
            turn?.heard(at: now)
            let status = result["thread"]?["status"]?["type"]
            return status?.holds("active") == true ? advance(at: now) : list()
        case .stop(let run): return [.observed([.abortAnswered(run)])]
        case .interrupt, .pauseGoal, .aside: return []
        }
    }

    mutating func refused(_ request: Request, _ code: Int, _ message: String, at now: Instant) -> [Order] {
        switch request {
        case .start:
            home = .unknown
            return refusePrompts("Codex cannot begin a thread: \(message)")
        case .peek where code != CodexRefusal.overloaded:
            areOfSameServer(false)
            return way == .joining ? resume() : []
        case .peek, .unarchive, .resume: return way == .joining ? refusedToJoin(code, message, at: now) : []
        case .list: return listRefused(code, message, at: now)
        case .items: return itemsRefused(code, message, at: now)
        case .turn(let run): return turnRefused(run, code, message, at: now)
        case .steer(let run): return steerRefused(run, at: now)
        case .interrupt(let run):
            interruptsLater(run, at: now + CodexTurn.lookAgain)
            // The turn has ended or another one runs: the list says which.
            return code == CodexRefusal.overloaded ? [] : list()
        case .probe: return list()
        case .stop(let run) where code == CodexRefusal.overloaded: return stopsAgain(run)
        // The turn has ended.
        case .stop(let run): return [.observed([.abortAnswered(run)])]
        case .follow(let child, _):
            return isNotFollowed(child, isLater: code == CodexRefusal.overloaded, at: now)
        case .cleanUp(let cleanUp, let attempt): return refused(cleanUp, attempt: attempt, code, at: now)
        case .pauseGoal, .childTurns, .aside: return []
        }
    }

    /// Handles a request without an answer by its deadline.
    mutating func overdue(_ request: Request, at now: Instant) -> [Order] {
        switch request {
        case .interrupt(let run):
            interruptsLater(run, at: now)
            return []
        case .follow(let child, _): return isNotFollowed(child, isLater: true, at: now)
        case .cleanUp(let cleanUp, let attempt): return isNotDone(cleanUp, attempt: attempt, until: now, at: now)
        case .aside, .childTurns, .pauseGoal: return []
        case .peek, .unarchive, .resume, .list, .items, .steer, .probe: return [.redial(Self.silence)]
        case .start, .turn: return unanswered()
        case .stop(let run): return stopsAgain(run)
        }
    }

    private static let silence = "Codex's server does not answer any more"

    /// Gives up on a server that accepts the handshake and does no work.
    private mutating func unanswered() -> [Order] {
        link.silences += 1
        guard link.silences >= Self.silenceLimit else { return [.redial(Self.silence)] }
        link.silences = 0
        home = home == .making ? .unknown : home
        return refusePrompts("Codex's server does not answer. Try again, or restart it.") + failTurns(Self.silence)
            + [.redial(Self.silence)]
    }

    // MARK: Time

    mutating func timePassed(at now: Instant, random: UInt64) -> [Order] {
        link.random = random
        var orders: [Order] = []
        if case .waiting(let until) = way, until <= now { way = .absent }
        if let due = link.asksDue, due <= now, way == .open { orders += asksAreDue(at: now) }
        if way == .open { orders += endsAgain(at: now) }
        return orders + watch(at: now) + advance(at: now)
    }
}
