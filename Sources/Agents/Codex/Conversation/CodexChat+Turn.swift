import AgentKit
import JSONReading
import Vocabulary

// The turn, from its prompt to its end.
extension CodexChat {
    /// Writes the next request to a followed thread.
    mutating func work(at now: Instant) -> [Order] {
        guard let place else { return [] }
        if errands.contains(where: { if case .prompt = $0 { false } else { true } }) {
            way = .listing
            return list()
        }
        if let stopping = stops(at: now) { return stopping }
        if let steering = steers() { return steering }
        guard turn == nil, isFree, !frames.holdsBackPrompts, case .prompt(let prompt)? = errands.first else {
            return []
        }
        if prompt.level != .unchanged, link.efforts == nil { return [.efforts] }
        errands.removeFirst()
        turn = CodexTurn(prompt, .written, at: now)
        if let model = prompt.model { thread.uses(model: model) }
        var said: [Order] = conversation.isLost ? [.observed([.conversationLost(prompt.run)])] : []
        conversation.isLost = false
        let effort = effort(of: prompt)
        if let answer = effort?.answer { said.append(.observed([.levelAnswered(prompt.run, prompt.level, answer)])) }
        let params = CodexFrames.turn(place.thread, prompt, effort: effort?.effort)
        return said + [.request(.turn(prompt.run), "turn/start", params)]
    }

    /// The thread keeps this effort for later turns (codex.md#methods).
    private mutating func effort(of prompt: CodexPrompt) -> (effort: String?, answer: LevelAnswer)? {
        let efforts = link.efforts ?? CodexEfforts()
        guard let found = efforts.effort(for: prompt.level, model: thread.model, before: thread.effort) else {
            return nil
        }
        thread.effort = found.effort ?? thread.effort
        return found
    }

    // MARK: The prompt's answer

    mutating func turnAnswered(_ run: RunID, _ result: FrameNode, at now: Instant) -> [Order] {
        guard turn?.run == run, let id = result["turn"]?["id"]?.string else { return [] }
        link.tries = 0
        link.silences = 0
        turn?.heard(at: now)
        turn?.wasAccepted = true
        // The message's item may come before this answer.
        guard turn?.state != .going else { return advance(at: now) }
        turn?.id = id
        turn?.state = .accepted
        // Codex reads the pictures before the message is an item of the turn, and the bridge deletes them on acceptance: wait for
        // the item.
        let isRead = turn?.prompt.images.isEmpty == true
        let hasBegun = thread.turn?.id == id && !isTakenIn
        return (isRead ? accept() : []) + (hasBegun ? goesOn() : []) + advance(at: now)
    }

    mutating func accept() -> [Order] {
        guard let turn, !turn.isReported else { return [] }
        self.turn?.isReported = true
        return [.observed([.sendAnswered(asked: turn.run, .accepted(run: turn.run))])]
    }

    mutating func turnRefused(_ run: RunID, _ code: Int, _ message: String, at now: Instant) -> [Order] {
        guard let turn, turn.run == run else { return [] }
        let isLater = code == CodexRefusal.overloaded || CodexRefusal.isNotLoaded(message)
        self.turn = nil
        guard isLater, link.tries < 3, !turn.isStopping else {
            link.tries = 0
            let answer = Order.observed([.sendAnswered(asked: run, .refused(message: message))])
            return [answer] + (turn.isStopping ? [.observed([.abortAnswered(run)])] : []) + advance(at: now)
        }
        // Codex took nothing of the prompt.
        link.tries += 1
        errands.insert(.prompt(turn.prompt), at: 0)
        guard code == CodexRefusal.overloaded else {
            way = .absent
            return advance(at: now)
        }
        var random = SeededGenerator(seed: link.random)
        way = .waiting(until: now + link.backOff.next(using: &random))
        return []
    }

    // MARK: The list of turns

