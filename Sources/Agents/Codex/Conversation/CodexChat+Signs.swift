import AgentKit
import JSONReading
import Vocabulary

// Signs of life of the turn (DESIGN.md#silence).
extension CodexChat {
    /// Frames of the turn without anything to show: the model thinks, or a sub-agent works.
    mutating func alive(
        _ params: FrameNode, thread id: String, _ run: RunID?, at now: Instant
    ) -> [Order] {
        guard let run, let open = thread.turn?.id, id != place?.thread || params["turnId"]?.equals(open) == true,
            signs.isDue(run, at: now)
        else { return [] }
        return [observed(.alive(.working), of: run)]
    }

    /// The model request is made again, without limit if the network is down (codex.md#ends-and-errors). A sub-agent's retry says
    /// nothing about the turn.
    func retries(_ params: FrameNode, thread id: String, _ run: RunID?) -> [Order] {
        guard let run, let open = thread.turn?.id, id == place?.thread, params["turnId"]?.equals(open) == true,
            params["willRetry"]?.flag == true
        else { return [] }
        return [observed(.alive(.retrying), of: run)]
    }
}
