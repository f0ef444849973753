import AgentKit
package import BridgeModel
import JSONReading

// Losing the link, waiting, and noticing that it is dead (DESIGN.md#links-and-watchdogs).
extension OpenClawSession {
    private static var quietLimit: Duration { .seconds(60) }
    private static var unknownInterval: Duration { .seconds(60) }

    /// When `timePassed` is due, if nothing else comes.
    package var nextDeadline: Instant? {
        var next: Instant?
        func add(_ moment: Instant?) {
            if let moment { next = next.map { min($0, moment) } ?? moment }
        }
        switch state {
        case .idle, .lost: break
        case .dialling(let until), .greeting(let until), .introducing(_, let until), .waiting(let until): add(until)
        case .live:
            for run in runs.values { add(run.resendAt) }
            if pausedSince == nil { addWatches(add) }
            for decision in decisions.values { add(decision.resendAt) }
            for stop in stops.values { add(stop.resendAt) }
        }
        for run in runs.values { add(run.givenUpAt) }
        for stop in stops.values { add(stop.until) }
        for decision in decisions.values where !decision.isAsked { add(decision.expiresAt) }
        return next
    }

    private func addWatches(_ add: (Instant) -> Void) {
        add(silenceEnds)
        for request in pending.values { add(request.deadline) }
        for run in runs.values where run.isFollowed { add(run.lastHeard + Self.quietLimit) }
    }

    package var mayPauseReading: Bool { isLive }

    package mutating func readingPaused(at now: Instant) { pausedSince = now }

    /// What was due meanwhile gets the time that it was not read.
    package mutating func readingResumed(at now: Instant) {
        guard let since = pausedSince else { return }
        pausedSince = nil
        lastFrame = now
        for (id, var request) in pending {
            request.deadline = request.deadline + (now - since)
            pending[id] = request
        }
        for run in runs.keys { runs[run]?.lastHeard = now }
    }

    private var silenceEnds: Instant {
        let interval = gateway?.tickInterval ?? .seconds(30)
        return lastFrame + interval + interval
    }

    // MARK: Loss

    /// The link is gone; when to try again is drawn by `settle`.
    mutating func lose(_ reason: String, _ retry: Retry, _ trouble: Trouble? = nil, at now: Instant) {
        leaveSocket(at: now)
        self.trouble = trouble
        state = .lost(reason: reason, retry)
    }

    /// Everything that belongs to the socket, and nothing that outlives it.
    mutating func leaveSocket(at now: Instant) {
        if case .live(let since) = state {
            backOff.linkHeld(for: now - since)
            formerGateway = gateway
            observed([.linkLost])
        }
        gateway = nil
        pausedSince = nil
        decoder.socketLost()
        pending.removeAll()
        subscribed.removeAll()
        listedApprovals.removeAll()
        settledWhileAsked.removeAll()
        lastOuterSequence = nil
        leaveRequests()
    }

    /// Draws the delay of a loss that was decided in this event.
    mutating func settle(at now: Instant, using random: inout some RandomNumberGenerator) {
        guard case .lost(let reason, let retry) = state else { return }
        let delay: Duration
        switch retry {
        case .atOnce: return dial(at: now)
        // Never at once, whatever the far side says.
        case .after(let told): delay = max(told, .milliseconds(250))
        case .byBackOff: delay = backOff.next(using: &random)
        }
        state = .waiting(until: now + delay)
        orders.append(.note(.waiting(reason: reason, retryAt: now + delay, trouble)))
    }

    // MARK: Time

    mutating func watch(at now: Instant) {
        switch state {
        case .dialling(let until) where until <= now: giveUp("the gateway did not answer the call", at: now)
        case .greeting(let until) where until <= now: giveUp("the gateway sent no challenge", at: now)
        case .introducing(_, let until) where until <= now: giveUp("the gateway did not greet", at: now)
        case .live where pausedSince == nil && silenceEnds <= now:
            orders.append(.close(code: 4000, reason: "tick timeout"))
            lose("the gateway fell silent", .byBackOff, at: now)
        case .waiting(let until) where until <= now: dial(at: now)
        case .idle, .dialling, .greeting, .introducing, .live, .lost, .waiting: return
        }
    }

    private mutating func giveUp(_ reason: String, at now: Instant) {
        orders.append(.close(code: 1000, reason: "handshake timeout"))
        lose(reason, .byBackOff, at: now)
    }

    mutating func wokeUp(at now: Instant) {
        switch state {
        case .greeting, .introducing, .live, .dialling:
            orders.append(.close(code: 4000, reason: "machine slept"))
            lose("the machine slept", .atOnce, at: now)
        case .waiting: state = .lost(reason: "the machine slept", .atOnce)
        case .idle, .lost: return
        }
    }

    // MARK: Gaps

    /// A hole in the numbers of broadcasts means lost frames: the runs are asked for (openclaw.md#disconnects), and the approvals, which are
    /// dropped for a slow socket like deltas (openclaw.md#four-different-counters). E1 has one counter for all
    /// its clients, where holes mean nothing (openclaw.md#four-different-counters).
    mutating func noticeSequence(_ root: FrameNode, at now: Instant) {
        #if PLANTED_FAULTS
            let range = PlantedFault.sequenceUnbounded.isPlanted ? Int.min...Int.max : .counts
        #else
            let range = ClosedRange<Int>.counts
        #endif
        guard isLive, let sequence = root["seq"]?.integer(in: range) else { return }
        defer { lastOuterSequence = max(sequence, lastOuterSequence ?? 0) }
        guard !decoder.tellsNewestSegment, let last = lastOuterSequence, sequence > last + 1 else { return }
        orders.append(.note(.framesLost(sequence - last - 1)))
        listApprovals(at: now)
        for run in runs.keys.sorted() where runs[run]?.isFollowed == true {
            if let session = runs[run]?.session { lookUp(run, in: session, isAsked: false, at: now) }
        }
    }

    mutating func lookUpQuietRuns(at now: Instant) {
        let quiet = runs.filter { $0.value.isFollowed && $0.value.lastHeard + Self.quietLimit <= now }
        for (run, known) in quiet.sorted(by: { $0.key < $1.key }) {
            runs[run]?.lastHeard = now
            lookUp(run, in: known.session, isAsked: false, at: now)
        }
    }

    /// Counted by name, told once a minute.
    mutating func tellUnknown(at now: Instant) {
        guard now >= unknownDue, decoder.unknown != toldUnknown else { return }
        toldUnknown = decoder.unknown
        unknownDue = now + Self.unknownInterval
        orders.append(.note(.unknown(toldUnknown)))
    }
}
