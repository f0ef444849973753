import Vocabulary

/// One run of the scripted gateway's agent.
struct GatewayRun {
    enum State: Hashable {
        case active
        /// An inline approval holds the run.
        case held(approval: String)
        case ended, failed(String), aborted
        /// The gateway restarted.
        case dead
    }

    var id: String
    var session: String
    /// Text of the user's message, or nil for a follow-up, which no message began.
    var question: String?
    var steps: ArraySlice<GatewayScript.Timed>
    var detaches: Bool
    var saysWhenDetached = ""
    var commandTakes = Duration.milliseconds(1_900)
    var notice: String?
    /// The connection that asked for the run. Tool frames go there (openclaw.md#which-events-reach-whom).
    var owner: Int?
    var state = State.active
    var hasBegun = false
    /// When the run had said everything.
    var endedAt: Instant?
    var sequence = 0
    /// Text since the last tool call, and the text before it.
    var segment = ""
    var earlier = ""
    /// Newest message so far, as `assistant` last reported it.
    var saidText = ""
    /// The run's text as `chat` composes it.
    var chatText = ""
    /// Text of the last delta; the next one (from E3 on) reports the difference.
    var sentText = ""
    /// When the last delta left. The gateway paces them (openclaw.md#chat).
    var sentAt: Instant?
    var startedAtMilliseconds = 0
    /// The scheduler's job, which ends with the run.
    var job: String?
    /// A later attempt in E1, whose frames name no chat.
    var hidesSession = false
    /// The agent released the run: its frames carry only the mandatory members.
    var isTornDown = false
    /// The run has called a tool.
    var hasCalled = false
    /// A run beside the conversation, without a lifecycle and without rows.
    var isAside = false
    /// Time from a stop to the agent's release of the run, or nil for the era's usual time.
    var letsGoAfter: Duration?
    /// Moment of the last `assistant` frame, and the text held back since.
    var spokenAt: Instant?
    var unspoken = ""
    /// Files that the newest message carries.
    var files: [String] = []

    var isOver: Bool {
        switch state {
        case .active, .held: false
        case .ended, .failed, .aborted, .dead: true
        }
    }
}

/// One row of a session's history (openclaw.md#chathistory).
struct GatewayRow {
    var id: String
    var role: String
    var text: String
    var atMilliseconds: Int
    var key: String?
    var run: String?
    var stopReason: String?
    var errorMessage: String?
    /// Place of the row in the session.
    var number = 0
    /// Usage of the model call.
    var usage: GatewayValue?
}

/// Host on which the agent runs a command, and the program.
package struct GatewayPlace: Sendable, Hashable {
    package var cwd: String?
    package var nodeId: String?
    package var resolvedPath: String?
    /// Arguments of a command that runs without a shell.
    package var commandArgv: [String]?
    /// How the agent gets more out of a yes than the card showed.
    package var trick: GatewayTrick?

    package init(
        cwd: String? = "/home/ada/garden", nodeId: String? = nil, resolvedPath: String? = nil,
        commandArgv: [String]? = nil, trick: GatewayTrick? = nil
    ) {
        self.cwd = cwd
        self.nodeId = nodeId
        self.resolvedPath = resolvedPath
        self.commandArgv = commandArgv
        self.trick = trick
    }
}

struct GatewayApproval {
    var id: String
    /// The script's name of the approval.
    var name: String
    var run: String
    var session: String
    var command: String
    var place: GatewayPlace
    var createdAtMilliseconds: Int
    var expiresAtMilliseconds: Int
    /// Steps of the follow-up of a detached approval.
    var followUp: ArraySlice<GatewayScript.Timed>?
    var commandTakes = Duration.milliseconds(1_900)
    var notice: String?
    var decision: String?

    var isPlugin: Bool { place.trick == .plugin }
    var kind: String { isPlugin ? "plugin" : "exec" }
}
