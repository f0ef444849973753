import AgentKit
import JSONReading
import Vocabulary

// Frames of the chat's own socket.
extension OppiChat {
    mutating func received(_ root: FrameNode, at now: Instant) -> [Order] {
        turn?.heard(at: now)
        let type = root["type"]?.string ?? ""
        if OppiDecoder.isOfLoop(type, root) { turn?.agentShowsLife(at: now) }
        if type == "stream_connected" {
            guard case .greeting = way else { return [] }
            return subscribe(at: now)
        }
        // An answer carries the requested session, which may differ or be missing.
        let isAnswer = type == "rpc_result" || type == "command_result"
        guard let place, isAnswer || root["sessionId"].map({ $0.equals(place.native) }) ?? true else { return [] }
        var orders: [Order] = []
        switch type {
        case "connected":
            connected(root, at: now)
            noteState(root["session"], at: now)
            levelIs(root["session"])
            return []
        case "rpc_result", "command_result":
            if type == "command_result" { speaksHead() }
            let (isOurs, answer) = answered(root, at: now)
            orders += answer
            if isOurs { return orders + advance(at: now) }
        case "turn_ack": orders += acknowledged(root, at: now)
        case "compaction_start", "compaction_end": prepares(at: now)
        case "stop_confirmed": stopConfirmed(root)
        case "state":
            noteState(root["session"], at: now)
            levelIs(root["session"])
        case "error" where root["seq"] == nil: orders += complained(root["error"]?.string ?? "", at: now)
        case "extension_ui_request":
            // A dialog of another client's run is that client's to answer.
            guard isAtOurRun else { return [] }
            // The server ends no run with an open dialog, so a dialog of a stopping run is cancelled at once.
            if isBehindStop, let id = root["id"]?.string {
                return [.send(OppiFrames.dialog(id, .cancelled, of: place.native))]
            }
            let age = link.age(ofFrame: now)
            switch dialogs.requested(root, age: age, isLive: way == .live, at: link.hostTime(now)) {
            case .asked(let events): return aside(events) + answerEarly(at: now)
            case .known(let questions): return aside(questions.map { .asked($0) })
            case .cancel(let id):
                let method = root["method"]?.string ?? "?"
                return [
                    .send(OppiFrames.dialog(id, .cancelled, of: place.native)),
                    .note("a dialog (\(method)) cannot be shown"),
                ]
            case .twoAtOnce: return endOfTwoAsks(at: now)
            case nil: return []
            }
        // Another client answered, or the tool failed: no other frame reports either.
        case "tool_end" where root["tool"]?.holds("ask") == true: orders += aside(dialogs.takeAsks())
        default: break
        }
        if let gap = gap(before: root, at: now) { return orders + gap }
        orders += heard(decoder?.received(root, at: now) ?? [], at: now)
        if type == "session_ended" { orders += sessionEnded(at: now) }
        return orders + advance(at: now)
    }

    /// Requests missing frames before a frame that skips numbers or has an invalid one; that frame
    /// comes again after them. Nil if this frame is the next one or has no number.
    private mutating func gap(before root: FrameNode, at now: Instant) -> [Order]? {
        guard let number = root["seq"], let decoder else { return nil }
        if let sequence = number.integer(in: .counts), sequence <= decoder.lastSequence + 1 { return nil }
        switch way {
        case .live: return [.note("frames of a session are missing; they are asked for")] + subscribe(at: now)
        case .subscribing(isAnswered: false): return []
        case .subscribing(isAnswered: true):
            if turn?.isTaken == true { turn?.look.isTorn = true }
            return nil
        case .absent, .asking, .dialling, .greeting, .waiting: return []
        }
    }

    // MARK: Answers

