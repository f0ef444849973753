import AgentKit
import JSONReading
import Vocabulary

/// The state of a session's last run according to its event ring. The trace beside it keeps
/// failed and stopped messages without a mark (oppi.md#over-rest).
struct OppiTold: Hashable {
    /// The end of a loop that the agent may retry.
    enum End { case failed, well }

    /// Words of the run's prompt.
    private(set) var prompt: String?
    /// Why the last message failed, or that another client stopped it. The seed dialect reports no failure.
    private(set) var failure: String?
    /// Nil if the loop is running, was stopped, or ended before the ring's oldest event.
    private(set) var end: End?
    /// A loop was running when the ring was read. The status beside a trace may be a second older.
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
            // A stop cuts off the message being written, which then ends like any other.
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
