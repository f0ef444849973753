import BridgeModel
import JSONReading

// After the greeting, in the order of sheet 9: first the events, then what is missing, then what was kept.
extension OpenClawSession {
    mutating func recover(at now: Instant) {
        ask(.subscribe, "sessions.subscribe", Array("{}".utf8), at: now)
        for session in Set(runs.values.map(\.session) + lookUps.values.map(\.session)).sorted() {
            follow(session, at: now)
        }
        listApprovals(at: now)
        observed([.linkBack])
        let hasRestarted = gateway?.hasRestarted(since: formerGateway) == true
        let held = runs.filter { if case .held = $0.value.stage { true } else { false } }.keys.sorted()
        recoverRuns(hasRestarted: hasRestarted, at: now)
        for approval in decisions.keys.sorted() { sendDecision(approval, at: now) }
        for run in stops.keys.sorted() {
            stops[run]?.tries = 0
            sendStop(run, at: now)
        }
        for run in held { handOver(run, at: now) }
    }

    /// Once for each session and socket.
    mutating func follow(_ session: AgentSession, at now: Instant) {
        guard subscribed.insert(session).inserted else { return }
        var params = JSONObjectWriter()
        params.string("key", session.text)
        ask(.subscribe, "sessions.messages.subscribe", params.finish(), at: now)
    }

    private mutating func listApprovals(at now: Instant) {
        guard let gateway, gateway.grants("operator.approvals") != false else { return }
        if gateway.offers("exec.approval.list") { ask(.approvals, "exec.approval.list", Array("{}".utf8), at: now) }
        if gateway.offers("plugin.approval.list") { ask(.approvals, "plugin.approval.list", Array("{}".utf8), at: now) }
    }

    private mutating func recoverRuns(hasRestarted: Bool, at now: Instant) {
        for (run, known) in runs.sorted(by: { $0.key < $1.key }) {
            switch known.stage {
            case .held: continue
            case .accepted: mark(run, known.session, isAsked: true, at: now)
            case .asked(let since, _):
                if stops[run] != nil {
                    // It must not begin again; if it had begun, the stop that follows ends it.
                    runs[run]?.stage = .accepted
                    mark(run, known.session, isAsked: true, at: now)
                } else if now - since < Self.keyLife, !hasRestarted {
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

    private mutating func mark(_ run: RunID, _ session: AgentSession, isAsked: Bool, at now: Instant) {
        var known = lookUps[run] ?? LookUp(session: session, isAsked: isAsked, begunAt: now)
        known.isAsked = known.isAsked || isAsked
        lookUps[run] = known
    }
}
