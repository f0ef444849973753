package import Vocabulary

/// All lanes of one installation, its token buckets, and the order of sending (DESIGN.md#lanes-buckets-pacing).
///
/// `next` returns one step at a time, and `answered` takes the outcome of a call. Both do bounded work: a lane stands in the line of the
/// bucket that its next call draws from, or among the timers, and is looked at again only when something about it has changed.
///
/// Order: by rank, then the longest waiting. Opens and ends share the `msg` bucket. Each has a time to be gone by (an end 5 s after it was
/// posted, an open 10 s), and the earlier time goes first, so that under too much load both grow late together, an end 5 s less than an
/// open. Once both are late they take turns, so that neither 200 opens at once nor 200 ends keep the other kind waiting.
///
/// Invariants: no token is taken but for a call that leaves; no call leaves while its bucket holds less than one token; at most
/// `settings.connections` calls are under way, and opens, ends and whole messages alone may use the last `settings.reserved` of them.
package struct Delivery: Sendable {
    package private(set) var settings: DeliverySettings
    package internal(set) var tally = DeliveryTally()
    /// Lanes by slot; free slots hold `Lane.vacant`.
    var lanes: [Lane] = []
    var slots = LaneSlots()
    var lines = DeliveryLines()

    var token = DeliveryToken()
    var rates: DeliveryRates
    private var policy = RetryPolicy()
    /// Reports without an answer of the relay, for `next` to return.
    private var untold: [DeliveryReport] = []

    var held = DeliveryHeld()
    var time = SteadyTime()
    var traffic = DeliveryTraffic()

    package init(settings: DeliverySettings = DeliverySettings()) {
        self.settings = settings
        rates = DeliveryRates(settings)
    }

    // MARK: - From the turns

    /// Opens a lane, and leaves an existing one unchanged. `mark`: the mark of its placeholder.
    package mutating func openLane(_ address: LaneAddress, windowEnds: Instant, mark: UInt32? = nil) {
        var lane = Lane(address, windowEnds: time.inside(windowEnds))
        lane.keys.mark = mark
        add(lane, at: time.latest)
    }

    package mutating func restoreLane(
        _ record: LaneRecord, windowEnds: Instant, mark: UInt32? = nil, at instant: Instant
    ) {
        let now = time.read(instant)
        var lane = Lane(restoring: record, windowEnds: time.inside(windowEnds), at: now)
        lane.keys.mark = mark
        add(lane, at: now)
    }

    package mutating func post(_ post: Post, on turn: TurnID, at instant: Instant) {
        let now = time.read(instant)
        var reports: [PostReport] = []
        guard let slot = slots[turn] else {
            tally.notTaken += 1
            return
        }
        switch lanes[slot].post(post, at: now, into: &reports) {
        case .queued: break
        case .joined: tally.joined += 1
        case .ignored: tally.notTaken += 1
        }
        tellLater(reports, of: turn)
        refile(slot, at: now)
        makeRoom(at: now)
    }

    package mutating func replace(
        _ post: Post, followedBy more: [Post] = [], on turn: TurnID, at instant: Instant
    ) {
        let now = time.read(instant)
        change(turn, at: now) { $0.replace(post, followedBy: more, at: now) }
    }

    /// A refused post without a replacement is a dead letter, except an open, whose text goes out as messages.
    package mutating func skip(on turn: TurnID) {
        if let slot = slots[turn], let refused = lanes[slot].refusedName, refused != .open { tally.deadLetters += 1 }
        change(turn, at: time.latest) { $0.skip() }
    }

    package mutating func stopPreview(of turn: TurnID) {
        change(turn, at: time.latest) { $0.stopPreview() }
    }

    package mutating func closeWindow(of turn: TurnID) {
        change(turn, at: time.latest) { $0.closeWindow() }
    }

    package mutating func abandon(_ turn: TurnID) {
        change(turn, at: time.latest) { $0.abandon() }
    }

    /// The card's ask has ended.
    package mutating func withdraw(_ card: ApprovalID, of turn: TurnID) {
        change(turn, at: time.latest) { $0.withdraw(card) }
    }

    /// The turn is closed: the lane sends the posts that are left, then goes away.
    package mutating func closeLane(_ turn: TurnID) {
        change(turn, at: time.latest) { $0.close() }
    }

    // MARK: - Settings

    /// Applies to later calls; those under way stay.
    package mutating func use(connections: Int, heldBytes: Int) {
        (settings.connections, settings.heldBytes) = (connections, heldBytes)
    }

    // MARK: - What goes out

    package mutating func next(at instant: Instant) -> DeliveryStep {
        if !untold.isEmpty { return .report(untold.removeFirst()) }
        guard token.stopped == nil else { return .idle(until: nil) }
        let now = time.read(instant)
        while let slot = lines.removeTimer(dueAt: now) { refile(slot, at: now) }
        holdBackStatus(at: now)
        // A lane that was looked at again may have given up calls that the relay has forgotten.
        if !untold.isEmpty { return .report(untold.removeFirst()) }
        var wait = lines.nextTimer
        var best: (key: DeliveryLines.Key, slot: Int, bucket: RelayBucket)?
        for bucket in RelayBucket.inOrder {
            guard let first = lines.first(in: bucket, at: now), traffic.hasConnection(for: bucket, settings)
            else { continue }
            guard let ready = rates.readyAt(bucket, rank: first.key.rank, at: now) else { continue }
            if ready > now {
                wait = min(wait ?? ready, ready)
            } else if best.map({ first.key < $0.key }) ?? true {
                best = (first.key, first.slot, bucket)
            }
        }
        guard let best else { return .idle(until: wait.map { time.outside($0) }) }
        guard !lanes[best.slot].hasForgottenCall(at: now) else {
            refile(best.slot, at: now)
            return next(at: instant)
        }
        return .attempt(send(from: best.slot, bucket: best.bucket, at: now))
    }

    /// Status tasks leave the last fifth of their bucket to other tasks.
    private mutating func holdBackStatus(at now: Instant) {
        while let first = lines.first(in: .task, at: now), lanes[first.slot].startsWithStatus,
            rates.isLow(.task, at: now)
        {
            if let report = lanes[first.slot].holdBackStatus() {
                untold.append(.post(lanes[first.slot].address.turn, report))
            }
            refile(first.slot, at: now)
        }
    }

    /// The relay answered a call, or its outcome is unknown.
    package mutating func answered(
        _ call: CallID, with answer: RelayAnswer, at instant: Instant, using random: inout some RandomNumberGenerator
    ) -> [DeliveryReport] {
        let now = time.read(instant)
        guard var returned = comesBack(call) else { return [] }
        let isUnknown = RetryPolicy.isUnknown(answer.outcome, kind: returned.tried.kind)
        if isUnknown {
            returned.tried.unknownOutcomes += 1
            returned.tried.mayHaveLanded = true
            tally.unknownOutcomes += 1
        }
        rates.settle(returned.number, in: returned.tried.kind.bucket, answer, at: now)
        var decision = policy.decide(answer.outcome, tried: returned.tried, at: now, using: &random)
        let hadOldToken = token.comesBack(from: call.slot)
        if case .stopConnection = decision {
            decision = token.meaning(
                of: decision, hadOldToken: hadOldToken, isAbandoned: lanes[call.slot].isAbandoned)
        }
        heedRateLimit(answer, decision, at: now)
        tally.count(decision, wasTold: !isUnknown)
        if case .stopConnection(let code) = decision { token.refused(code) }

        var told: [PostReport] = []
        if returned.name == .open, case .retry = decision, case .refused(let refusal) = answer.outcome,
            RetryPolicy.isRateLimited(refusal)
        {
            told.append(.postponed)
        }
        lanes[call.slot].answered(decision, tried: returned.tried, wasTold: !isUnknown, at: now, into: &told)
        var reports = told.map { DeliveryReport.post(returned.turn, $0) }
        if let report = decision.report(on: answer, returned.name, of: returned.turn) { reports.append(report) }
        refile(call.slot, at: now)
        return reports
    }

    /// The call could not be saved, so it did not leave. The lane tries it again after a second, until its deadline. If the journal has
    /// the key with another body, no later try can save the call, and the retry policy decides.
    package mutating func couldNotSave(
        _ call: CallID, keyIsTaken: Bool = false, at instant: Instant
    ) -> [DeliveryReport] {
        let now = time.read(instant)
        guard let returned = comesBack(call) else { return [] }
        defer { refile(call.slot, at: now) }
        rates.cameToNothing(returned.number, in: returned.tried.kind.bucket, at: now)
        guard let decision = RetryPolicy.afterFailedSave(returned.tried, keyIsTaken: keyIsTaken, at: now) else {
            lanes[call.slot].couldNotSave(until: now + .seconds(1))
            return []
        }
        tally.count(decision, wasTold: true)
        var told: [PostReport] = []
        lanes[call.slot].answered(decision, tried: returned.tried, wasTold: true, at: now, into: &told)
        var reports = told.map { DeliveryReport.post(returned.turn, $0) }
        if keyIsTaken {
            reports.append(.note(DeliveryNote(code: .idempotencyConflict), returned.turn, returned.name))
        }
        return reports
    }

    /// The call that is sure to follow this one in its lane, if it is known.
    package mutating func callAhead(behind call: CallID) -> CallAhead? {
        lanes.indices.contains(call.slot) ? lanes[call.slot].callAhead(behind: call) : nil
    }

    /// The body of a call that `callAhead` gave.
    package mutating func keep(_ body: [UInt8], of ahead: RelayCall, behind call: CallID) {
        if lanes.indices.contains(call.slot) { lanes[call.slot].keep(body, of: ahead) }
    }

    // MARK: - Lanes and lines

    private mutating func add(_ lane: Lane, at now: Instant) {
        guard let slot = slots.take(for: lane.address.turn) else { return }
        if slot < lanes.count { lanes[slot] = lane } else { lanes.append(lane) }
        lanes[slot].preview.hold = settings.textHold
        refile(slot, at: now)
    }

    mutating func change(_ turn: TurnID, at now: Instant, _ body: (inout Lane) -> Void) {
        guard let slot = slots[turn] else { return }
        body(&lanes[slot])
        refile(slot, at: now)
    }

    private mutating func tellLater(_ reports: [PostReport], of turn: TurnID) {
        guard !reports.isEmpty else { return }
        tally.deadLetters += reports.count
        untold.append(contentsOf: reports.map { .post(turn, $0) })
    }

    /// Puts a lane that has changed into its line, or among the timers.
    mutating func refile(_ slot: Int, at now: Instant) {
        tellLater(lanes[slot].giveUpForgotten(at: now), of: lanes[slot].address.turn)
        count(slot)
        held.cuttable.insert(slot)
        if lanes[slot].mayGo { return remove(slot) }
        switch lanes[slot].readiness(at: now) {
        case .nothing:
            lines.leave(slot)
            lines.setTimer(slot, to: nil)
        case .waits(let until):
            lines.leave(slot)
            lines.setTimer(slot, to: until)
        case .ready(let kind, let rank, let since, let again):
            lines.stand(slot, in: DeliveryLines.Line(kind), key: key(slot, kind, rank, since))
            lines.setTimer(slot, to: again)
        }
    }

    private func key(_ slot: Int, _ kind: PostKind, _ rank: DeliveryRank, _ since: Instant) -> DeliveryLines.Key {
        let time: Instant
        switch kind {
        case .end: time = since + settings.endTarget
        case .open, .message:
            // An end that waits behind the open lends it the earlier time: it cannot go before the open.
            let own = since + settings.openTarget
            time = lanes[slot].endSince.map { min(own, $0 + settings.endTarget) } ?? own
        case .text, .taskStarted, .taskProgress, .taskEnded, .approval:
            time = max(since, lanes[slot].ledger.servedAt ?? since)
        }
        return DeliveryLines.Key(rank: rank, time: time, served: lanes[slot].ledger.served)
    }

    private mutating func remove(_ slot: Int) {
        lines.leave(slot)
        lines.setTimer(slot, to: nil)
        slots.leave(lanes[slot].address.turn)
        held.lanes -= lanes[slot].ledger.countedBytes
        held.cuttable.remove(slot)
        lanes[slot] = .vacant
    }

    // MARK: - Calls

    private mutating func send(from slot: Int, bucket: RelayBucket, at now: Instant) -> CallAttempt {
        let number = rates.take(from: bucket, at: now)
        tally.tokensTaken[bucket.index] += 1
        if let line = lines.line(of: slot) { lines.served(line) }
        let call = traffic.call(from: slot, isNew: lanes[slot].frozen == nil)
        lanes[slot].ledger.served = traffic.leaves(bucket)
        lanes[slot].ledger.servedAt = now
        var attempt = lanes[slot].begin(call, number: number, at: now)
        attempt.since = time.outside(attempt.since)
        if attempt.attempt == 1 { policy.firstTry(attempt.name.kind) } else { tally.retries += 1 }
        refile(slot, at: now)
        return attempt
    }

    /// Takes a call under way out of the count of connections, or returns nil if there is no such call.
    mutating func comesBack(_ call: CallID) -> Lane.Returned? {
        guard lanes.indices.contains(call.slot), let returned = lanes[call.slot].returned(call) else {
            tally.strayAnswers += 1
            return nil
        }
        traffic.comesBack(returned.tried.kind.bucket)
        return returned
    }

    /// A 429 puts its bucket to sleep; one that names none puts all to sleep.
    private mutating func heedRateLimit(_ answer: RelayAnswer, _ decision: RetryDecision, at now: Instant) {
        guard case .refused(let refusal) = answer.outcome, RetryPolicy.isRateLimited(refusal) else { return }
        tally.rateLimited += 1
        var wait = RetryPolicy.told(refusal)
        if case .retry(let decided) = decision { wait = decided }
        rates.rest(answer.rate?.bucket, until: now + wait, at: now)
    }
}
