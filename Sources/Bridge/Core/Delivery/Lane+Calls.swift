import Vocabulary

/// The output of a lane: the next call and its moment, the frozen call, and the effect of its answer.
extension Lane {
    enum Readiness: Hashable, Sendable {
        case nothing
        case waits(until: Instant)
        /// `since`: the moment at which the post came to the lane. `again`: the moment at which the lane must be looked at again even
        /// if it is not served, since an end does not wait longer for the text before it.
        case ready(PostKind, DeliveryRank, since: Instant, again: Instant?)
    }

    /// The call that the lane could send now. Drops text that has held back the end for too long.
    mutating func readiness(at now: Instant) -> Readiness {
        switch state {
        case .underWay, .refused, .gone: return .nothing
        case .resting(let frozen, let until):
            // Text that was refused for the rate has not arrived, and the end carries it.
            let mayGiveUp = frozen.tried.kind == .text && !frozen.tried.mayHaveLanded
            let hold = mayGiveUp ? holdEnds : nil
            if let hold, now >= hold {
                giveUpBeforeEnd()
                return readiness(at: now)
            }
            if now < until { return .waits(until: hold.map { min(until, $0) } ?? until) }
            return .ready(frozen.tried.kind, rank(of: frozen.tried.kind), since: frozen.since, again: hold)
        case .idle:
            if let hold = holdEnds, now >= hold { stopPreview() }
            guard let (kind, since) = queue.firstKind else { return .nothing }
            if address.sealing == .sealed(nil), queue.startsWithSecret { return .nothing }
            guard kind == .text else { return .ready(kind, rank(of: kind), since: since, again: nil) }
            let ready = preview.readyAt(now)
            if ready > now { return .waits(until: min(ready, holdEnds ?? ready)) }
            // A delta from before a restart may have arrived: it is not given up for the end's sake.
            return .ready(kind, rank(of: kind), since: since, again: holdEnds.flatMap { $0 > now ? $0 : nil })
        }
    }

    /// Tries the next call, or the resting one again. Requires that `readiness` found one.
    mutating func begin(_ call: @autoclosure () -> CallID, number: UInt64, at now: Instant) -> CallAttempt {
        var body: [UInt8]?
        var frozen: Frozen
        if case .resting(let resting, _) = state {
            frozen = resting
        } else {
            frozen = freeze(as: call(), at: now, body: &body)
        }
        frozen.attempts += 1
        frozen.number = number
        frozen.firstTried = frozen.firstTried ?? now
        if let made = body, frozen.sealed != nil {
            frozen.sealed?.body = made
            frozen.bytes += made.count
        }
        state = .underWay(frozen)
        return CallAttempt(
            call: frozen.call, turn: address.turn, name: frozen.name, payload: frozen.payload,
            attempt: frozen.attempts, durability: frozen.isStored ? nil : frozen.tried.kind.durability,
            reserve: frozen.tried.kind.bucket == .msg, body: body ?? frozen.sealed?.body, seal: frozen.sealed?.seal,
            isFollowed: queue.startsFixed, isMarked: keys.mark != nil && frozen.name == .open && frozen.tried.form == 1,
            since: frozen.since)
    }

    /// The body of the call under way was sealed, and every later try sends it unchanged. Nil if that call is not under way.
    mutating func keepSealed(_ body: [UInt8], of call: CallID) -> [UInt8]? {
        guard case .underWay(var frozen) = state, frozen.call == call, let sealed = frozen.sealed else { return nil }
        if let known = sealed.body { return known }
        frozen.sealed?.body = body
        frozen.bytes += body.count
        state = .underWay(frozen)
        return body
    }

    /// The call behind the one under way, so that its body can be made meanwhile. Nil if that call may still change.
    mutating func callAhead(behind call: CallID) -> CallAhead? {
        guard case .underWay(let frozen) = state, frozen.call == call, let next = queue.firstFixed,
            address.sealing.canSpeak
        else { return nil }
        let relayCall = relayCall(next.post, next.entry)
        ahead = PreparedCall(call: relayCall, key: next.key)
        return CallAhead(call: relayCall, seal: seal(next.post))
    }

    mutating func keep(_ body: [UInt8], of call: RelayCall) {
        if ahead?.key == call.key { ahead?.body = body }
    }

    /// The call could not be saved, so it did not leave and counts as not tried.
    mutating func couldNotSave(until: Instant) {
        guard case .underWay(var frozen) = state else { return }
        frozen.attempts -= 1
        if frozen.attempts == 0, !frozen.isStored { frozen.firstTried = nil }
        state = .resting(frozen, until: until)
    }

