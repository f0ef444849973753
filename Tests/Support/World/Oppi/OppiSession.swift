import Vocabulary

/// A session of the scripted Oppi server: its state on the disk, and its agent while active.
final class OppiSession {
    let id: String
    var status = "ready" { didSet { if status != oldValue { earlierStatus = oldValue } } }
    private var earlierStatus = "ready"
    /// When the newest run began. REST reports that a second later.
    var busySince: Instant?
    /// Rows of the session's trace.
    var rows: [GatewayValue] = []
    /// Rows that are not in the file yet.
    var unwritten: [GatewayValue] = []
    /// Prompts that the agent began to work on.
    var prompts: [String] = []
    var entries = 0
    var tokens = 0
    /// Milliseconds of the server's clock.
    var lastActivity: Int64 = 0
    var activation: OppiActivation?

    init(_ id: String) { self.id = id }

    var value: GatewayValue { value(status) }

    /// The session as REST last saved it.
    func saved(at now: Instant) -> GatewayValue {
        let isNew = busySince.map { now - $0 < .seconds(1) } ?? false
        return value(isNew && status == "busy" ? earlierStatus : status)
    }

    private func value(_ status: String) -> GatewayValue {
        [
            "id": "\(id)", "workspaceId": "w1", "status": "\(status)", "messageCount": .integer(entries),
            "lastActivity": .integer(Int(lastActivity)), "createdAt": 1_771_578_000_000, "workspaceName": "garden",
            "model": "acme/quill-2", "thinkingLevel": "medium", "contextTokens": .integer(tokens),
            "contextWindow": 128_000,
            "piSessionId": "pi-\(id)", "piSessionFile": "/home/ada/.pi/\(id).jsonl",
            "piSessionFiles": ["/home/ada/.pi/\(id).jsonl"],
            "tokens": ["input": .integer(tokens), "output": .integer(tokens)], "cost": 0,
        ]
    }
}

/// One activation of a session's agent, with its own numbers, ring and turns (oppi.md#envelope-and-sequence-numbers).
final class OppiActivation {
    /// A prompt with a `clientTurnId`.
    final class Turn {
        let id: String
        let payload: String
        let command: String
        var stage = "accepted"
        var touched: Instant

        init(_ id: String, _ payload: String, _ command: String, at now: Instant) {
            self.id = id
            self.payload = payload
            self.command = command
            touched = now
        }
    }

    struct Dialog {
        var id: String
        var frame: GatewayValue
        /// Clients that subscribe later see the dialog.
        var isShownAgain: Bool
    }

    struct Queued {
        var text: String
        var isSteering: Bool
    }

    struct Entry {
        var sequence: Int
        var frame: GatewayValue
    }

    var sequence = 0
    var ring: [Entry] = []
    /// Sockets that follow the session. True for level `full`.
    var followers: [Int: Bool] = [:]
    var turns: [Turn] = []
    /// Turns in the order in which the server assigns `agent_start` to them.
    var starting: [Turn] = []
    var run: OppiRun?
    var queue: [Queued] = []
    var queueVersion = 0
    /// Open dialog of the extension.
    var dialog: Dialog?
    var timedOut: Set<String> = []
    var touched: Instant

    init(at now: Instant) { touched = now }

    /// Nil if the ring does not reach back that far (oppi.md#ring-arithmetic).
    func missed(since: Int) -> [GatewayValue]? {
        if let first = ring.first, since < first.sequence - 1 { return nil }
        return ring.filter { $0.sequence > since }.map(\.frame)
    }
}

/// One loop of the agent with all the prompts that it answers.
final class OppiRun {
    let number: Int
    /// Newest prompt. The loop answers it together with the prompts that it steered.
    var prompt: String
    var steered: [String] = []
    var steps: ArraySlice<GatewayScript.Timed>
    /// Text of the open message.
    var said = ""
    /// End of the open message that the model does not stream.
    var unstreamed: String?
    var tool: String?
    /// Id of the permission or dialog that the run waits for.
    var waitsFor: String?
    /// The tool that runs after a yes.
    var asked: Asked?
    /// An attempt failed, and the next one has not begun.
    var isRetrying = false
    /// Pictures of the prompt, as the trace has them.
    var pictures: [String] = []
    /// Whether the session reads as busy: not before the run begins, nor between attempts.
    var isStreaming: Bool { hasBegun && !isRetrying && !isOver }
    var attempt = 0
    /// The agent compacts the context instead of waiting for the retry.
    var isCompacting = false
    var hasBegun = false
    var stop = Stop.no
    var isOver = false

    enum Stop { case no, asked, ignored }

    struct Asked {
        var input: GatewayValue
        var command: String
        /// The script's name of the ask.
        var name: String
        var trick: OppiTrick?
    }

    init(_ number: Int, _ prompt: String, _ steps: [GatewayScript.Timed]) {
        self.number = number
        self.prompt = prompt
        self.steps = steps[...]
    }
}

struct OppiPermission {
    var session: OppiSession
    var run: OppiRun
    var frame: GatewayValue
}
