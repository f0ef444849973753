import Vocabulary

/// A thread on the disk of the scripted Codex (codex.md#what-survives).
final class CodexRollout {
    /// A thread without a turn has no file; the file of its first turn is empty until the user's message is written.
    enum File { case absent, empty, written }

    let id: String
    var file = File.absent
    /// With a message of the user's, in order.
    var turns: [CodexServedTurn] = []
    /// Of all its model requests.
    var tokens = 0
    var isArchived = false
    /// Until then another program writes it, where no process of ours has it loaded.
    var foreignUntil = Instant.zero

    init(_ id: String) { self.id = id }
}

/// A thread while the server's process has it loaded.
final class CodexLoaded {
    let rollout: CodexRollout
    var subscribers: Set<Int> = []
    var status = "idle"
    var turn: CodexServedTurn?
    /// By the number of their requests.
    var asks: [Int: CodexServedAsk] = [:]
    /// Commands that were allowed for the session.
    var grants: Set<String> = []
    /// Commands that outlive their turn, by process.
    var terminals: [String: (item: GatewayValue, turn: String)] = [:]
    var wasInterrupted = false
    /// Interrupts of a turn that was interrupted already: answered when the next one ends.
    var lateInterrupts: [(client: Int, id: GatewayValue)] = []

    init(_ rollout: CodexRollout) { self.rollout = rollout }

    var id: String { rollout.id }
}

final class CodexServedTurn {
    let id: String
    /// Whose message began it; nil: another client's.
    let label: String?
    /// All that it answers: steering adds to them.
    var prompts: [String]
    var isForeign: Bool
    var steps: ArraySlice<GatewayScript.Timed>
    /// Messages for the next model request.
    var steers: [CodexSteer] = []
    /// The model request that is played: a steer makes another one.
    var request = 0
    /// In the record: what has ended.
    var items: [GatewayValue] = []
    var status = "inProgress"
    /// Its end was reported to some client, by itself or in a list.
    var endIsKnown = false
    var error: GatewayValue?
    var hasBegun = false
    /// Nil while it runs, and for ever where its process died.
    var completedAt: Int?
    /// The message that is being streamed.
    var message: (id: String, text: String)?
    /// The last message of the agent that ended.
    var answer: GatewayValue?
    /// The command that has begun and not ended.
    var tool: GatewayValue?
    /// The request that holds it.
    var waitsFor: Int?

    init(_ id: String, _ prompt: String, label: String?, isForeign: Bool, _ steps: [GatewayScript.Timed]) {
        self.id = id
        self.label = label
        self.isForeign = isForeign
        self.steps = steps[...]
        prompts = [prompt]
    }

    var isOver: Bool { status != "inProgress" }

    /// As a list of turns shows them.
    func items(_ view: String) -> [GatewayValue] {
        switch view {
        case "full": items
        case "summary":
            items.filter { $0["type"]?.string == "userMessage" }.prefix(1)
                + items.filter { $0["type"]?.string == "agentMessage" }.suffix(1)
        default: []
        }
    }

    /// `items`: as many as the place has that it is shown in.
    func value(_ items: [GatewayValue]) -> GatewayValue {
        [
            "id": "\(id)", "items": .array(items), "status": "\(status)", "error": error ?? .null,
            "startedAt": hasBegun ? 1_770_000_000 : .null, "completedAt": completedAt.map { .integer($0) } ?? .null,
        ]
    }
}

/// A message that met a turn.
struct CodexSteer {
    var text: String
    var label: String?
    var steps: [GatewayScript.Timed]
    /// It counts as asked from its receipt on; else from its item on.
    var isCounted = true
}

/// What the clients of a thread are asked.
struct CodexServedAsk {
    var turn: CodexServedTurn
    var method: String
    var params: GatewayValue
    /// As the script names it.
    var approval: String
    var isQuestion: Bool
    var command: String
    var trick: CodexTrick?
    /// Behind a yes.
    var executes: AgentExecuted

    /// Its item has asked before.
    var isAgain: Bool { approval.hasSuffix("-2") }

    /// The item of the patch that it is about.
    var change: GatewayValue? {
        trick == .patch || trick == .grantRoot ? params["itemId"].map { ScriptedCodex.change(command, $0) } : nil
    }
}

/// One process of the server: all of it ends with it but the disk.
final class CodexProcess {
    struct Client {
        var line: DoubleLine
        var isGreeted = false
        var isExperimental = false
        var silenced: Set<String> = []
        /// Frames of the client, which are taken up one after another.
        var inbox: ArraySlice<GatewayValue> = []
        var isWorking = false
    }

    /// Nil: a person started it.
    let program: DoubleLine?
    var isListening = false
    var threads: [String: CodexLoaded] = [:]
    var clients: [Int: Client] = [:]
    /// Of the server's own, of all threads: the first is 0.
    var requests = 0
    /// What each of them asked about.
    var approvals: [Int: String] = [:]

    init(_ program: DoubleLine?) { self.program = program }

    var loaded: [CodexLoaded] { threads.values.sorted { $0.id < $1.id } }
}