    /// Reads one page: a missing turn may be on the next.
    mutating func listed(_ result: FrameNode, at now: Instant) -> [Order] {
        guard way == .listing || way == .open else { return [] }
        let turns = result["data"]?.elements ?? []
        followsWaiting(in: turns, at: now)
        if let orders = readsItems(turns) { return orders }
        let next = link.pages < Self.pageLimit ? result["nextCursor"]?.string : nil
        var isComplete = turn.map { find($0, in: turns) != nil } ?? true
        var orders = isComplete || next == nil ? find(in: turns, at: now) : []
        var missing: [Errand] = []
        for errand in errands {
            let listed = turns.first {
                CodexThread.labels(of: $0).contains(errand.run) || Self.run(of: $0) == errand.run
            }
            switch errand {
            case .prompt: missing.append(errand)
            case .lookUp(let run):
                let found = found(run, listed)
                if case .unknown = found, next != nil {
                    missing.append(errand)
                    isComplete = false
                } else {
                    orders.append(.observed([.lookedUp(run, found)]))
                }
            case .abort(let run, let reach):
                if listed == nil, next != nil {
                    missing.append(errand)
                    isComplete = false
                } else {
                    orders += stop(run, reach, listed, at: now)
                }
            }
        }
        errands = missing
        if link.pages == 1 { orders += noticeOthers(in: turns) }
        guard !isComplete, let next else {
            isFollowed(at: now)
            return orders
        }
        way = .listing
        return orders + page(from: next)
    }

    private func found(_ run: RunID, _ listed: FrameNode?) -> RunLookup {
        known(run) ?? listed.map { CodexThread.found($0, of: run) } ?? .unknown
    }

    /// State of a run that will end by itself: a waiting message, or a turn that is followed or searched.
    func known(_ run: RunID) -> RunLookup? {
        if isWaiting(run) || turn?.words?.run == run { return .waits }
        let turn = turn?.run == run ? turn : behind.first { $0.run == run }
        return turn.map { $0.wasAccepted ? .running(text: nil) : .waits }
    }

    func isWaiting(_ run: RunID) -> Bool { errands.contains { $0.prompt?.run == run } }

    func find(_ turn: CodexTurn, in turns: [FrameNode]) -> FrameNode? {
        turns.first { node in
            if let id = turn.id {
                node["id"]?.equals(id) == true
            } else {
                CodexThread.labels(of: node).contains(turn.run)
            }
        }
    }

    private mutating func find(in turns: [FrameNode], at now: Instant) -> [Order] {
        guard let turn else { return [] }
        guard let listed = find(turn, in: turns), let id = listed["id"]?.string else { return notFound(turn, at: now) }
        self.turn?.id = id
        self.turn?.watch.emptyLooks = 0
        self.turn?.watch.lookDue = nil
        looksNoMore()
        self.turn?.heard(at: now)
        var orders: [Order] = []
        if !turn.wasAccepted || !turn.prompt.images.isEmpty { orders += accept() }
        self.turn?.wasAccepted = true
        let other = thread.turn?.id == id ? turn.watch.other : thread.turn?.id
        self.turn?.watch.items = .unread
        self.turn?.watch.other = nil
        let isOver = listed["status"]?.holds("inProgress") != true
        if !isOver, other != nil { orders += endForeignTurn() }
        thread.begins(turn: id, isAdopted: turn.isAdopted)
        // A list in short has the turn's first message alone.
        let labels = CodexThread.labels(of: listed)
        orders += recognize(listsWhole ? labels : labels.filter { $0 == turn.run })
        if !isOver, !isTakenIn { self.turn?.state = .going }
        let isLeft = isStopping && isOver
        let calls = isLeft ? openCalls : nil
        let (run, isLeftOut) = (owner, isOver && isTakenIn)
        let own = place?.thread
        orders += say((listed["items"]?.elements ?? []).flatMap { asks.ended($0, in: id, thread: own) }, of: run)
        let caughtUp = thread.caughtUp(listed, of: turn.run, lacksItems: turn.watch.items == .refused)
        orders += heard(caughtUp, of: run) + cleanUp(calls, isFound: true)
        if isLeftOut { orders += endLeftOut() }
        // Another client's turn began behind ours and continues.
        if let other, thread.turn == nil { thread.begins(turn: other) }
        // These messages left once the turn before them had ended in the earlier process.
        if CodexThread.isCutOff(listed) || listed["status"]?.holds("inProgress") == true { orders += sendBehind() }
        return orders
            + (isLeft ? [] : followChildren(isStopping: isStopping))
    }

