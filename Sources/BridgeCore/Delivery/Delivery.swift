package import BridgeModel

package struct DeliverySettings: Sendable, Hashable {
    package struct Bucket: Sendable, Hashable {
        package var capacity: Double
        package var refillPerSecond: Double
    }

    /// The sheet's table (relay sheet 11.1), until the relay's own headers say otherwise.
    package var buckets: [RelayBucket: Bucket] = [
        .msg: Bucket(capacity: 30, refillPerSecond: 10), .delta: Bucket(capacity: 200, refillPerSecond: 100),
        .task: Bucket(capacity: 60, refillPerSecond: 30), .approval: Bucket(capacity: 10, refillPerSecond: 2),
        .default: Bucket(capacity: 30, refillPerSecond: 10),
    ]
    package var callsUnderWay = 64
    /// Of those, kept for opens and ends.
    package var callsReserved = 8
    /// How long untried text may hold back an end that could go.
    package var endPatience = Duration.seconds(2)
    /// How long whole messages are tried.
    package var messageLife = Duration.seconds(24 * 3600)
    package var deltaTries = 8

    package init() {}
}

package enum DeliveryReport: Sendable, Hashable {
    case post(TurnID, PostReport)
    /// The token is no good, or the installation is gone: nothing more may be sent on this connection.
    case connectionStopped(RelayErrorCode)
    case note(DeliveryNote, TurnID, PostName)
}

package enum DeliveryNote: String, Sendable, Hashable {
    case idempotencyConflict, rateLimited, refused, retried, previewStopped, retryBudgetSpent, deadLetter
}

package enum DeliveryStep: Sendable, Hashable {
    case attempt(CallAttempt)
    /// Nothing to send before this moment; nil: before something else happens.
    case idle(until: Instant?)
}

