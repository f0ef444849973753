package import AgentKit
import ConversationEngine
import JSONReading
package import Vocabulary

/// The state of reading the lines of one process of Claude Code.
package struct ClaudeReading: ConversationReading {
    var decoder: ClaudeDecoder
    var reach = ClaudeReach()
    /// Name of the session that this process begins, or nil if it continues one.
    var begins: String?
    /// Calls that an orphan had to refuse: the bubble names their number, and the next prompt tells the model.
    var refused: [String] = []
    private var isToldOfRefused = false
    /// A line about unasked calls for the first bubble of a session.
    var unasked: String?
    /// The model that was set last.
    var model: String?
    var models: [AgentModel] = []
    /// The permission mode that the person knows of.
    var mode: String?

    init(_ session: AgentSession, mark: String) {
        decoder = ClaudeDecoder(session, runPrefix: mark)
        decoder.signs = LifeSigns()
    }

    package var isFree: Bool { decoder.isFree }
    package var isIdle: Bool { decoder.isIdle }
    package var background: String? { decoder.busyWords }
    package var going: RunID? { decoder.turn.flatMap { $0.isOver ? nil : $0.run } }
    package var mayRun: Bool { decoder.mayRun }
    package var isPreparing: Bool { false }
    package var isRetrying: Bool { false }
    package func isRetryDue(at now: Instant) -> Bool { false }
    package var nextDeadline: Instant? { decoder.nextDeadline }
    package mutating func deadlineHit(at now: Instant) -> [Observation] { decoder.deadlineHit(at: now) }
    package mutating func slept(at now: Instant) { decoder.slept(at: now) }
    package mutating func giveUp() -> [Observation] { decoder.giveUp() }
    package mutating func abandonRun() { decoder.abandonRun() }
    package mutating func settle() -> [Observation] { decoder.settle() }

    package mutating func takeNews() -> String? {
        var lines: [String] = []
        if !refused.isEmpty, !isToldOfRefused {
            isToldOfRefused = true
            let (calls, them) = refused.count == 1 ? ("1 call", "it") : ("\(refused.count) calls", "them")
            lines.append(
                "\(calls) could not be asked about while the bridge was away, so Claude Code did not run \(them).")
        }
        if let unasked { lines.append(unasked) }
        unasked = nil
        return lines.isEmpty ? nil : lines.joined(separator: " ")
    }
}