    /// Facts about the call under way, for the judgement of its answer.
    struct Returned {
        var turn: TurnID
        var name: PostName
        var number: UInt64
        var tried: RetryPolicy.Tried
    }

    /// Nil if that call is not under way. Nothing changes; `mutating` spares a copy of the lane.
    mutating func returned(_ call: CallID) -> Returned? {
        guard case .underWay(let frozen) = state, frozen.call == call else { return nil }
        var tried = frozen.tried
        tried.endWaits = endSince != nil
        tried.isMarked = keys.mark != nil
        return Returned(turn: address.turn, name: frozen.name, number: frozen.number, tried: tried)
    }

    /// The call under way was answered, and the policy has decided.
    mutating func answered(
        _ decision: RetryDecision, tried: RetryPolicy.Tried, wasTold: Bool, at now: Instant,
        into reports: inout [PostReport]
    ) {
        guard case .underWay(var call) = state else { return }
        call.tried = tried
        call.wasTold = wasTold
        if case .retry(let wait) = decision {
            call.isStored = true
            state = .resting(call, until: now + wait)
            return
        }
        if case .stopConnection = decision {
            // Nothing is sent from now on; the call stays unchanged, for a process that resumes the lane.
            state = .resting(call, until: now)
            return
        }
        if case .askTurn(var refusal) = decision {
            state = .refused(call)
            refusal.text = call.wholeText
            reports.append(.refused(call.name, refusal))
            return
        }
        state = .idle
        switch decision {
        case .delivered(let receipt):
            if call.name == .open, let message = receipt.message { learn(message, at: now) }
            reports.append(.delivered(call.name, message: receipt.message))
        case .done:
            reports.append(.delivered(call.name, message: nil))
        case .drop(let code):
            if call.tried.kind == .text { stopPreview() }
            if case .taskStarted(let task) = call.name { queue.removeTask(task) }
            reports.append(.dropped(call.name, code))
        case .again:
            queue.insertFirst(
                LaneQueue.Entry(
                    content: .post(post(of: call)), kind: call.tried.kind, since: call.since,
                    form: call.tried.form + 1))
        case .deadLetter where call.tried.deadline == windowEnds && !call.tried.kind.isDroppable:
            // The call was tried until the window was over: nothing else of this interaction can land either.
            reports += interactionExpired(call, at: now)
        case .deadLetter:
            if call.tried.kind == .text { stopPreview() }
            reports.append(.deadLetter(call.name))
        case .anothers:
            abandon()
            reports.append(.anothers)
        case .destinationGone(let code):
            abandon()
            reports.append(.destinationGone(code))
        case .windowClosed:
            reports += interactionExpired(call, at: now)
        case .retry, .stopConnection, .askTurn:
            preconditionFailure("handled above")
        }
        if isAbandoned { state = .gone }
    }

    // MARK: -

    /// The moment until which text may hold back the end. Text that waited for its bubble gets its time from then on.
    private var holdEnds: Instant? {
        guard let endSince, bubble != .awaited else { return nil }
        var since = endSince
        if case .known(_, let known?) = bubble { since = max(since, known) }
        return since + preview.hold
    }

    /// The rank of the most urgent call among the next one and those behind it.
    private func rank(of kind: PostKind) -> DeliveryRank {
        let own: DeliveryRank = kind == .text && preview.deltas == 0 ? .firstText : kind.rank
        guard let behind = queue.mostUrgent else { return own }
        return min(own, behind)
    }

    private mutating func freeze(as call: CallID, at now: Instant, body: inout [UInt8]?) -> Frozen {
        if queue.firstKind?.kind == .text, let text = queue.removeText(bytes: LaneBounds.deltaBytes) {
            return freeze(text: text.text, since: text.since, as: call, at: now)
        }
        guard let entry = queue.removeFirst() else { preconditionFailure("a lane without a post was given a try") }
        if entry.kind == .end { end.leave() }
        var tried = RetryPolicy.Tried(kind: entry.kind, deadline: deadline(of: entry))
        switch entry.content {
        case .stored(let stored):
            tried.mayHaveLanded = true
            tried.form = stored.form
            return Frozen(
                call: call, name: stored.name, payload: .stored(stored.key), isStored: true, since: entry.since,
                firstTried: stored.triedAt, tried: tried)
        case .post(let posted):
            let post = posted.waited(now - entry.since)
            tried.form = entry.form
            let relayCall: RelayCall
            if let key = entry.key, let prepared = ahead, prepared.key == key {
                relayCall = prepared.call
                body = prepared.body
                ahead = nil
            } else {
                relayCall = self.relayCall(post, entry)
            }
            return Frozen(
                call: call, name: post.name, payload: .fresh(relayCall), since: entry.since, tried: tried,
                bytes: entry.bytes, sealed: seal(post).map { Sealed(seal: $0) })
        case .text:
            preconditionFailure("texts are taken by their own way")
        }
    }

