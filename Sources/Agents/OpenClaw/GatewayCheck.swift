package import AgentKit
package import Vocabulary

/// The check of one gateway for `doctor`: findings from its files, then one verdict of the gateway itself.
package struct GatewayCheck {
    private static let limit = Duration.seconds(15)

    private enum State {
        case notBegun, asking(until: Instant), over
    }

    let address: WebAddress
    let connection: String
    /// Findings from OpenClaw's files, reported before the gateway answers.
    let known: [DoctorFinding]
    private var state = State.notBegun
    private let judge = GatewayJudge()

    package init(of address: WebAddress, connection: String, known: [DoctorFinding]) {
        self.address = address
        self.connection = connection
        self.known = known
    }

    var deadline: Instant? {
        if case .asking(let until) = state { until } else { nil }
    }

    mutating func begin(at now: Instant) -> [DoctorFinding] {
        state = .asking(until: now + Self.limit)
        return known
    }

    mutating func hear(_ order: OpenClawSession.Order) -> [DoctorFinding]? {
        guard case .asking = state, let verdict = judge.hear(order) else { return nil }
        return conclude(verdict)
    }

    /// Silence until the deadline is a verdict too.
    mutating func timePassed(at now: Instant) -> [DoctorFinding]? {
        guard case .asking(let until) = state, until <= now else { return nil }
        return conclude(nil)
    }

    mutating func foreignListener(_ message: String) -> [DoctorFinding]? {
        guard case .asking = state else { return nil }
        state = .over
        return [
            DoctorFinding(.agentListener, .failed, message, connection: connection, exitCode: .agentUnreachable)
        ]
    }

    private mutating func conclude(_ verdict: GatewayVerdict?) -> [DoctorFinding] {
        state = .over
        return DoctorFinding.gateway(verdict, address: address, connection: connection)
    }
}