    private mutating func notFound(_ turn: CodexTurn, at now: Instant) -> [Order] {
        // The prompt's answer decides, or its deadline: a slow server may still begin the turn.
        guard turn.state != .written else { return [] }
        // The prompt may still be on its way, and the list a moment behind.
        guard turn.watch.emptyLooks >= 2 else {
            self.turn?.watch.emptyLooks += 1
            self.turn?.watch.lookDue = now + CodexTurn.lookAgain
            return []
        }
        guard turn.mayBeRepeated, turn.watch.isOfSameServer == true else {
            return failTurn(turn.lossSentence, leavesOthers: link.status == .active)
        }
        let behind = sendBehind()
        errands.insert(.prompt(turn.prompt), at: 0)
        self.turn = nil
        return behind
    }

    // MARK: Frames

    mutating func notified(_ method: String, _ params: FrameNode, at now: Instant) -> [Order] {
        let id = params["threadId"]?.string ?? ""
        guard has(id) else { return [] }
        heard(at: now)
        let message = place?.thread == id ? self.message(params, at: now) : []
        let run = owner
        switch method {
        case "thread/status/changed" where place?.thread == id: statusChanged(params["status"], at: now)
        case "thread/closed" where place?.thread == id:
            way = .absent
            return advance(at: now)
        case "turn/started" where place?.thread == id: return begins(params["turn"]?["id"]?.string ?? "", at: now)
        case "turn/completed" where place?.thread == id:
            let calls = isStopping && turn?.id == thread.turn?.id ? openCalls : nil
            let wasTakenIn = isTakenIn
            let said = heard(thread.read(method, params, thread: id), of: run) + cleanUp(calls)
            return said + (wasTakenIn && thread.turn == nil ? endLeftOut() : []) + advance(at: now)
        case "turn/started", "turn/completed":
            // A sub-agent's turn: its asks need an answer, and nothing else does.
            return heard(thread.read(method, params, thread: id), of: run) + advance(at: now)
        default: break
        }
        let turn = params["turnId"]?.string
        let ended = method == "item/completed" ? params["item"] : nil
        let settled = say(ended.map { asks.ended($0, in: turn, thread: id) } ?? [], of: run)
        let events = thread.read(method, params, thread: id)
        let said = message + settled + heard(events, of: run) + changed(method, params, of: run)
        if method == "error" { return said + retries(params, thread: id, run) }
        return said + (events.isEmpty ? alive(params, thread: id, run, at: now) : [])
    }

    /// A patch may change while its ask waits for a person.
    private mutating func changed(_ method: String, _ params: FrameNode, of run: RunID?) -> [Order] {
        guard method == "item/started" || method == "item/fileChange/patchUpdated",
            let item = params["item"]?["id"]?.string ?? params["itemId"]?.string
        else { return [] }
        let said = asks.changed(
            thread.change(of: params), of: item, in: params["turnId"]?.string, thread: params["threadId"]?.string,
            isStopping: isStopping)
        return say(said, of: run)
    }

    private mutating func statusChanged(_ status: FrameNode?, at now: Instant) {
        let isIdle = status?["type"]?.holds("idle") == true || status?["type"]?.holds("systemError") == true
        let isActive = status?["type"]?.holds("active") == true
        link.status = isActive ? .active : .idle(since: isIdle && thread.turn != nil ? now : nil)
    }

    /// Stops waiting for the end of the thread's turn.
    private mutating func looksNoMore() {
        if link.status != .active { link.status = .idle(since: nil) }
    }

