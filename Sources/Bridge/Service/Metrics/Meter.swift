import BridgeCore
import Locking
import Metrics
import RelayProtocol
package import Vocabulary

/// Counts events for the metrics, from any thread. Its memory is allocated at the start and never grows (`LabelledCounts`).
package final class Meter: Sendable {
    struct Counts: Sendable {
        var turns: LabelledCounts
        var calls: LabelledCounts
        var refusals: LabelledCounts
        var reconnects: LabelledCounts
        var notices = LabelledCounts([NoticeEvent.allCases.map(\.rawValue), ["told", "failed", "dropped"]])
        /// DESIGN.md#what-is-measured: bounds on both sides of the aims.
        var placeholder = Histogram(bounds: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60])
        var addedLatency = Histogram(bounds: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5])
        var commits = Histogram(bounds: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 1, 5, 20])
    }

    static let sides = ["relay", "agent"]
    /// The last parts of the paths of calls (relay.md#bridge-rest-methods).
    static let methods = [
        "sendMessage", "sendMessageDelta", "sendMessageEnd", "createTask", "updateTask", "finishTask",
        "requestApproval", "createSession", "notifyToolFile", "devices", "recipients", "other",
    ]
    /// relay.md#codes
    static let codes = [
        "invalid_request", "invalid_token_location", "invalid_token", "permission_denied", "installation_revoked",
        "session_not_found", "agent_not_found", "interaction_not_found", "idempotency_conflict", "message_finalized",
        "session_deleted", "interaction_expired", "payload_too_large", "rate_limited", "content_blocked",
        "internal_error", "upstream_error", "temporarily_unavailable", "agent_degraded", "other",
    ]

    private let counts: Locked<Counts>
    var state: Counts { counts.withLock { $0 } }

    package init(connections: [ConnectionName]) {
        let names = connections.map(\.text)
        counts = Locked(
            Counts(
                turns: LabelledCounts([names, TurnOutcome.allCases.map(\.rawValue)]),
                calls: LabelledCounts([names, Self.methods, ["delivered", "refused", "unknown"]]),
                refusals: LabelledCounts([names, Self.codes]), reconnects: LabelledCounts([names, Self.sides])))
    }

    package func tell(_ event: LiveEvent) {
        switch event {
        case .turnEnded(let name, _, let outcome): counts.withLock { $0.turns.count(name.text, outcome.rawValue) }
        case .agentConnected(let name, _, _, isReconnect: true):
            counts.withLock { $0.reconnects.count(name.text, "agent") }
        case .relayConnected(let name, _, isReconnect: true):
            counts.withLock { $0.reconnects.count(name.text, "relay") }
        case .notice(_, .told(_, let event, _)): counts.withLock { $0.notices.count(event.rawValue, "told") }
        case .notice(_, .failed(_, let event, _, _)): counts.withLock { $0.notices.count(event.rawValue, "failed") }
        case .notice(_, .dropped(_, let event, _, _)): counts.withLock { $0.notices.count(event.rawValue, "dropped") }
        default: break
        }
    }

    /// `path` is the path of the call.
    func answered(_ path: String, _ answer: RelayAnswer, of connection: ConnectionName) {
        let method = path.split(separator: "/").last.map(String.init) ?? ""
        counts.withLock { counts in
            switch answer.outcome {
            case .delivered: counts.calls.count(connection.text, method, "delivered")
            case .unknown: counts.calls.count(connection.text, method, "unknown")
            case .refused(let refusal):
                counts.calls.count(connection.text, method, "refused")
                counts.refusals.count(connection.text, Self.name(of: refusal.code))
            }
        }
    }

    /// The relay has the bubble of a message that came so long ago.
    func opened(after wait: Duration) { counts.withLock { $0.placeholder.observe(wait) } }

    /// A call leaves with text that the agent wrote so long ago.
    func sentText(after wait: Duration) { counts.withLock { $0.addedLatency.observe(wait) } }

    package func committed(in time: Duration) { counts.withLock { $0.commits.observe(time) } }

    private static func name(of code: RelayErrorCode) -> String {
        codes.first { RelayErrorCode(name: $0) == code } ?? "other"
    }
}
