import AgentKit
import JSONReading
import Vocabulary

/// A prompt of ours whose run has not begun.
struct PiPrompted {
    var run: RunID
    var text: String
    /// pi has taken the prompt, which it says before its loop begins (pi.md#shape).
    var isTaken = false

    /// A command's run quotes other words, so no message can confirm it.
    var isCertain: Bool { isTaken || text.hasPrefix("/") }

    func isSaid(by message: FrameNode?) -> Bool {
        guard message?["role"]?.holds("user") == true else { return false }
        return message?["content"]?.contentText.map { PromptText.isPrompt($0, text) } == true
    }
}

/// How a loop's end becomes the run's end, by the version that the process has shown (pi.md#later-lines-l-what-changes).
enum PiPatience {
    case early
    /// `agent_end` announces a retry; no `agent_settled` was seen so far.
    case promises
    /// `agent_settled` says that nothing more will happen.
    case settles

    var duration: Duration {
        switch self {
        case .early: .milliseconds(250)
        case .promises: .seconds(5)
        case .settles: .seconds(30)
        }
    }

    /// Whether this event of an early version belongs to another loop. Unknown kinds decide nothing.
    func ends(at type: String) -> Bool { self == .early && Self.ofLoops.contains(type) }

    private static let ofLoops: Set = [
        "turn_start", "turn_end", "message_start", "message_update", "message_end", "tool_execution_start",
        "tool_execution_update", "tool_execution_end", "agent_end", "auto_retry_end",
    ]
}
