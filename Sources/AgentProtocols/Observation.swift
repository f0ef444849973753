package import BridgeModel

/// What one frame of an agent's bus tells, in the bridge's own words. Frames that we sent ourselves tell as much, so that a
/// recording can be followed.
package enum Observation: Hashable, Sendable {
    case signal(RunSignal)
    /// We asked the agent to do something.
    case prompt(AgentPrompt)
    case stopSent(session: AgentSession?, run: RunID?)
    case decisionSent(ApprovalID, ApprovalDecision)
    case sendAnswered(asked: RunID, SendAnswer)
    case lookedUp(RunID, RunLookup)
    case linkLost
    case linkBack
}

package struct AgentPrompt: Hashable, Sendable {
    package var session: AgentSession
    package var run: RunID
    package var text: String
}

/// What a decoder met and did not understand: counted by name, never fatal (DESIGN, section 5: "count what is unknown").
package struct UnknownTally: Sendable, Hashable {
    private static let limit = 100
    package private(set) var counts: [String: Int] = [:]
    package private(set) var malformed = 0

    mutating func count(_ kind: StaticString, _ name: String) {
        let key = "\(kind) \(name.prefix(60))"
        // Names come from outside: a bounded number is kept apart.
        counts[counts[key] != nil || counts.count < Self.limit ? key : "\(kind) (other)", default: 0] += 1
    }

    mutating func countMalformed() { malformed += 1 }
}

/// Frames of one agent, in order, to observations. Lives on one thread.
package protocol AgentDecoder {
    /// A frame from the agent. `capacity` tells how many bytes from its beginning may be read.
    mutating func received(_ frame: UnsafeRawBufferPointer, capacity: Int, at now: Instant) -> [Observation]
    /// A frame that went to the agent.
    mutating func sent(_ frame: UnsafeRawBufferPointer, capacity: Int, at now: Instant) -> [Observation]
    /// When `deadlineHit` is due, if nothing else comes.
    var nextDeadline: Instant? { get }
    mutating func deadlineHit(at now: Instant) -> [Observation]
    var unknown: UnknownTally { get }
}

package enum AgentKind: String, Sendable, Hashable, CaseIterable {
    case openclaw, oppi, pi

    package func decoder() -> any AgentDecoder {
        switch self {
        case .openclaw: OpenClawDecoder()
        case .oppi: OppiDecoder()
        case .pi: PiDecoder()
        }
    }
}