    /// Settles the request that the frame answers. `isOurs` is false if the decoder must read the frame too.
    private mutating func answered(_ root: FrameNode, at now: Instant) -> (isOurs: Bool, [Order]) {
        guard let request = root["requestId"]?.string.flatMap({ requests.answered($0) }) else { return (false, []) }
        let isDone = root["success"]?.flag == true
        let error = root["error"]?.string ?? "no reason given"
        switch request {
        case .subscribe:
            return (true, isDone ? subscribed(root["data"], at: now) : notSubscribed(error, at: now))
        case .leave, .renew: return (true, [])
        case .prompt(let run):
            guard turn?.run == run, !isDone else { return (false, []) }
            if error.hasPrefix("clientTurnId conflict") {
                // The server has this prompt with other words or as another command: it is never sent again.
                let taken = isAnothers(at: now)
                return (true, turn?.run == run ? taken + look(at: now) : taken)
            }
            if error.hasPrefix("Follow-up requires") {
                // The run that the message should follow has ended.
                link.isBusy = false
                self.turn?.waits = nil
                self.turn?.state = .held
                return (true, [])
            }
            guard error.hasPrefix("Session not active"), let turn, turn.tries < Self.promptTries else {
                return (false, [])
            }
            self.turn?.state = .held
            return (true, subscribe(at: now))
        case .steer(let run, let into):
            return (true, steered(run, into, isTaken: isDone, at: now))
        case .dialog(let id, let answer): return (true, aside(dialogs.taken(id, answer)))
        case .stop(let run):
            if !isDone, turn?.run == run { turn?.stop = .asked(until: now + OppiTurn.lookAgain) }
            return (true, [])
        case .queue(let run): return (true, queueAnswered(run, root["data"], isDone: isDone, at: now))
        case .unqueue(let run): return (true, queueEmptied(run, isDone: isDone, at: now))
        case .abortRetry(let run): return (true, retryAborted(run, isDone: isDone, at: now))
        case .model(let run, let choice): return (true, modelAnswered(run, choice, isDone: isDone, error))
        case .level(let run, let choice, let word):
            return (true, levelAnswered(run, choice, word, isDone: isDone, error))
        }
    }

    private mutating func steered(_ run: RunID, _ into: RunID, isTaken: Bool, at now: Instant) -> [Order] {
        guard let index = waiting.firstIndex(where: { $0.run == run }) else {
            // The run ended meanwhile, and the message is a turn of its own.
            guard turn?.run == run, turn?.state == .doubtful else { return [] }
            if isTaken { return accept() }
            takesBackSteer(run)
            turn?.state = .held
            return []
        }
        guard isTaken, turn?.run == into else {
            // The run is ending: the message is sent afterwards.
            if !isTaken { takesBackSteer(run) }
            waiting[index].isSteering = false
            waiting[index].mayHaveLeft = isTaken
            waiting[index].comesAfter = true
            if let turn, turn.run == into { self.turn?.look.due = turn.look.due ?? now + OppiTurn.lookAgain }
            return []
        }
        waiting.remove(at: index)
        return [.observed([.sendAnswered(asked: run, .accepted(run: into))])]
    }

    private mutating func takesBackSteer(_ run: RunID) {
        asked.steers.remove(run)
        decoder?.steersNot(run)
    }

    private mutating func acknowledged(_ root: FrameNode, at now: Instant) -> [Order] {
        guard let turn, root["clientTurnId"]?.equals(turn.run.text) == true,
            root["stage"]?.holds("accepted") != true || root["duplicate"]?.flag == true
        else { return [] }
        // A message sent as a follow-up is named `started` at some later loop.
        if root["stage"]?.holds("started") == true, root["command"]?.holds("prompt") == true {
            decoder?.starts(turn.run)
        }
        // Acknowledgements reach every client of the session.
        let isOfOurs = root["requestId"]?.string.map { requests.isOpen($0, for: .prompt(turn.run)) } ?? false
        let isKnown = turn.tries == 0 || isOfOurs && root["duplicate"]?.flag == true
        return isKnown ? isAnothers(at: now) : accept()
    }

    /// The server had the prompt before its first write here, so another bridge wrote it. At a later write it may be ours.
    private mutating func isAnothers(at now: Instant) -> [Order] {
        let taken = accept()
        guard let turn, turn.tries <= 1, !turn.isAdopted else { return taken }
        self.turn?.isAnothers = true
        return turn.isStopping && turn.stopReach == .ownRuns ? taken + leaveToAnother(at: now) : taken
    }

    /// The run continues for the bridge that wrote its prompt; this bridge's turn ends.
    mutating func leaveToAnother(at now: Instant) -> [Order] {
        guard let turn else { return [] }
        decoder?.abandon(turn.run)
        let answered = turn.isStopping ? [] : [Order.observed([.abortAnswered(turn.run)])]
        return closeTurn() + answered + advance(at: now)
    }

    /// The server has the prompt.
    mutating func accept() -> [Order] {
        guard let turn, !turn.isTaken else { return [] }
        self.turn?.state = .accepted
        return [.observed([.sendAnswered(asked: turn.run, .accepted(run: turn.run))])]
    }

