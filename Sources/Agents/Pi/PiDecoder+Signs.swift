import AgentKit
import Vocabulary

// Signs of life of the run (DESIGN.md#silence).
extension PiDecoder {
    /// The model thinks, or writes the arguments of a tool. A recording has no `signs`: no person waits for them.
    mutating func alive(at now: Instant) -> [Observation] {
        guard mayRun, signs?.isDue(run, at: now) == true else { return [] }
        return [signal(.alive(.working))]
    }
}
