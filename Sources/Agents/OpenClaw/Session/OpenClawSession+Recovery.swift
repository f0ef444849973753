import AgentKit
import JSONReading
import Vocabulary

// Recovery after the greeting, in the order of openclaw.md#disconnects: first
// the events, then missing answers, then kept requests.
extension OpenClawSession {
    mutating func recover(at now: Instant) {
        if gateway?.offers("sessions.subscribe") == true {
            ask(.subscribe, "sessions.subscribe", Array("{}".utf8), at: now)
        }
        for session in Set(runs.sessions + lookUps.sessions).sorted() {
            follow(session, at: now)
        }
        let hasRestarted = gateway?.hasRestarted(since: introduction.formerGateway) == true
        if hasRestarted { approvals.gatewayRestarted() }
        approvals.gatewayBegan(gateway?.startedAfter)
        listApprovals(at: now)
        observed([.linkBack])
        let held = runs.held
        recoverRuns(hasRestarted: hasRestarted, at: now)
        for approval in approvals.kept { sendDecision(approval, at: now) }
        for run in runs.stops.runs {
            runs.stops.beginAnew(run)
            if runs.stops[run]?.errand != .asked { sendStop(run, at: now) }
        }
        for run in held { handOver(run, at: now) }
        // A gateway without a list keeps no question beyond its process.
        if gateway?.offers("exec.approval.list") == false { withdrawDead() }
        // Ends that became due while the link was down.
        advanceEnds(at: now)
    }

    /// Subscribes once for each session and socket.
    mutating func follow(_ session: AgentSession, at now: Instant) {
        guard gateway?.offers("sessions.messages.subscribe") == true,
            life.withLive({ $0.follows(session) }) == true
        else { return }
        var params = JSONObjectWriter()
        params.string("key", session.text)
        ask(.subscribe, "sessions.messages.subscribe", params.finish(), at: now)
    }

    mutating func listApprovals(at now: Instant) {
        guard let gateway, gateway.grants("operator.approvals") != false,
            requests.count(of: .approvals) < 4
        else { return }
        if gateway.offers("exec.approval.list") { ask(.approvals, "exec.approval.list", Array("{}".utf8), at: now) }
        if gateway.offers("plugin.approval.list") { ask(.approvals, "plugin.approval.list", Array("{}".utf8), at: now) }
    }

    private mutating func recoverRuns(hasRestarted: Bool, at now: Instant) {
        runs.missedFrames()
        for run in runs.all {
            guard let known = runs[run] else { continue }
            if !known.isHeld { decoder.missed(runs.adopted.answer(to: run) ?? run) }
            switch known.stage {
            case .held: continue
            case .accepted: lookUps.mark(run, in: known.session, isAsked: true, at: reading(now))
            case .asked(let since, _, _):
                if known.isHeard || known.isStopped {
                    // Frames of the run stood in for the answer. A stopped message must not begin
                    // again; if its run had begun, the stop that follows ends it.
                    runs.acceptedUnanswered(run)
                    if known.isStopped, runs.stops[run] == nil { runs.stops.keep(run, in: known.session, at: now) }
                    if known.isHeard { answer(run, .accepted(run: run)) }
                    lookUps.mark(run, in: known.session, isAsked: true, at: reading(now))
                } else if !hasRestarted, !known.files.areGone, knowsKey(sentAt: since, at: now) {
                    runs.beginAnew(run)
                    handOver(run, at: now)
                } else {
                    lookUps.mark(run, in: known.session, isAsked: false, at: reading(now))
                    lookUps.settleSend(of: run)
                }
            }
        }
        for (session, runs) in lookUps.due { askHistory(of: session, for: runs, at: now) }
    }

    /// Whether the gateway's process began after that moment. If its age leaves that open, a restart since
    /// the last greeting decides: a message that left for the former process is not this one's.
    func isYounger(than moment: Instant) -> Bool {
        guard let gateway, let after = gateway.startedAfter, let before = gateway.startedBefore else { return false }
        if after > moment { return true }
        guard before > moment, let former = introduction.formerGateway else { return false }
        return gateway.hasRestarted(since: former)
    }

    /// Whether the process that got the message is the one that greeted us, and still knows the key (openclaw.md#chatsend,
    /// openclaw.md#disconnects). A process without an age counts as the same only if it greeted us before.
    private func knowsKey(sentAt since: Instant, at now: Instant) -> Bool {
        guard now - since < Self.keyLife, let gateway else { return false }
        return gateway.startedBefore.map { $0 <= since } ?? (introduction.formerGateway != nil)
    }
}
