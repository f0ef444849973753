import Vocabulary

/// A thread on the disk of the scripted Codex (codex.md#what-survives).
final class CodexRollout {
    /// A thread without a turn has no file. The file stays empty until the first turn writes the user's message.
    enum File { case absent, empty, written }

    let id: String
    var file = File.absent
    /// Turns with a message of the user, oldest first.
    var turns: [CodexServedTurn] = []
    /// Tokens of all model requests of the thread.
    var tokens = 0
    var isArchived = false
    /// Another program writes the thread until then, unless the server has it loaded.
    var foreignUntil = Instant.zero

    init(_ id: String) { self.id = id }
}

/// A thread that the server's process has loaded.
final class CodexLoaded {
    let rollout: CodexRollout
    var subscribers: Set<Int> = []
    var status = "idle"
    var turn: CodexServedTurn?
    /// Open asks, by the number of the request.
    var asks: [Int: CodexServedAsk] = [:]
    /// Commands allowed for the session.
    var grants: Set<String> = []
    /// Commands that outlive their turn, by process id.
    var terminals: [String: (item: GatewayValue, turn: String)] = [:]
    var wasInterrupted = false
    /// Interrupts of an interrupted turn. Codex answers them when the next turn ends.
    var lateInterrupts: [(client: Int, id: GatewayValue)] = []

    init(_ rollout: CodexRollout) { self.rollout = rollout }

    var id: String { rollout.id }
}

final class CodexServedTurn {
    let id: String
    /// Label of the client message that began the turn, or nil for another client's turn.
    let label: String?
    /// Prompts that the turn answers. Steering adds to them.
    var prompts: [String]
    var isForeign: Bool
    var steps: ArraySlice<GatewayScript.Timed>
    /// Messages for the next model request.
    var steers: [CodexSteer] = []
    /// Counts model requests. A steer starts another one.
    var request = 0
    /// Items that have ended, as the record has them.
    var items: [GatewayValue] = []
    var status = "inProgress"
    /// A client has heard of the end, by a notification or in a list.
    var endIsKnown = false
    var error: GatewayValue?
    var hasBegun = false
    /// Nil while the turn runs. A turn whose process died keeps nil.
    var completedAt: Int?
    /// The message that is being streamed.
    var message: (id: String, text: String)?
    /// The last message of the agent that ended.
    var answer: GatewayValue?
    /// The command that has begun and not ended.
    var tool: GatewayValue?
    /// Number of the request that the turn waits for.
    var waitsFor: Int?

    init(_ id: String, _ prompt: String, label: String?, isForeign: Bool, _ steps: [GatewayScript.Timed]) {
        self.id = id
        self.label = label
        self.isForeign = isForeign
        self.steps = steps[...]
        prompts = [prompt]
    }

    var isOver: Bool { status != "inProgress" }

    /// Items that a list of turns shows in this view.
    func items(_ view: String) -> [GatewayValue] {
        switch view {
        case "full": items
        case "summary":
            items.filter { $0["type"]?.string == "userMessage" }.prefix(1)
                + items.filter { $0["type"]?.string == "agentMessage" }.suffix(1)
        default: []
        }
    }

    /// The turn as JSON. `items` depends on the view: full, summary or none.
    func value(_ items: [GatewayValue]) -> GatewayValue {
        [
            "id": "\(id)", "items": .array(items), "status": "\(status)", "error": error ?? .null,
            "startedAt": hasBegun ? 1_770_000_000 : .null, "completedAt": completedAt.map { .integer($0) } ?? .null,
        ]
    }
}

/// A message that arrived during a turn.
struct CodexSteer {
    var text: String
    var label: String?
    var steps: [GatewayScript.Timed]
    /// Counts as asked from the receipt on. False if it counts only once its item begins.
    var isCounted = true
}

/// A request of the server to the clients of a thread.
struct CodexServedAsk {
    var turn: CodexServedTurn
    var method: String
    var params: GatewayValue
    /// The script's name of the approval.
    var approval: String
    var isQuestion: Bool
    var command: String
    var trick: CodexTrick?
    /// Effect of a yes.
    var executes: AgentExecuted

    /// The same item has asked before.
    var isAgain: Bool { approval.hasSuffix("-2") }

    /// The patch item that the ask is about.
    var change: GatewayValue? {
        trick == .patch || trick == .grantRoot ? params["itemId"].map { ScriptedCodex.change(command, $0) } : nil
    }
}

/// One process of the server. Only the disk outlives it.
final class CodexProcess {
    struct Client {
        var line: DoubleLine
        var isGreeted = false
        var isExperimental = false
        var silenced: Set<String> = []
        /// Frames of the client that wait. The server handles one after another.
        var inbox: ArraySlice<GatewayValue> = []
        var isWorking = false
    }

    /// The bridge's child, or nil if a person started the server.
    let program: DoubleLine?
    var isListening = false
    var threads: [String: CodexLoaded] = [:]
    var clients: [Int: Client] = [:]
    /// Number of the server's next request, over all threads, from 0.
    var requests = 0
    /// Name of the approval, by request.
    var approvals: [Int: String] = [:]

    init(_ program: DoubleLine?) { self.program = program }

    var loaded: [CodexLoaded] { threads.values.sorted { $0.id < $1.id } }
}