/// All lanes of one installation and the buckets they share: decides which call goes next (DESIGN, section 8).
///
/// Order within a bucket: by rank (approvals; opens and ends; task ends; task starts; deltas; progress), where a call takes the
/// rank of the most urgent call behind it in its own lane; then by the moment it should be gone by. For opens and ends in the
/// `msg` bucket that moment is 4 s after an end and 9 s after an open began to wait: strict turns would let both wait equally
/// long under overload (7 s each with 6 messages a second for a minute), although a waiting end holds a finished answer back
/// and a waiting open only a bubble. Neither can starve: whoever is longest past its moment is next.
///
/// Invariants: one call of a lane is under way; no call without a token; no bucket is drawn from while it sleeps; at most
/// `callsUnderWay` calls at once, the last `callsReserved` only for opens and ends.
package struct Delivery: Sendable {
    private let settings: DeliverySettings
    private let planted: PlantedFault?
    private var lanes: [TurnID: Lane] = [:]
    private var buckets: [RelayBucket: TokenBucket] = [:]
    private var sharedPace = SharedPace()
    private var budget = RetryBudget()
    private var underWay: [CallID: Sending] = [:]
    private var nextCall = 0
    private var isStopped = false
    /// Nothing can be sent before `quietUntil` unless something changes: what makes a text that only grows cost nothing.
    private var isQuiet = false
    private var quietUntil: Instant?
    package private(set) var tally = DeliveryTally()

    private struct Sending {
        var turn: TurnID
        var bucket: RelayBucket
        var ticket: TokenBucket.Ticket
        var name: PostName
        var tries: Int
        var since: Instant
    }

    package init(settings: DeliverySettings = DeliverySettings(), planted: PlantedFault? = nil) {
        self.settings = settings
        self.planted = planted
        for (name, shape) in settings.buckets {
            buckets[name] = TokenBucket(
                capacity: shape.capacity, refillPerSecond: shape.refillPerSecond, planted: planted)
        }
    }

    // MARK: Lanes

    package mutating func openLane(_ address: LaneAddress, windowEnds: Instant) {
        guard lanes[address.turn] == nil else { return }
        lanes[address.turn] = Lane(address, windowEnds: windowEnds, planted: planted)
    }

    /// The process died: what was under way is sent again by its lane, and nothing is known of the relay's buckets.
    package mutating func restart() {
        underWay = [:]
        sharedPace = SharedPace()
        for turn in lanes.keys.sorted() { lanes[turn]?.restart() }
        for (name, shape) in settings.buckets {
            buckets[name] = TokenBucket(
                capacity: shape.capacity, refillPerSecond: shape.refillPerSecond, planted: planted)
        }
        isQuiet = false
    }

    package mutating func post(_ post: Post, on turn: TurnID, at now: Instant) {
        guard let before = lanes[turn]?.queue.count else { return }
        let taken = lanes[turn]?.take(post, at: now) ?? false
        if !taken { tally.notTaken += 1 }
        let after = lanes[turn]?.queue.count ?? before
        if after == before, taken { tally.joined += 1 }
        // What only grew a post that waits anyway changes nothing about when it can go.
        if after != before { isQuiet = false }
    }

    package mutating func replace(_ post: Post, on turn: TurnID, at now: Instant) {
        change(turn) { $0.replace(post, at: now) }
    }
    package mutating func skip(on turn: TurnID) { change(turn) { $0.skip() } }
    package mutating func stopPreview(of turn: TurnID) { change(turn) { $0.stopPreview() } }
    package mutating func closeWindow(of turn: TurnID) { change(turn) { $0.closeWindow() } }
    package mutating func abandon(_ turn: TurnID) { change(turn) { $0.abandon() } }

    /// The turn is closed. What is still under way is forgotten when its answer comes.
    package mutating func closeLane(_ turn: TurnID) {
        lanes[turn] = nil
        isQuiet = false
    }

    private mutating func change(_ turn: TurnID, _ body: (inout Lane) -> Void) {
        guard lanes[turn] != nil else { return }
        body(
            &lanes[
                turn,
                default: Lane(LaneAddress(turn: turn, session: SessionID(""), interaction: nil), windowEnds: .zero)])
        isQuiet = false
    }

    package var laneCount: Int { lanes.count }
    package var callsUnderWay: Int { underWay.count }
    package var isIdle: Bool { underWay.isEmpty && lanes.values.allSatisfy(\.isIdle) }
    package mutating func level(of bucket: RelayBucket, at now: Instant) -> Double {
        buckets[bucket]?.level(at: now) ?? 0
    }
    /// Whether some lane has text that could go if the pace and the bucket let it.
    package var hasWaitingText: Bool {
        lanes.values.contains { $0.front == .none && $0.queue.first?.post.isText == true }
    }

    // MARK: What goes next

    package mutating func next(at now: Instant) -> DeliveryStep {
        if isStopped { return .idle(until: nil) }
        if isQuiet, quietUntil.map({ now < $0 }) ?? true { return .idle(until: quietUntil) }
        guard underWay.count < settings.callsUnderWay else { return quiet(until: nil) }
        var search = Search(now: now)
        // Sorted out by bucket at once: a bucket that has no token now has none for anybody.
        for turn in lanes.keys {
            dropTextThatHoldsTheEndBack(turn, at: now, search: &search)
            consider(turn, at: now, search: &search)
        }
        guard let turn = search.best?.turn else { return quiet(until: search.wake) }
        return attempt(turn, at: now)
    }

    private mutating func quiet(until moment: Instant?) -> DeliveryStep {
        isQuiet = true
        quietUntil = moment
        return .idle(until: moment)
    }

    private mutating func dropTextThatHoldsTheEndBack(_ turn: TurnID, at now: Instant, search: inout Search) {
        guard let since = lanes[turn]?.heldBackEnd else { return }
        let limit = since + settings.endPatience
        guard now >= limit else { return search.wake(at: limit) }
        if search.wait(of: .msg, in: &buckets) == nil {
            lanes[turn]?.stopPreview()
            tally.textsDropped += 1
        }
    }

    private mutating func consider(_ turn: TurnID, at now: Instant, search: inout Search) {
        guard let lane = lanes[turn], let candidate = lane.candidate else { return }
        if let notBefore = candidate.notBefore, notBefore > now { return search.wake(at: notBefore) }
        let urgency = Urgency(candidate, in: lane)
        if candidate.bucket == .delta, candidate.isFresh, urgency.rank == .delta, let pace = paceOfDeltas(), pace > now
        {
            return search.wake(at: pace)
        }
        switch search.wait(of: candidate.bucket, in: &buckets) {
        case .until(let moment): return search.wake(at: moment)
        case .forAnswer: return
        case nil: break
        }
        let mayUseReserve = candidate.name == .open || candidate.name == .end
        if !mayUseReserve, underWay.count >= settings.callsUnderWay - settings.callsReserved { return }
        search.take(turn, urgency, youngestFirst: planted == .laneStarves)
    }

    private func paceOfDeltas() -> Instant? {
        guard let bucket = buckets[.delta] else { return nil }
        return sharedPace.earliest(capacity: bucket.capacity, refillPerSecond: bucket.refillPerSecond)
    }

    private mutating func attempt(_ turn: TurnID, at now: Instant) -> DeliveryStep {
        guard let call = lanes[turn]?.send(at: now), let ticket = buckets[call.bucket]?.take(at: now) else {
            return quiet(until: nil)
        }
        isQuiet = false
        if call.name.isText { sharedPace.sent(at: now, refillPerSecond: buckets[.delta]?.refillPerSecond ?? 100) }
        nextCall += 1
        let id = CallID(number: nextCall)
        underWay[id] = Sending(
            turn: turn, bucket: call.bucket, ticket: ticket, name: call.name, tries: call.tries, since: call.since)
        tally.sent(call)
        return .attempt(
            CallAttempt(
                call: id, turn: turn, name: call.name, payload: call.payload, attempt: call.tries,
                durability: call.tries == 1 ? Self.durability(of: call) : nil))
    }

    private static func durability(of call: FrozenCall) -> StoredRecord.Durability? {
        guard case .fresh = call.payload else { return nil }
        return switch call.name {
        case .open, .end, .approval, .message: .synced
        case .taskStarted, .taskEnded, .text: .written
        case .taskProgress: nil
        }
    }

    // MARK: Answers

    package mutating func answered(
        _ id: CallID, with answer: RelayAnswer, at now: Instant, using random: inout some RandomNumberGenerator
    ) -> [DeliveryReport] {
        guard let sending = underWay.removeValue(forKey: id) else { return [] }
        isQuiet = false
        read(answer, for: sending, at: now)
        guard let lane = lanes[sending.turn] else { return [] }
        let verdict = RetryPolicy.verdict(on: answer, for: sending.name, tries: sending.tries)
        var reports: [DeliveryReport] = []
        func report(_ report: PostReport) { reports.append(.post(sending.turn, report)) }
        func note(_ note: DeliveryNote) { reports.append(.note(note, sending.turn, sending.name)) }
        if case .refused(let refusal) = answer.outcome, refusal.code == .idempotencyConflict {
            tally.conflicts += 1
            note(.idempotencyConflict)
        }
        switch verdict {
        case .delivered(let receipt):
            budget.earned()
            tally.delivered += 1
            lanes[sending.turn]?.settle(message: receipt.message)
            report(.delivered(sending.name, message: receipt.message))
        case .done:
            lanes[sending.turn]?.settle(message: nil)
            report(.delivered(sending.name, message: nil))
        case .retryAsTold(let wait):
            tally.refusals += 1
            note(.rateLimited)
            let until = now + RetryPolicy.jitter(on: wait, using: &random)
            sleep(sending.bucket, named: answer.rate?.bucket, isLimit: answer.isRateLimit, until: until)
            if isTooLate(sending, lane, at: now) { return giveUp(sending) }
            lanes[sending.turn]?.rest(until: until)
        case .retryUnknown:
            tally.retries += 1
            if isTooLate(sending, lane, at: now) { return giveUp(sending) }
            if mayBeLost(sending.name), sending.tries >= settings.deltaTries || !budget.spend() {
                return giveUp(sending)
            }
            note(.retried)
            lanes[sending.turn]?.rest(until: now + RetryPolicy.backOff(tries: sending.tries, using: &random))
        case .drop(let code):
            note(.refused)
            lanes[sending.turn]?.settle(message: nil)
            report(.dropped(sending.name, code))
        case .stopPreview:
            note(.previewStopped)
            lanes[sending.turn]?.settle(message: nil)
            lanes[sending.turn]?.stopPreview()
        case .reopen:
            if lanes[sending.turn]?.reopen() == false {
                lanes[sending.turn]?.hold()
                report(.refused(sending.name, .idempotencyConflict))
            }
        case .askTurn(let code):
            note(.refused)
            lanes[sending.turn]?.hold()
            report(.refused(sending.name, code))
        case .destinationGone(let code):
            lanes[sending.turn]?.settle(message: nil)
            lanes[sending.turn]?.abandon()
            report(.destinationGone(code))
        case .windowClosed:
            lanes[sending.turn]?.dropInteraction()
            // A whole message carries no interaction; a relay that says so all the same will not take it later either.
            if case .message = sending.name { report(.deadLetter(sending.name)) }
            report(.windowClosed)
        case .stopConnection(let code):
            isStopped = true
            reports.append(.connectionStopped(code))
        }
        return reports
    }

    private mutating func read(_ answer: RelayAnswer, for sending: Sending, at now: Instant) {
        switch answer.outcome {
        case .delivered, .refused:
            // A bucket of another name than the sheet's table says would be news about that one, not about ours.
            if let rate = answer.rate, rate.bucket == nil || rate.bucket == sending.bucket {
                buckets[sending.bucket]?.answered(sending.ticket, reading: rate, at: now)
            } else {
                buckets[sending.bucket]?.answeredWithoutHeaders(sending.ticket, at: now)
            }
        case .unknown:
            buckets[sending.bucket]?.answered(sending.ticket, reading: answer.rate, at: now)
        }
    }

    private mutating func sleep(_ bucket: RelayBucket, named: RelayBucket?, isLimit: Bool, until moment: Instant) {
        guard isLimit, named == nil else {
            buckets[named ?? bucket]?.sleep(until: moment)
            return
        }
        // It names no bucket: the address or the installation as a whole is meant.
        for name in RelayBucket.allCases { buckets[name]?.sleep(until: moment) }
    }

    private func isTooLate(_ sending: Sending, _ lane: Lane, at now: Instant) -> Bool {
        switch sending.name {
        // They go on without the interaction.
        case .message, .approval: now - sending.since > settings.messageLife
        case .open, .text, .taskStarted, .taskProgress, .taskEnded, .end: now > lane.windowEnds
        }
    }

    private func mayBeLost(_ name: PostName) -> Bool {
        switch name {
        case .text, .taskProgress: true
        case .open, .taskStarted, .taskEnded, .approval, .end, .message: false
        }
    }

    private mutating func giveUp(_ sending: Sending) -> [DeliveryReport] {
        let turn = sending.turn
        lanes[turn]?.settle(message: nil)
        switch sending.name {
        case .text:
            // Nobody knows whether the phone has it: what follows could leave a hole or double it. The end repairs it.
            lanes[turn]?.stopPreview()
            return [.note(.retryBudgetSpent, turn, sending.name)]
        case .taskProgress: return [.note(.retryBudgetSpent, turn, sending.name)]
        case .open, .end, .taskStarted, .taskEnded, .approval:
            // Given up because the window is over: nothing else of this interaction can land either.
            lanes[turn]?.dropInteraction()
            tally.deadLetters += 1
            return [.note(.deadLetter, turn, sending.name), .post(turn, .windowClosed)]
        case .message:
            tally.deadLetters += 1
            return [.note(.deadLetter, turn, sending.name), .post(turn, .deadLetter(sending.name))]
        }
    }
}

extension RelayAnswer {
    fileprivate var isRateLimit: Bool {
        if case .refused(let refusal) = outcome { refusal.code == .rateLimited } else { false }
    }
}
