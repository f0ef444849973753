import AgentKit
import BridgeModel
import JSONReading

// After the greeting, in the order of openclaw.md#disconnects: first the events, then what is missing, then what was kept.
extension OpenClawSession {
    mutating func recover(at now: Instant) {
        ask(.subscribe, "sessions.subscribe", Array("{}".utf8), at: now)
        for session in Set(runs.values.map(\.session) + lookUps.values.map(\.session)).sorted() {
            follow(session, at: now)
        }
        listApprovals(at: now)
        observed([.linkBack])
        let hasRestarted = gateway?.hasRestarted(since: formerGateway) == true
        let held = runs.filter(\.value.isHeld).keys.sorted()
        recoverRuns(hasRestarted: hasRestarted, at: now)
        for approval in approvals.kept { sendDecision(approval, at: now) }
        for run in stops.keys.sorted() {
            stops[run]?.tries = 0
            if stops[run]?.isAsked == false { sendStop(run, at: now) }
        }
        for run in held { handOver(run, at: now) }
    }

    /// Once for each session and socket.
    mutating func follow(_ session: AgentSession, at now: Instant) {
        guard life.withLive({ $0.follows(session) }) == true else { return }
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
        for (run, known) in runs.sorted(by: { $0.key < $1.key }) {
            runs[run]?.hasMissed = true
            switch known.stage {
            case .held: continue
            case .accepted: mark(run, known.session, isAsked: true, at: now)
            case .asked(let since, _):
                if known.isHeard || known.isStopped {
                    // Its frames were its answer. One that was stopped must not begin again; if it had begun, the stop that
                    // follows ends it.
                    runs[run]?.stage = .accepted
                    if known.isStopped, stops[run] == nil { keepStop(run, in: known.session, at: now) }
                    if known.isHeard { answer(run, .accepted(run: run)) }
                    mark(run, known.session, isAsked: true, at: now)
                } else if !hasRestarted, knowsKey(sentAt: since, at: now) {
                    runs[run]?.stage = .asked(since: since, tries: 0)
                    handOver(run, at: now)
                } else {
                    mark(run, known.session, isAsked: false, at: now)
                    lookUps[run]?.settlesSend = true
                }
            }
        }
        let due = Dictionary(grouping: lookUps.filter { $0.value.step == .due }.keys) { lookUps[$0]?.session }
        for session in due.keys.compactMap({ $0 }).sorted() {
            askHistory(of: session, for: (due[session] ?? []).sorted(), .history, at: now)
        }
    }

    /// The process that was asked is the one that greeted us, and remembers the key (openclaw.md#chatsend, openclaw.md#disconnects). One that does not say how
    /// old it is counts as the same only where we saw it before.
    private func knowsKey(sentAt since: Instant, at now: Instant) -> Bool {
        guard now - since < Self.keyLife, let gateway else { return false }
        return gateway.startedAt.map { $0 <= since } ?? (formerGateway != nil)
    }

    private mutating func mark(_ run: RunID, _ session: AgentSession, isAsked: Bool, at now: Instant) {
        var known = lookUps[run] ?? LookUp(session: session, isAsked: isAsked, begunAt: now)
        known.isAsked = known.isAsked || isAsked
        lookUps[run] = known
    }
}