    /// An error about a frame of ours. The seed dialect sends nothing else.
    private mutating func complained(_ error: String, at now: Instant) -> [Order] {
        if let place, ["Session not found", "Session not found: \(place.native)"].contains(error) {
            return sessionIsGone(at: now)
        }
        let dialog = "UI request not found: "
        if error.hasPrefix(dialog) { return aside(dialogs.refused(String(error.dropFirst(dialog.count)))) }
        // The server lowered this socket's level without a frame (oppi.md#level-rules).
        guard error.contains("not subscribed"), way == .live else { return [.note("the server complained: \(error)")] }
        if turn?.state == .written { turn?.state = .held }
        if case .asked = turn?.stop { turn?.stop = .due }
        return subscribe(at: now)
    }

    private mutating func noteState(_ state: FrameNode?, at now: Instant) {
        guard let place, let state, state["id"]?.equals(place.native) == true else { return }
        let status = state["status"]?.string ?? ""
        model.current = state["model"]?.string ?? model.current
        link.isBusy = ["busy", "stopping", "starting"].contains(status)
        link.isStopping = status == "stopping"
        guard let turn, turn.isTaken, way == .live, decoder?.isHolding == false else { return }
        if link.isBusy {
            if turn.look.found == nil, !turn.look.isEmpty { self.turn?.look.due = nil }
            return
        }
        // The run should be at work: its frames are on their way, or its end was lost.
        guard !mayYetBegin(turn, at: now), turn.look.due == nil else { return }
        // Between two attempts a session is idle too.
        self.turn?.look.due = max(now + OppiTurn.lookAgain, decoder?.retryUntil ?? now)
    }

    private mutating func sessionEnded(at now: Instant) -> [Order] {
        let open = aside(dialogs.takeAll())
        guard hasSocket else { return open }
        leaveSocket()
        way = .absent
        return [.close(reason: "the session has ended")] + open
    }

    // MARK: Observations

    /// Passes on the decoder's observations, and follows our run by them.
    mutating func heard(_ observations: [Observation], at now: Instant) -> [Order] {
        var orders: [Order] = []
        var said: [Observation] = []
        for observation in observations {
            guard let turn, concerns(turn, observation) else {
                said.append(observation)
                continue
            }
            switch observation {
            case .sendAnswered(_, .accepted):
                if !turn.isTaken { said.append(observation) }
                if !turn.isTaken { self.turn?.state = .accepted }
            case .sendAnswered:
                said.append(observation)
                decoder?.abandon(turn.run)
                orders += closeTurn()
            case .signal(let signal): follow(signal, of: turn, &said, &orders, at: now)
            default: said.append(observation)
            }
        }
        // The chat's own stream reports the end of that run like any other.
        if link.others != decoder?.runningRun { link.others = nil }
        return (said.isEmpty ? [] : [.observed(said)]) + orders
    }

    private func concerns(_ turn: OppiTurn, _ observation: Observation) -> Bool {
        switch observation {
        case .sendAnswered(let run, _): run == turn.run
        case .signal(let signal): signal.run == turn.run
        default: false
        }
    }

    private mutating func follow(
        _ signal: RunSignal, of turn: OppiTurn, _ said: inout [Observation], _ orders: inout [Order], at now: Instant
    ) {
        let observation = Observation.signal(signal)
        self.turn?.look.heldEnd = nil
        switch signal.event {
        case .started, .finished, .failed: self.turn?.look.isLooping = false
        default: break
        }
        switch signal.event {
        case .started:
            if !turn.isTaken { said.append(.sendAnswered(asked: turn.run, .accepted(run: turn.run))) }
            self.turn?.state = .going
            self.turn?.hasAbortedRetry = false
            self.turn?.look.told = nil
            asked.hasBegun(turn.run)
            said.append(observation)
            orders += listLeft()
        case .finished(let end) where turn.look.isTorn && !turn.isStopping && end.reason != .aborted:
            self.turn?.look.end = end
            self.turn?.look.isOutdated = turn.look.isUnderWay
            orders += look(at: now)
        case .finished, .failed:
            // Dialogs end with their run.
            said += dialogs.takeAll().map { self.signal($0, of: turn.run) }
            said.append(observation)
            orders += closeTurn()
        case .text(let change) where turn.look.isUnderWay && turn.look.isTorn:
            if case .segmentEnded(let text?) = change, !text.isEmpty { self.turn?.look.lastText = text }
        case .text, .tool, .approvalRequested, .approvalSettled, .asked, .questionSettled, .paused, .retrying, .alive:
            said.append(observation)
        }
    }