    private mutating func begins(_ id: String, at now: Instant) -> [Order] {
        link.status = .active
        guard thread.turn?.id != id else { return [] }
        // A thread has one turn at a time: ours has ended, and its end was lost.
        let isOver = turn?.id != nil && turn?.id == thread.turn?.id
        let ended = endForeignTurn()
        thread.begins(turn: id)
        return ended + reportBeginning(of: id) + (isOver ? list() : []) + advance(at: now)
    }

    /// Forwards the events of the thread's frames, and moves the turn by them.
    mutating func heard(_ events: [RunEvent], of run: RunID?) -> [Order] {
        var orders: [Order] = []
        let id = place?.thread
        let isShown = run != nil
        if !events.isEmpty, isShown, run != turn?.run { thread.isReported() }
        for event in events {
            switch event {
            case .finished, .failed:
                looksNoMore()
                // Close the asks before the end that closes the bubble.
                orders += say(asks.closeAll(besides: id), of: run)
                if run == turn?.run, turn?.id != nil { orders += accept() }
                if isShown { orders.append(observed(event, of: run)) }
                if run == turn?.run { orders += closeTurn() }
            default: if isShown { orders.append(observed(event, of: run)) }
            }
        }
        return orders
    }

    /// A request that a person answers.
    mutating func requested(_ id: JSONText, _ method: String, _ params: FrameNode, at now: Instant) -> [Order] {
        turn?.heard(at: now)
        let child = params["threadId"]?.string.flatMap { thread.children[$0]?.name }
        let change = thread.change(of: params)
        let call = thread.call(of: params)
        guard let ask = CodexAsk(method, params, as: id, agent: child, change: change, call: call) else { return [] }
        // A sub-agent that outlives the turn has no bubble for its asks, and would wait without limit: refuse them.
        guard isBusy, !ignoresStop else {
            return say(CodexOpenAsks.refusal(of: ask, as: id, isStopping: ignoresStop))
        }
        return say(asks.asked(ask, as: id, isStopping: isStopping))
    }

    mutating func resolved(_ id: JSONText, at now: Instant) -> [Order] {
        let said = say(asks.resolved(id, isOver: thread.turn == nil))
        // Another client answered: the end of the call shows the decision.
        if asks.hasUnasked { link.asksDue = link.asksDue ?? now + CodexTurn.lookAgain }
        return said + advance(at: now)
    }

    // MARK: Time

    mutating func watch(at now: Instant) -> [Order] {
        if way == .open, let idle = link.status.idleSince, idle + CodexTurn.idlePatience <= now {
            looksNoMore()
            return list()
        }
        if way == .open, let due = link.watchDue, due <= now, let place {
            link.watchDue = nil
            return [.request(.probe, "thread/read", CodexFrames.thread(place.thread))]
        }
        guard let turn else { return rest(at: now) }
        if case .asked(let until) = turn.stop, until <= now { return ignoredStop() }
        guard way == .open else { return [] }
        if let due = turn.watch.lookDue, due <= now {
            self.turn?.watch.lookDue = nil
            return list()
        }
        if let due = turn.watch.interruptDue, due <= now { return interruptsAgain(at: now) }
        if case .due(let until) = turn.stop, until <= now, turn.state != .going {
            self.turn?.stop = .due(until: now + CodexTurn.startPatience)
            return list()
        }
        if let silence, turn.watch.lastHeard + silence <= now, let place {
            self.turn?.heard(at: now)
            return [.request(.probe, "thread/read", CodexFrames.thread(place.thread))]
        }
        return []
    }

    mutating func heard(at now: Instant) {
        turn?.heard(at: now)
        if link.watchDue != nil { link.watchDue = now + CodexTurn.silence }
    }

    private mutating func rest(at now: Instant) -> [Order] {
        guard mayRest, let due = link.restDue, due <= now else { return [] }
        return leave()
    }
}
