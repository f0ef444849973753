package import AgentKit
package import Vocabulary

/// An agent's double that a world can have: it does what the scripts say, and knows what it was asked. Runs are named by the texts of
/// their prompts, which are said once in a world.
package protocol ScriptedAgent: AgentDouble {
    /// What it does with a prompt, by its text.
    var scripts: [String: GatewayScript] { get set }
    /// Prompts and aborts that it took, in order.
    var asked: [AgentAsked] { get }
    /// What it heard about its approvals, in order.
    var decided: [AgentDecided] { get }
    /// What it ran after the bridge's yes to an approval, in order; of a question nothing.
    var executed: [AgentExecuted] { get }
    /// The pictures of each prompt that had some and was taken.
    var attached: [GatewayFiles] { get }
    /// Approvals that it asked for as a choice among several.
    var questions: Set<String> { get }
    /// Of its approvals, what another client decided.
    var decidedElsewhere: [String: Bool] { get }
    /// What it did of its own accord.
    var tally: HabitTally { get }
    /// Some run continues, or waits for a decision.
    var isBusy: Bool { get }
    /// Some run that has begun continues.
    var isAtWork: Bool { get }
    /// Requests against its rules.
    var breaches: [String] { get }
    /// When the run of this prompt came to the end of its script.
    func endedAt(_ prompt: String) -> Instant?
    /// An HTTP request beside its sockets; not called while it is away or deaf.
    func answer(_ request: HTTPRequest) -> WorkResult
    /// This prompt, or its answer, was lost at the agent, for a reason that is not the bridge's.
    func isLost(_ prompt: String) -> Bool
    /// What was said before this prompt may have been deleted at the agent.
    func mayLackPast(_ prompt: String) -> Bool
    /// The run of this prompt continues after a stop.
    func ignoresStop(_ prompt: String) -> Bool
    /// What a Stop asks for may be refused for seconds.
    var refusesStops: Bool { get }
    /// The run of this prompt began, and no history had it yet.
    func isUnwritten(_ prompt: String) -> Bool
    /// Pieces of streamed text are left out.
    var hasHoles: Bool { get }
    func happens(_ trouble: OppiTrouble)
    func happens(_ trouble: CodexMisfortune)
    /// Its process ends, and starts again by itself or by its owner.
    func restarts()
    /// Its owner has to do something first. False: what leads to it refuses.
    func refuses(for duration: Duration) -> Bool
    /// Nothing goes wrong any more.
    func isWell()
    /// Numbers in this frame may be replaced by others.
    func mayDistort(_ frame: [UInt8]) -> Bool
    /// A frame arrives at the bridge, or leaves it.
    func passes(_ frame: [UInt8], toBridge isIncoming: Bool)
    /// Which approval a frame of the bridge answers that does not name it.
    func approval(answeredBy frame: [UInt8]) -> String?
    /// Its files on this machine.
    var paths: [String] { get }
    func file(at path: String) -> [UInt8]?
    /// Where its conversation is kept that has this prompt; nil: the double does not tell.
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
    /// The double's response to an HTTP request.
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

    package var isAtWork: Bool { isBusy }
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

    /// How often each prompt was begun.
    package var begun: [String: Int] {
        asked.reduce(into: [:]) { begun, asked in if asked.what == .prompt { begun[asked.prompt, default: 0] += 1 } }
    }
}