    private mutating func speaksHead() {
        link.isHead = true
        decoder?.isHead = true
    }

    func signal(_ event: RunEvent, of run: RunID?) -> Observation {
        .signal(RunSignal(run: run, session: session, event: event))
    }

    /// Cancels dialogs whose time has run out on this bridge's clock, so that the agent stops waiting for them.
    func cancel(_ dialogs: [String]) -> [Order] {
        guard way == .live, let place else { return [] }
        return dialogs.map { .send(OppiFrames.dialog($0, .cancelled, of: place.native)) }
    }

    /// Signals of the current run, or of the session alone if none is at work.
    func aside(_ events: [RunEvent]) -> [Order] {
        events.isEmpty ? [] : [.observed(events.map { signal($0, of: decoder?.runningRun) })]
    }

    // MARK: Runs of other clients

    /// The chat is followed only at the `notifications` level, which has no text of a run.
    private var isFollowed: Bool { turn == nil && waiting.isEmpty && !hasSocket && place != nil }

    /// Another client's run ended without its text. No notification announces a retry, and in the
    /// seed dialect none reports a failure (oppi.md#retries-compaction-queue).
    mutating func endedElsewhere(_ sequence: Int, hasFailed: Bool, at now: Instant) -> [Order] {
        guard isFollowed else { return [] }
        if !hasFailed, link.isHead { return [mirror(from: sequence)] }
        link.othersLook.due = now + (hasFailed ? OppiHeld.limitUnheard : OppiHeld.limitOfWellUnheard)
        link.othersLook.end = sequence
        return []
    }

    /// A loop began: the end before it was that of an attempt.
    mutating func beganElsewhere() {
        if link.othersLook.end != nil { (link.othersLook.due, link.othersLook.end) = (nil, nil) }
    }

    /// The session of another client's visible run has ended.
    mutating func othersAreOver() -> [Order] {
        guard link.others != nil, !hasSocket else { return [] }
        link.othersAreOver = true
        return [mirror(from: decoder?.lastSequence ?? 0)]
    }

    /// Requests the history for the end of another client's run.
    mutating func mirror(from sequence: Int) -> Order {
        (link.othersLook.due, link.othersLook.end) = (nil, nil)
        return .call(.mirror(sequence: sequence, others: link.others))
    }

    /// `others`: the run that the request was about. An answer about a run that ended meanwhile does not concern the next one.
    mutating func mirrored(
        _ answer: OppiRest.Answer, _ sequence: Int, of others: RunID?, at now: Instant
    ) -> [Order] {
        guard others == link.others else { return [] }
        if let run = link.others { return endOthers(run, answer, at: now) }
        // A session at work again will report its end.
        guard turn == nil, let trace = OppiTrace(answer.body), !trace.isBusy else { return [] }
        let text = trace.newestAnswer.text
        guard !text.isEmpty else { return [] }
        let run = RunID("\(session)-\(mark)-end-\(sequence)")
        return [
            .observed([
                signal(.started, of: run), signal(.text(.segmentEnded(text)), of: run),
                signal(.finished(RunEnd(text: text)), of: run),
            ])
        ]
    }

    /// Looks again when no other attempt began in time, or when the server failed to answer the last look.
    mutating func looksAgainForOthers(at now: Instant) -> [Order] {
        guard let due = link.othersLook.due, due <= now else { return [] }
        let end = link.othersLook.end
        (link.othersLook.due, link.othersLook.end) = (nil, nil)
        guard link.others != nil || isFollowed else { return [] }
        return [mirror(from: end ?? decoder?.lastSequence ?? 0)]
    }

    private mutating func endOthers(_ run: RunID, _ answer: OppiRest.Answer, at now: Instant) -> [Order] {
        let trace = OppiTrace(answer.body)
        if trace == nil, !answer.isGone, link.othersLook.backOff.failures < Self.othersTries {
            link.othersLook.due = now + link.othersLook.backOff.next()
            return []
        }
        link.othersLook = OthersLook()
        // A notification will report the run's end.
        if trace?.isBusy == true, !link.othersAreOver { return [] }
        link.others = nil
        decoder?.abandon(run)
        let text = trace?.newestAnswer.text ?? ""
        let end: RunEvent =
            trace == nil
            ? .failed(gone("its stream was lost")) : .finished(RunEnd(text: text.isEmpty ? nil : text))
        return [.observed([signal(end, of: run)])] + leaveIfEnding()
    }
}
