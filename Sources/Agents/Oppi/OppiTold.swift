import AgentKit
import JSONReading
import Vocabulary

/// What the ring of a session says of its last run, beside a trace that keeps failed and stopped messages without a mark
/// (oppi.md#over-rest).
struct OppiTold: Hashable {
    /// How a loop ended behind which the agent may try again.
    enum End { case failed, well }

    /// The words of its prompt.
    private(set) var prompt: String?
    /// Why its last message failed, or that another client has stopped it. The seed dialect names no failure.
    private(set) var failure: String?
    /// Nil: its loop goes on, was stopped, or the ring does not have its end.
    private(set) var end: End?
    /// A loop was at work when the ring was read. The status beside a trace may be a second older.
    var isRunning = false

    init(_ events: [FrameNode]) {
        var error: String?
        var isStopped = false
        var isEmpty = false
        for event in events {
            let type = event["type"]?.string
            if let type, OppiDecoder.isOfLoop(type, event) { end = nil }
            switch type {
            case "agent_start": (failure, isStopped, isEmpty, isRunning) = (nil, false, false, true)
            case "message_end" where event["role"]?.holds("user") == true:
                (prompt, failure) = (event["content"]?.string, nil)
            // A stop cuts the message that is being written, which ends then as any other.
            case "message_end":
                if !isStopped { failure = error }
                isEmpty = event["content"]?.string?.isEmpty != false
            case "tool_start", "tool_end": isEmpty = false
            case "agent_end":
                isRunning = false
                end = isStopped ? nil : failure != nil || isEmpty ? .failed : .well
            case "session_ended": isRunning = false
            case "stop_requested": (failure, isStopped) = (failure ?? OppiDecoder.elsewhere, true)
            case "stop_failed": (failure, isStopped) = (nil, false)
            default: break
            }
            error = type == "error" ? event["error"]?.string : nil
        }
    }
}
