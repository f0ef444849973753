import Vocabulary

/// A session of the scripted Oppi server: what is on its disk, and its agent while that is active.
final class OppiSession {
    let id: String
    var status = "ready" { didSet { if status != oldValue { earlierStatus = oldValue } } }
    private var earlierStatus = "ready"
    /// When its newest run began, which REST says a second later.
    var busySince: Instant?
    /// What its trace has.
    var rows: [GatewayValue] = []
    /// Not in the file yet.
    var unwritten: [GatewayValue] = []
    /// Prompts that its agent began to work on.
    var prompts: [String] = []
    var entries = 0
    var tokens = 0
    /// On the server's clock.
    var lastActivity: Int64 = 0
    var activation: OppiActivation?

    init(_ id: String) { self.id = id }

    var value: GatewayValue { value(status) }

    /// As it was saved last.
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

/// From the start of a session's agent to its end: numbers, ring and turns are its own (oppi.md#envelope-and-sequence-numbers).
final class OppiActivation {
    /// A prompt that came with a `clientTurnId`.
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
        /// To those who come later.
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
    /// By socket: at full or not.
    var followers: [Int: Bool] = [:]
    var turns: [Turn] = []
    /// In the order in which `agent_start` is taken for theirs.
    var starting: [Turn] = []
    var run: OppiRun?
    var queue: [Queued] = []
    var queueVersion = 0
    /// The extension's dialog that is open.
    var dialog: Dialog?
    var timedOut: Set<String> = []
    var touched: Instant

    init(at now: Instant) { touched = now }

    /// Nil: the ring does not reach back so far (oppi.md#ring-arithmetic).
    func missed(since: Int) -> [GatewayValue]? {
        if let first = ring.first, since < first.sequence - 1 { return nil }
        return ring.filter { $0.sequence > since }.map(\.frame)
    }
}

/// One loop of the agent, with all that it answers.
final class OppiRun {
    let number: Int
    /// That came last; it is answered together with those before it that were steered by it.
    var prompt: String
    var steered: [String] = []
    var steps: ArraySlice<GatewayScript.Timed>
    /// Of the message that is being written.
    var said = ""
    /// Its end, which the model does not stream.
    var unstreamed: String?
    var tool: String?
    /// The permission or dialog that holds it.
    var waitsFor: String?
    /// What runs once it is allowed.
    var asked: Asked?
    /// An attempt failed, and the next one has not begun.
    var isRetrying = false
    /// The pictures of its prompt, as its trace has them.
    var pictures: [String] = []
    /// The status of its session is busy: neither before it begins nor between its attempts.
    var isStreaming: Bool { hasBegun && !isRetrying && !isOver }
    var attempt = 0
    /// The context is being compacted, instead of a delay.
    var isCompacting = false
    var hasBegun = false
    var stop = Stop.no
    var isOver = false

    enum Stop { case no, asked, ignored }

    struct Asked {
        var input: GatewayValue
        var command: String
        /// The ask's name in the script.
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
