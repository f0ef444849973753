import JSONReading
import Vocabulary

/// Shell calls that have not returned, on gateways that detach approvals (E1, E2). These strip "waiting for
/// approval" from the result frame (openclaw.md#agent), so the command identifies the call when
/// `exec.approval.requested` arrives, which precedes that frame (openclaw.md#approvals).
struct OpenCommands {
    struct Command {
        var run: RunID
        var session: AgentSession
        var call: ToolCallID
        var command: String
    }

    private static let limit = 256
    /// A longer command is not tracked; the shells of gateways take less.
    private static let longest = 131_072
    private var open: [Command] = []

    mutating func notice(_ payload: FrameNode, _ data: FrameNode, run: RunID) {
        guard let call = data["toolCallId"]?.string.map({ ToolCallID($0) }) else { return }
        switch data["phase"]?.string {
        case "start":
            guard let command = data["args"]?["command"]?.string, command.utf8.count <= Self.longest,
                let session = payload["sessionKey"]?.string
            else {
                return
            }
            if open.count >= Self.limit { open.removeFirst() }
            open.append(Command(run: run, session: AgentSession(session), call: call, command: command))
        case "result": open.removeAll { $0.call == call && $0.run == run }
        default: return
        }
    }

    /// The newest open call of this command in the session.
    func call(of command: String?, in session: String?) -> Command? {
        open.last { $0.command == command && $0.session.text == session }
    }

    mutating func forget() { open = [] }
}
