import AgentKit
import JSONReading
import Vocabulary

// Signs of life of runs (DESIGN.md#silence).
extension OpenClawDecoder {
    /// Streams whose frames are work in progress without anything to show.
    private static let aside = ["assistant", "thinking", "plan", "usage", "run_status", "compaction"]

    mutating func agent(_ payload: FrameNode, at now: Instant) -> [Observation] {
        let shown = agent(payload)
        // Signs are for the live link; nobody watches a recording.
        guard shown.isEmpty, !isRecorded, let stream = payload["stream"]?.string, Self.aside.contains(stream),
            let id = payload["runId"]?.string
        else { return shown }
        let run = RunID(id)
        let isCompacting = stream == "compaction" && payload["data"]?["phase"]?.holds("start") == true
        guard isCompacting || signs.isDue(run, at: now) else { return [] }
        return [signal(run, payload, .alive(isCompacting ? .compacting : .working))]
    }
}
