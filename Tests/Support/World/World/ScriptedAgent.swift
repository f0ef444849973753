package import AgentKit
package import Vocabulary

/// An agent's double in a world: it follows scripts and records what it was asked. A run is named by its prompt's
/// text, which occurs once in a world.
package protocol ScriptedAgent: AgentDouble {
    /// Script of the agent for a prompt, by its text.
    var scripts: [String: GatewayScript] { get set }
    /// Accepted prompts and aborts, in order.
    var asked: [AgentAsked] { get }
    /// Decisions about approvals that the agent heard, in order.
    var decided: [AgentDecided] { get }
    /// Allowed approvals that ran, in order. A question runs nothing.
    var executed: [AgentExecuted] { get }
    /// Pictures of every accepted prompt that had any.
    var attached: [GatewayFiles] { get }
    /// Approvals that it asked about as a question with several options.
    var questions: Set<String> { get }
    /// Decisions of another client, by approval.
    var decidedElsewhere: [String: Bool] { get }
    /// Habits that the double showed.
    var tally: HabitTally { get }
    /// A run is at work or waits for a decision.
    var isBusy: Bool { get }
    /// A run that had begun by then continues.
    func isAtWork(since then: Instant) -> Bool
    /// Requests against the protocol's rules.
    var breaches: [String] { get }
    /// When the run of this prompt finished its script.
    func endedAt(_ prompt: String) -> Instant?
    /// Answers an HTTP request beside the sockets. Not called while the double is away or deaf.
    func answer(_ request: HTTPRequest) -> WorkResult
    /// The agent lost this prompt or its answer, through no fault of the bridge.
    func isLost(_ prompt: String) -> Bool
    /// The conversation before this prompt may have been deleted at the agent.
    func mayLackPast(_ prompt: String) -> Bool
    /// The run of this prompt ignores a stop.
    func ignoresStop(_ prompt: String) -> Bool
    /// The agent may refuse a Stop's requests for seconds.
    var refusesStops: Bool { get }
    /// The run of this prompt began before any history had it.
    func isUnwritten(_ prompt: String) -> Bool
    /// Deltas may be missing.
    var hasHoles: Bool { get }
    func happens(_ trouble: OppiTrouble)
    func happens(_ trouble: CodexMisfortune)
    /// The process ends, and starts again by itself or by its owner.
    func restarts()
    /// The owner must act first. False if the double cannot refuse by itself.
    func refuses(for duration: Duration) -> Bool
    /// Ends all troubles.
    func isWell()
    /// Whether a test may change numbers in this frame.
    func mayDistort(_ frame: [UInt8]) -> Bool
    /// A frame arrives at the bridge or leaves it.
    func passes(_ frame: [UInt8], toBridge isIncoming: Bool)
    /// The approval that a frame of the bridge answers without naming it.
    func approval(answeredBy frame: [UInt8]) -> String?
    /// Files of the agent on this machine.
    var paths: [String] { get }
    func file(at path: String) -> [UInt8]?
    /// Session that has this prompt, or nil if the double cannot tell.
    func session(of prompt: String) -> String?
}

package struct AgentAsked: Hashable, Sendable {
    package enum What: Hashable, Sendable { case prompt, abort }

    package var what: What
    package var prompt: String

    package init(_ what: What, _ prompt: String) {
        self.what = what
        self.prompt = prompt
    }
}

package struct AgentDecided: Hashable, Sendable {
    package var approval: String
    package var isYes: Bool

    package init(_ approval: String, isYes: Bool) {
        self.approval = approval
        self.isYes = isYes
    }
}

extension DoubleNetwork {
    /// Answers an HTTP request as the double does.
    package func answer(_ request: HTTPRequest, from agent: any ScriptedAgent) -> WorkResult {
        guard isReached else { return .failed(WorkFailure(.unreachable, "connection refused")) }
        guard !refuses else {
            return .answered(HTTPResponse(status: 401, body: Array(#"{"error":"Unauthorized"}"#.utf8)))
        }
        return agent.answer(request)
    }
}

extension ScriptedAgent {
    package func answer(_ request: HTTPRequest) -> WorkResult {
        .failed(WorkFailure(.unreachable, "connection refused"))
    }

    package func isAtWork(since then: Instant) -> Bool { isBusy }
    package var executed: [AgentExecuted] { [] }
    package var attached: [GatewayFiles] { [] }
    package var questions: Set<String> { [] }
    package var decidedElsewhere: [String: Bool] { [:] }
    package func isLost(_ prompt: String) -> Bool { false }
    package func mayLackPast(_ prompt: String) -> Bool { false }
    package func ignoresStop(_ prompt: String) -> Bool { false }
    package var refusesStops: Bool { false }
    package func isUnwritten(_ prompt: String) -> Bool { false }
    package var hasHoles: Bool { false }
    package func happens(_ trouble: OppiTrouble) {}
    package func happens(_ trouble: CodexMisfortune) {}
    package func restarts() {}
    package func refuses(for duration: Duration) -> Bool { false }
    package func isWell() {}
    package func mayDistort(_ frame: [UInt8]) -> Bool { true }
    package func passes(_ frame: [UInt8], toBridge isIncoming: Bool) {}
    package func approval(answeredBy frame: [UInt8]) -> String? { nil }
    package var paths: [String] { [] }
    package func file(at path: String) -> [UInt8]? { nil }
    package func session(of prompt: String) -> String? { nil }

    /// Number of runs that began with each prompt.
    package var begun: [String: Int] {
        asked.reduce(into: [:]) { begun, asked in if asked.what == .prompt { begun[asked.prompt, default: 0] += 1 } }
    }
}
