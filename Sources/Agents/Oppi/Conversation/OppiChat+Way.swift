import AgentKit
import JSONReading
import Vocabulary

// The next step of a chat, and the life of its own socket.
extension OppiChat {
    // MARK: What is next

    mutating func advance(at now: Instant) -> [Order] {
        guard link.isUp else { return [] }
        var orders: [Order] = []
        if turn == nil, !waiting.isEmpty {
            let next = waiting.removeFirst()
            turn = OppiTurn(next.run, next.prompt, next.mayHaveLeft ? .doubtful : .held, at: now)
        }
        orders += answerWish() + answerDialogs(at: now)
        guard let turn else { return orders + rest(at: now) }
        link.idleSince = nil
        if turn.isStopping, turn.state == .held {
            decoder?.abandon(turn.run)
            return orders + closeTurn() + advance(at: now)
        }
        switch home {
        case .unknown where turn.state != .held:
            return orders + settle(.failed(gone("the bridge does not know its session")), at: now)
        case .unknown:
            guard link.homeDue.map({ $0 <= now }) ?? true else { return orders }
            home = .making
            return orders + [.call(.makeSession)]
        case .making, .keeping: return orders
        case .kept(var place):
            if let steer = nextSteer, place.steer != steer {
                let text = waiting.first { $0.run == steer }?.prompt.frameText ?? ""
                asked.steers.add(steer, text, into: turn.run)
                place.steer = steer
                place.marks = asked.steers.marks(in: turn.run)
                home = .keeping(place)
                return orders + [.keep(place)]
            }
            guard turn.state == .held, place.run != turn.run else { break }
            asked.steers.remove(turn.run)
            asked.steers.move(decoder?.unheard ?? [], to: turn.run)
            place.run = turn.run
            place.steer = nil
            place.marks = asked.steers.marks(in: turn.run)
            place.sentAt = serverMilliseconds(now)
            asked.wasWritten(turn.run, at: place.sentAt)
            home = .keeping(place)
            return orders + [.keep(place)]
        }
        switch way {
        case .absent where turn.look.isUnderWay || turn.look.due != nil || turn.look.found != nil: return orders
        case .absent where turn.state == .held: return link.givesPlace ? orders : orders + dial(at: now)
        case .absent:
            way = .asking
            return orders + [.call(.events(since: decoder?.lastSequence ?? 0))]
        case .live: return orders + speak(at: now)
        case .asking, .dialling, .greeting, .subscribing, .waiting: return orders
        }
    }

    private mutating func answerDialogs(at now: Instant) -> [Order] {
        var orders: [Order] = []
        if way == .live || turn == nil {
            // Dialogs that the subscription did not show again have ended.
            orders += aside(dialogs.takeEarly().map { .questionSettled(QuestionSettlement(id: $0.question, .unknown)) })
        }
        guard way == .live, let place else { return orders }
        return orders
            + dialogs.takeAnswers(holdsAsks: !link.asksFirst.isEmpty, at: link.hostTime(now)).flatMap {
                id, answer -> [Order] in
                // The server reads frames in order: if it answers this request without a complaint about
                // the dialog, the dialog was answered (oppi.md#opening-a-connection).
                let barrier = requests.add(.dialog(id, answer), for: Self.commandLimit, at: now)
                return [
                    .send(OppiFrames.dialog(id, answer, of: place.native)),
                    .send(OppiFrames.unsubscribe("none", barrier)),
                ]
            }
    }

    private mutating func rest(at now: Instant) -> [Order] {
        if way == .asking { way = .absent }
        if link.ending != nil { return leaveIfEnding() }
        // Another client's run is followed to its end.
        if way == .live { link.idleSince = decoder?.isRunning == true ? nil : link.idleSince ?? now }
        return []
    }

    func serverMilliseconds(_ now: Instant) -> Int64 { (link.hostTime(now) - link.epoch).nanoseconds / 1_000_000 }

