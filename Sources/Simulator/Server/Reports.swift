import Locking
import RelayRules

// The control routes' answers, as JSON.

struct BreachReport: Encodable {
    let code: String
    let sentence: String
    let method: String
    let request_id: String
    let at_ms: Int64

    init(_ breach: Breach) {
        code = breach.code.rawValue
        sentence = breach.sentence
        method = breach.method
        request_id = breach.request
        at_ms = breach.at.milliseconds
    }
}

struct WarningReport: Encodable {
    let code: String
    let sentence: String
    let method: String
    let count: Int
    let request_id: String
    let at_ms: Int64

    init(_ warning: Warning) {
        code = warning.code.rawValue
        sentence = warning.code.sentence
        method = warning.method
        count = warning.count
        request_id = warning.request
        at_ms = warning.at.milliseconds
    }
}

struct StateReport: Encodable {
    struct Session: Encodable {
        let session_id: String
        let messages: Int
        let unfinished_messages: Int
        let tasks: Int
        let unfinished_tasks: Int
    }

    struct Calls: Encodable {
        let calls: [String: Int]
        let refusals: [String: Int]
        let tokens_taken: [String: Int]
        let replays: Int
        let faults: Int
    }

    let sessions: [Session]
    let buckets: [String: Double]
    let tally: Calls
    let pending_approvals: [String]
    let pending_updates: Int
    let phones: Int
    let bridges: Int
    let breaches: Int
    let warnings: Int
}

extension RelaySimulator {
    func stateReport() -> StateReport {
        let now = clock.now()
        return state.withLock { state in
            let tally = state.relay.tally
            let levels = settings.relay.buckets.keys.map { ($0, state.relay.level(of: $0, at: now)) }
            return StateReport(
                sessions: state.relay.sessions.map { session in
                    StateReport.Session(
                        session_id: session.id, messages: session.messages.count,
                        unfinished_messages: session.messages.filter { !$0.isFinal }.count, tasks: session.tasks.count,
                        unfinished_tasks: session.tasks.filter { $0.status == nil }.count)
                },
                buckets: Dictionary(uniqueKeysWithValues: levels),
                tally: StateReport.Calls(
                    calls: tally.calls, refusals: tally.refusals, tokens_taken: tally.tokensTaken,
                    replays: tally.replays, faults: tally.faults),
                pending_approvals: state.relay.pendingApprovals.map(\.id),
                pending_updates: state.relay.pendingUpdates().count, phones: state.readerCount,
                bridges: state.relay.socketReports.count,
                breaches: state.relay.breaches.count, warnings: state.relay.warnings.reduce(0) { $0 + $1.count })
        }
    }
}