    private mutating func freeze(text: String, since: Instant, as call: CallID, at now: Instant) -> Frozen {
        preview.sent(text, at: now)
        let key = keys.nextDelta()
        return Frozen(
            call: call, name: .text(endOffset: preview.streamed),
            payload: .fresh(RelayCall(.text(text), to: .bubble(message), key: key)),
            since: since, tried: RetryPolicy.Tried(kind: .text, deadline: windowEnds),
            bytes: HeldBytes.entryCost + text.utf8.count, sealed: seal(.text(text)).map { Sealed(seal: $0) })
    }

    /// Nil if the post goes out in the open.
    private func seal(_ post: Post) -> CallSeal? {
        guard address.sealing.isSealed, !post.isInTheOpen else { return nil }
        return CallSeal(session: address.session, key: address.sealing.key)
    }

    private mutating func learn(_ message: MessageID, at now: Instant) {
        bubble = .known(message, since: now)
    }

    /// Text, tasks and the end are taken only behind an open, and an open that fails drops them.
    private var message: MessageID {
        if case .known(let message, _) = bubble { return message }
        preconditionFailure("a post went ahead of its bubble")
    }

    private func deadline(of entry: LaneQueue.Entry) -> Instant {
        switch entry.kind {
        case .message: entry.since + LaneBounds.messageLife
        case .approval where entry.withoutInteraction: entry.since + LaneBounds.approvalLife
        case .open, .text, .taskStarted, .taskProgress, .taskEnded, .approval, .end: windowEnds
        }
    }

    private mutating func relayCall(_ post: Post, _ entry: LaneQueue.Entry) -> RelayCall {
        RelayCall(
            post, to: destination(of: post, entry), key: entry.key ?? key(of: post, entry),
            mark: post.kind == .open ? keys.mark : nil)
    }

    private func destination(of post: Post, _ entry: LaneQueue.Entry) -> RelayCall.Address {
        switch post {
        case .text, .end: .bubble(message)
        case .message: .chat(address.session, nil)
        case .open, .taskStarted, .taskProgress, .taskEnded, .approval:
            .chat(address.session, entry.withoutInteraction ? nil : address.interaction)
        }
    }

    private mutating func key(of post: Post, _ entry: LaneQueue.Entry) -> IdempotencyKey {
        switch post {
        case .open: keys.fixed.open(form: entry.form)
        case .text: keys.lastDelta
        case .taskStarted(let start): keys.fixed.taskStart(start.task)
        case .taskProgress(let progress): keys.nextUpdate(of: progress.task)
        case .taskEnded(let end): keys.fixed.taskEnd(end.task)
        case .approval(let card): keys.fixed.approval(card.approval, form: entry.form)
        case .end: keys.fixed.end(form: entry.form)
        case .message(let whole): keys.fixed.message(whole.part, form: entry.form)
        }
    }

    /// The window is closed: nothing may carry the interaction. A refused approval goes once more without it, under another key because
    /// its body is another one. An approval that carried none, or that cannot be rebuilt after a restart, goes back to the turn, which
    /// knows its content.
    private mutating func interactionExpired(_ call: Frozen, at now: Instant) -> [PostReport] {
        let left = leaveInteraction()
        guard case .approval = call.name else { return left }
        guard case .fresh(let asked) = call.payload, let post = asked.post, asked.interaction != nil else {
            state = .refused(call)
            return left + [.refused(call.name, PostRefusal(.interactionExpired))]
        }
        queue.insertFirst(
            LaneQueue.Entry(
                content: .post(post), kind: .approval, since: now, withoutInteraction: true,
                form: call.tried.form + 1))
        return left
    }

    /// The post that an open or a whole message was made from.
    private func post(of call: Frozen) -> Post {
        if case .message = call.name, case .fresh(let made) = call.payload, let post = made.post { post } else { .open }
    }

}

extension Lane.Frozen {
    /// The text of a whole message of this process.
    fileprivate var wholeText: String? {
        guard case .fresh(let call) = payload, case .message(let message) = call.post else { return nil }
        return message.text
    }
}