    /// The next frame on a socket that follows the session.
    private mutating func speak(at now: Instant) -> [Order] {
        guard let turn, let place else { return [] }
        if turn.look.isUnderWay { return [] }
        if turn.state == .held { return write(turn, place, at: now) }
        if turn.state == .doubtful, turn.look.due == nil { return look(at: now) }
        // This run was taken up again only to be stopped.
        if turn.isStopping, turn.isAdopted, turn.state == .accepted, !turn.look.isTorn, turn.look.due == nil {
            return look(at: now)
        }
        // Before the run has begun, a stop would end another client's run or nothing, so it stays due.
        if turn.stop == .due, turn.state == .going { return writeStop(of: turn, place, at: now) }
        guard let steer = nextSteer, place.steer == steer, let index = waiting.firstIndex(where: { $0.run == steer })
        else { return loadNext() }
        let message = waiting[index]
        // The decoder has noted a message that is written again.
        if !message.mayHaveLeft { decoder?.steers(steer, message.prompt.frameText) }
        waiting[index].isSteering = true
        waiting[index].mayHaveLeft = true
        asked.wasWritten(steer, at: asked[steer]?.sentAt ?? serverMilliseconds(now))
        let time = message.prompt.frameTime
        let id = requests.add(.steer(steer, into: turn.run), for: Self.commandLimit + time, at: now)
        self.turn?.isSilent(until: now + time)
        return [
            .send(OppiFrames.say(.steer, message.prompt, turn: steer.text, to: place.native, id))
        ]
    }

    /// Messages join the run one after another: each is stored before it is sent, and its files are read before that.
    private var nextSteer: RunID? { mayBeNext.flatMap { $0.prompt.isReady ? $0.run : nil } }

    private var mayBeNext: Waiting? {
        guard way == .live, let turn, turn.state == .going, !turn.isStopping, !turn.look.isUnderWay,
            decoder?.isBetweenAttempts != true, let next = waiting.first, !next.isSteering, !next.comesAfter
        else { return nil }
        return next
    }

    private func loadNext() -> [Order] {
        guard let next = mayBeNext, !next.prompt.isReady else { return [] }
        return [.load(next.run, next.prompt.pictures)]
    }

    private mutating func write(_ turn: OppiTurn, _ place: OppiPlace, at now: Instant) -> [Order] {
        var (said, mayGo) = choose(turn.prompt.model, for: turn.run, in: place, at: now)
        guard mayGo else { return said }
        let (saidOfLevel, isLevelSet) = choose(turn.prompt.level, for: turn.run, in: place, at: now)
        said += saidOfLevel
        guard isLevelSet else { return said }
        guard turn.prompt.isReady else { return said + [.load(turn.run, turn.prompt.pictures)] }
        // A run that is being stopped takes no message; it ends in a moment.
        guard !link.isStopping else { return said }
        let id = requests.add(.prompt(turn.run), for: Self.commandLimit + turn.prompt.frameTime, at: now)
        // The same words and command each time, or the server refuses the id as a conflict.
        let waits = turn.waits ?? link.isBusy
        self.turn?.waits = waits
        self.turn?.state = .written
        self.turn?.writtenAt = turn.writtenAt ?? link.hostTime(now)
        self.turn?.tries += 1
        self.turn?.heard(at: now)
        decoder?.willBegin(turn.run, turn.prompt.frameText, waits: waits, request: id)
        let frame = OppiFrames.say(
            waits ? .followUp : .prompt, turn.prompt, turn: turn.run.text, to: place.native, id)
        return said + [.send(frame)]
    }

    // MARK: The socket

    mutating func dial(at now: Instant) -> [Order] {
        way = .dialling(until: now + Self.openLimit)
        return [.open]
    }

    mutating func opened(at now: Instant) {
        if case .dialling = way { way = .greeting(until: now + Self.openLimit) }
    }

    /// The server or the network closed the socket.
    mutating func lost(_ reason: String, at now: Instant) -> [Order] {
        guard hasSocket else { return [] }
        leaveSocket()
        guard turn != nil || !waiting.isEmpty else {
            way = .absent
            return followAtRest()
        }
        way = .waiting(until: now + link.losses.next())
        return [.note("a chat's stream is lost: \(reason)")]
    }

