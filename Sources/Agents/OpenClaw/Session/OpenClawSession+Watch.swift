import AgentKit
import JSONReading
package import Vocabulary

// Losing the link, waiting, and noticing that it is dead (DESIGN.md#links-and-watchdogs).
extension OpenClawSession {

    /// A moment on the reading clock, which stands still while the socket is not read. Requests, look-ups, silence and ends in
    /// doubt count by it; the life of a key, the expiry of an ask, redials and retries count by the host's clock.
    func reading(_ now: Instant) -> Instant { now - unread }

    /// When `timePassed` is due, unless an event comes first.
    package var nextDeadline: Instant? {
        var moments = [life.nextDeadline, runs.nextGivenUp, runs.stops.nextEnd, approvals.nextExpiry]
        if isLive { moments += [runs.nextResend, approvals.nextResend, runs.stops.nextResend] }
        return moments.compactMap(\.self).min()
    }

    /// The same for deadlines of the reading clock.
    package var nextReadingDeadline: Instant? {
        guard isLive else { return nil }
        let request = leaving.map { requests.deadline(of: $0) } ?? requests.nextDeadline
        return [
            life.nextSilence, request, runs.nextQuiet, runs.verdicts.nextDue, runs.teardowns.nextDue,
            runs.adopted.nextDue,
        ].compactMap(\.self).min()
    }

    package var mayPauseReading: Bool { isLive }

    // MARK: Loss

    /// The link is lost; `settle` draws the time of the next try.
    mutating func lose(_ reason: String, _ redial: Redial, _ trouble: Trouble? = nil, at now: Instant) {
        leftSocket(life.lose(reason, redial, at: now), at: now)
        outage.trouble = trouble
    }

    /// Drops the state of the socket, and keeps the rest.
    mutating func leftSocket(_ left: Greeted?, at now: Instant) {
        if let left {
            introduction.lost(left.gateway)
            observed([.linkLost])
        }
        decoder.socketLost()
        for request in requests.socketLost() { refuseLost(request) }
        approvals.socketLost()
        heartbeats.removeAll()
        runs.socketLost(at: now)
        if let run = uploads.current?.run { orders.append(.dropLoad(run)) }
        uploads.socketLost()
        lookUps.socketLost()
    }

    /// Draws the delay after a loss that this event caused.
    mutating func settle(at now: Instant, using random: inout some RandomNumberGenerator) {
        switch life.settle(at: now, using: &random) {
        case .dial: dial(at: now)
        case .wait(let reason, let until):
            orders.append(.note(.waiting(reason: reason, retryAt: until, outage.trouble)))
        case nil: return
        }
    }

    // MARK: Time

    mutating func watch(at now: Instant) {
        switch life.due(at: now, read: reading(now)) {
        case .unopened: giveUp("the gateway did not answer the call", at: now)
        case .ungreeted(.challenge): giveUp("the gateway sent no challenge", at: now)
        case .ungreeted(.hello): giveUp("the gateway did not greet", at: now)
        case .silent:
            orders.append(.close(code: 4000, reason: "tick timeout"))
            lose("the gateway fell silent", .byBackOff, at: now)
        case .redial: dial(at: now)
        case nil: return
        }
    }

    private mutating func giveUp(_ reason: String, at now: Instant) {
        orders.append(.close(code: 1000, reason: "handshake timeout"))
        lose(reason, .byBackOff, at: now)
    }

    mutating func wokeUp(at now: Instant) {
        guard life.wokeUp() else { return }
        orders.append(.close(code: 4000, reason: "machine slept"))
        lose(LinkLife<Awaited, Greeted>.sleepReason, .atOnce, at: now)
    }

    // MARK: Gaps

    /// Looks up runs and approvals after lost frames: a hole in the numbers of broadcasts (openclaw.md#disconnects). A slow
    /// socket loses approvals like deltas (openclaw.md#four-different-counters). Protocol 3 counts for all clients
    /// together, so its holes mean nothing (openclaw.md#four-different-counters).
    mutating func noticeSequence(_ root: FrameNode, at now: Instant) {
        guard isLive, let sequence = root["seq"]?.integer(in: .counts),
            let lost = life.withLive({ $0.lost(before: sequence) }), lost > 0, gateway?.isNew == true
        else { return }
        orders.append(.note(.framesLost(lost)))
        listApprovals(at: now)
        for run in runs.followed {
            if let session = runs[run]?.session { lookUp(run, in: session, isAsked: false, at: now) }
        }
    }

    mutating func lookUpQuietRuns(at now: Instant) {
        for run in runs.quiet(at: reading(now)) {
            runs.heard(run, at: reading(now))
            if let session = runs[run]?.session { lookUp(run, in: session, isAsked: false, at: now) }
        }
    }
}
