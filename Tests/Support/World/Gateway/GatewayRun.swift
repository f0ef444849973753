import Vocabulary

/// One run of the scripted gateway's agent.
struct GatewayRun {
    enum State: Hashable {
        case active
        /// An inline approval holds it.
        case held(approval: String)
        case ended, failed(String), aborted
        /// Its gateway restarted.
        case dead
    }

    var id: String
    var session: String
    /// Nil for a follow-up: no message of a user began it.
    var question: String?
    var steps: ArraySlice<GatewayScript.Timed>
    var detaches: Bool
    var saysWhenDetached = ""
    var commandTakes = Duration.milliseconds(1_900)
    var notice: String?
    /// The connection that asked for it: tool frames go there (openclaw.md#which-events-reach-whom).
    var owner: Int?
    var state = State.active
    var hasBegun = false
    /// When it said all that it had to say.
    var endedAt: Instant?
    var sequence = 0
    /// What the agent said since the last tool call, and before that.
    var segment = ""
    var earlier = ""
    /// What `assistant` said last of the newest message.
    var saidText = ""
    /// The run's text as `chat` makes it.
    var chatText = ""
    /// The text of the last delta, for the difference to the next (E3 on).
    var sentText = ""
    /// When a delta left last: they are paced (openclaw.md#chat).
    var sentAt: Instant?
    var startedAtMilliseconds = 0
    /// The scheduler's job, which ends with it.
    var job: String?
    /// A later attempt of the first era, which has no chat.
    var hidesSession = false
    /// The agent let go of it: its frames have no more than they must.
    var isTornDown = false
    /// A tool call is among its steps so far.
    var hasCalled = false
    /// Beside the conversation: without a lifecycle and without rows.
    var isAside = false
    /// The time from a stop to the agent's release of the run; nil: the usual one of the era.
    var letsGoAfter: Duration?
    /// The moment of the last `assistant` frame, and the text held back since.
    var spokenAt: Instant?
    var unspoken = ""
    /// Files that the newest message has sent along.
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
    /// The place in the session.
    var number = 0
    /// The usage of the model call.
    var usage: GatewayValue?
}

/// Where and by what the agent runs a command.
package struct GatewayPlace: Sendable, Hashable {
    package var cwd: String?
    package var nodeId: String?
    package var resolvedPath: String?
    /// It runs these without a shell.
    package var commandArgv: [String]?
    /// What it does to get more out of a yes than was shown.
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
    /// As the script names it.
    var name: String
    var run: String
    var session: String
    var command: String
    var place: GatewayPlace
    var createdAtMilliseconds: Int
    var expiresAtMilliseconds: Int
    /// The steps of the follow-up, where it is detached.
    var followUp: ArraySlice<GatewayScript.Timed>?
    var commandTakes = Duration.milliseconds(1_900)
    var notice: String?
    var decision: String?

    var isPlugin: Bool { place.trick == .plugin }
    var kind: String { isPlugin ? "plugin" : "exec" }
}