    /// Follows the session by notifications alone. Another client's visible run continues unseen, and may have ended already.
    private mutating func followAtRest() -> [Order] {
        (link.others, link.othersAreOver) = (decoder?.runningRun, false)
        return [.follow] + (link.others == nil ? [] : [mirror(from: decoder?.lastSequence ?? 0)])
    }

    /// Closes a socket that is no longer usable.
    mutating func dropSocket(_ reason: String, at now: Instant) -> [Order] {
        guard hasSocket else { return [] }
        return [.close(reason: reason)] + lost(reason, at: now)
    }

    mutating func subscribe(at now: Instant) -> [Order] {
        guard let place else { return [] }
        way = .subscribing(isAnswered: false)
        requests.forget(.subscribe)
        // The subscription may wait behind a prompt with pictures.
        let time = turn?.state == .unanswered ? turn?.prompt.frameTime : nil
        let id = requests.add(.subscribe, for: Self.subscribeLimit + (time ?? .zero), at: now)
        return [.send(OppiFrames.subscribe(place.native, isFull: true, since: decoder?.lastSequence, id))]
    }

    /// The answer to the subscription begins: missed frames follow, in order.
    mutating func connected(_ root: FrameNode, at now: Instant) {
        guard case .subscribing = way, let place else { return }
        link.losses.succeeded()
        (link.lacksPlace, link.stopped) = (nil, [])
        turn?.agentShowsLife(at: now)
        link.isActive = true
        way = .subscribing(isAnswered: true)
        let current = root["currentSeq"]?.integer(in: .counts) ?? 0
        if decoder == nil {
            makeDecoder(place)
            decoder?.continues(after: current)
        } else if current < decoder?.lastSequence ?? 0 {
            // The session was activated meanwhile, with a new agent.
            decoder?.continues(after: current)
            if let turn, turn.isTaken { self.turn?.look.isTorn = true }
            self.turn?.look.hasNewAgent = true
        }
        decoder?.setServerEpoch(link.epoch)
        decoder?.replays(true, at: now)
    }

    mutating func subscribed(_ data: FrameNode?, at now: Instant) -> [Order] {
        guard case .subscribing(let isAnswered) = way, let place else { return [] }
        guard isAnswered, data?["deduplicated"]?.flag != true else {
            // A dead subscription still counts (oppi.md#level-rules).
            let id = requests.add(.leave, for: Self.commandLimit, at: now)
            return [.send(OppiFrames.unsubscribe(place.native, id))] + subscribe(at: now)
        }
        way = .live
        link.others = nil
        // The server handles frames in order: an earlier prompt would have been answered.
        if turn?.state == .unanswered { turn?.state = .held }
        decoder?.replays(false, at: now)
        let said = data?["currentSeq"]?.integer(in: .counts)
        if let said { decoder?.isAt(atMost: said) }
        let current = said ?? 0
        var isWhole = data?["catchUpComplete"]?.flag != false && current <= decoder?.lastSequence ?? 0
        #if PLANTED_FAULTS
            if PlantedFault.overflowTakenWhole.isPlanted, !isWhole {
                decoder?.continues(after: current)
                isWhole = true
            }
        #endif
        if !isWhole {
            decoder?.continues(after: current)
            if turn?.isTaken == true { turn?.look.isTorn = true }
            turn?.look.isLooping = false
            // The end of another client's run may be among the frames that the ring lost.
            if turn == nil, let run = decoder?.runningRun {
                (link.others, link.othersAreOver) = (run, false)
                return [mirror(from: current)]
            }
        }
        turn?.heard(at: now)
        guard let turn, turn.isTaken, turn.look.isTorn, turn.look.end == nil else { return [] }
        return look(at: now)
    }

    mutating func notSubscribed(_ error: String, at now: Instant) -> [Order] {
        if error.hasPrefix("Session not found") { return sessionIsGone(at: now) }
        if Self.isOfLimits(error), turn?.state == .held { return lacksPlace(error, at: now) }
        let orders = dropSocket("subscribing failed: \(error)", at: now)
        guard turn?.state == .held, link.losses.failures >= Self.promptTries else { return orders }
        return orders + refuse(.refused(message: error))
    }

    // MARK: The link as a whole

