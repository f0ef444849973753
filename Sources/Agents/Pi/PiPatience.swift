import AgentKit
import JSONReading
import Vocabulary

/// A prompt of ours whose run has not begun.
struct PiPrompted {
    var run: RunID
    var text: String
    /// pi has taken it, which it says before its loop begins (pi.md#shape).
    var isTaken = false

    /// A command is said in other words.
    var isCertain: Bool { isTaken || text.hasPrefix("/") }

    func isSaid(by message: FrameNode?) -> Bool {
        guard message?["role"]?.holds("user") == true else { return false }
        return message?["content"]?.contentText.map { PromptText.isPrompt($0, text) } == true
    }
}

/// How the end of a loop becomes the end of a run, by what the process has shown of its line (pi.md#later-lines-l-what-changes).
enum PiPatience {
    case early
    /// `agent_end` says whether a retry follows; `agent_settled` was not seen yet.
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

    /// An event of the earlier line that belongs to another loop. Kinds that are not known decide nothing.
    func ends(at type: String) -> Bool { self == .early && Self.ofLoops.contains(type) }

    private static let ofLoops: Set = [
        "turn_start", "turn_end", "message_start", "message_update", "message_end", "tool_execution_start",
        "tool_execution_update", "tool_execution_end", "agent_end", "auto_retry_end",
    ]
}