    /// `hasRestarted`: the server's memory is gone.
    mutating func linkUp(hasRestarted: Bool, at now: Instant) -> [Order] {
        link.homeDue = nil
        if hasRestarted { decoder = nil }
        // The bridge looks up each run after a loss.
        if turn?.isStopping == false { turn?.look.isAwaited = true }
        return (place == nil || turn != nil ? [] : [.follow]) + advance(at: now)
    }

    mutating func linkDown() -> [Order] {
        let orders: [Order] = hasSocket ? [.close(reason: "the main stream is lost")] : []
        (link.isUp, link.others, link.othersLook) = (false, nil, OthersLook())
        leaveSocket()
        way = .absent
        return orders + leaveIfEnding()
    }

    /// Drops the state of the socket.
    mutating func leaveSocket() {
        requests.forgetAll()
        dialogs.socketLost()
        model.socketLost()
        if let turn, decoder?.runningRun == turn.run { self.turn?.look.heldEnd = decoder?.heldEnd }
        decoder?.socketLost()
        for index in waiting.indices where waiting[index].isSteering { waiting[index].restsAfterLoss() }
        if turn?.state == .written || turn?.state == .unanswered { turn?.state = .doubtful }
        if case .asked = turn?.stop { turn?.stop = .due }
        turn?.hasAbortedRetry = false
        if turn?.queue == .asked { turn?.queue = .unknown }
        turn?.look.isUnderWay = false
        if turn?.look.found == nil { turn?.look.due = nil }
    }

    // MARK: Silence, and what is not answered

    mutating func watch(at now: Instant) -> [Order] {
        guard let turn else { return [] }
        if let due = turn.look.due, due <= now {
            if let found = turn.look.found { return say(found) }
            return look(at: now)
        }
        if case .asked(let until) = turn.stop, until <= now {
            guard turn.stopTries <= OppiTurn.stopTries else {
                // The session's end failed too, or its frame was lost.
                self.turn?.stopTries = OppiTurn.stopTries
                self.turn?.stop = .asked(until: now + OppiTurn.stopPatience)
                return look(at: now)
            }
            self.turn?.stop = .due
        }
        guard way == .live, turn.isTaken, let place else { return [] }
        if turn.isRenewed, now - turn.watch.lastSignOfAgent >= OppiTurn.renewAfter { return renew(place, at: now) }
        let silence = now - turn.watch.lastHeard
        if silence >= OppiTurn.redialAfter { return dropSocket("the server fell silent", at: now) }
        guard silence >= turn.probeDelay, !turn.watch.hasProbed else { return [] }
        self.turn?.watch.hasProbed = true
        return [.send(OppiFrames.state(place.native, "\(session)-probe"))]
    }

    mutating func overdue(_ request: Request, at now: Instant) -> [Order] {
        switch request {
        case .subscribe: return dropSocket("subscribing was not answered", at: now)
        case .leave, .renew: return []
        case .abortRetry(let run):
            if turn?.run == run { turn?.hasAbortedRetry = false }
            return []
        case .prompt(let run):
            guard let turn, turn.run == run, turn.state == .written else { return [] }
            guard turn.tries < Self.promptTries, !turn.isStopping else {
                return dropSocket("a prompt was not answered", at: now)
            }
            // The same id runs once, and the seed dialect may have dropped our subscription.
            self.turn?.state = .unanswered
            return subscribe(at: now)
        case .steer(let run, _):
            // The same id is accepted once.
            if let index = waiting.firstIndex(where: { $0.run == run }) { waiting[index].isSteering = false }
            return []
        case .stop(let run):
            if turn?.run == run, case .asked = turn?.stop { turn?.stop = .due }
            return turn.map { $0.stopTries >= OppiTurn.stopTries } == true
                ? dropSocket("a stop was not answered", at: now) : []
        case .queue(let run): return queueAnswered(run, nil, isDone: false, at: now)
        case .unqueue(let run): return queueEmptied(run, isDone: false, at: now)
        case .dialog: return dropSocket("the answer to a dialog was not taken", at: now)
        case .model(let run, let choice): return modelUnanswered(run, choice)
        case .level(let run, let choice, _): return levelUnanswered(run, choice)
        }
    }
}
