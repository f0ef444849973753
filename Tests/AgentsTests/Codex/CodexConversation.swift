import AgentKit
import Codex
import Vocabulary

/// Codex's machine with a server of its own, and the events that it meets. Orders become lines.
struct CodexConversation: MachineConversation {
    static let chat = AgentSession("codex:ses_1")
    private static let main = ChannelID(1)
    private static let server = ChannelID(2)

    var machine: CodexMachine
    var now = Instant.zero
    var reading = ReadingClock()
    private var random: UInt64 = 0
    private var works: [WorkID] = []
    private(set) var beginning: [String] = []

    /// `folder` is the folder of all chats in the configuration.
    init(
        facts: [Fact] = [], processes: [ProcessName] = [], turns: [EarlierTurn] = [], folder: String? = "/work",
        lock: String? = nil
    ) {
        machine = CodexMachine(CodexSettings(Self.own("F", lock: lock), folder: folder))
        var past = AgentPast()
        (past.facts, past.processes, past.turns) = (facts, processes, turns)
        beginning = lines(machine.begin(past, occasion()))
    }

    private static func own(_ fingerprint: String, lock: String? = nil) -> CodexSettings.Own {
        CodexSettings.Own(
            command: ["codex"], folder: "/work", socket: "/state/codex.sock", log: "/state/codex.log", lock: lock,
            fingerprint: fingerprint)
    }

    /// The server runs and has greeted.
    static func up(
        facts: [Fact] = [], processes: [ProcessName] = [], turns: [EarlierTurn] = [], folder: String? = "/work"
    ) -> Self {
        var conversation = Self(facts: facts, processes: processes, turns: turns, folder: folder)
        _ = conversation.ran("codex-cli 0.163.0")
        _ = conversation.greets()
        return conversation
    }

    /// Run `r1` is under way in thread `T` as turn `U`.
    static func going() -> Self {
        var conversation = up()
        _ = conversation.sends("r1", "one")
        _ = conversation.says(#"{"id":3,"result":{"thread":{"id":"T","status":{"type":"idle"}},"model":"m"}}"#)
        _ = conversation.isDone()
        _ = conversation.says(#"{"id":4,"result":{"turn":{"id":"U","status":"inProgress"}}}"#)
        _ = conversation.begins("U")
        return conversation
    }

    mutating func occasion() -> Occasion {
        random += 1
        return Occasion(
            now: now, wallMilliseconds: now.nanoseconds / 1_000_000, random: random, read: reading.time(at: now))
    }

    // MARK: The bridge

    mutating func sends(
        _ run: String, _ text: String, in folder: String? = nil, model: ModelChoice = .unchanged,
        level: LevelChoice = .unchanged, steers: Bool = false
    ) -> [String] {
        var message = UserMessage(id: MessageID("m"), session: SessionID("ses_1"), interaction: nil, text: text)
        message.folder = folder
        message.steers = steers
        (message.choice, message.level) = (model, level)
        let command = AgentCommand.send(turn: TurnID("t"), session: Self.chat, run: RunID(run), message: message)
        return lines(machine.command(command, occasion()))
    }

    mutating func aborts(_ run: String, reach: StopReach = .everyRun) -> [String] {
        lines(machine.command(.abort(session: Self.chat, run: RunID(run), reach: reach), occasion()))
    }

    mutating func releases(isDeleted: Bool) -> [String] {
        lines(machine.command(.release(session: Self.chat, isDeleted: isDeleted), occasion()))
    }

    mutating func looksUp(_ run: String) -> [String] {
        lines(machine.command(.lookUp(session: Self.chat, run: RunID(run)), occasion()))
    }

    /// The configuration changes.
    mutating func uses(fingerprint: String) -> [String] {
        lines(machine.use(CodexSettings(Self.own(fingerprint), folder: "/work"), occasion()))
    }

    mutating func decides(_ approval: String, _ decision: ApprovalDecision, isUnanswered: Bool = false) -> [String] {
        let command = AgentCommand.resolve(
            approval: ApprovalID(approval), subject: .exec, decision: decision, isUnanswered: isUnanswered)
        return lines(machine.command(command, occasion()))
    }

    mutating func answers(_ question: String, _ answer: QuestionAnswer) -> [String] {
        let command = AgentCommand.answer(question: QuestionID(question), session: Self.chat, answer: answer)
        return lines(machine.command(command, occasion()))
    }

    // MARK: The outside

    mutating func ran(_ output: String) -> [String] {
        finished(.ran(.exited(0), output: Array(output.utf8), errors: ""))
    }
    mutating func isDone() -> [String] { finished(.done) }

    mutating func finished(_ result: WorkResult) -> [String] {
        guard !works.isEmpty else { return ["nothing was ordered"] }
        return lines(machine.finished(works.removeFirst(), result, occasion()))
    }

    mutating func opens() -> [String] { lines(machine.happened(.opened, on: Self.main, occasion())) }
    mutating func fails() -> [String] {
        lines(machine.happened(.failed(message: "no such file", .absent), on: Self.main, occasion()))
    }
    /// The socket exists, and belongs to another user.
    mutating func meetsAnother() -> [String] {
        let event = ChannelEvent.failed(message: "it belongs to user 1001", .foreignListener)
        return lines(machine.happened(event, on: Self.main, occasion()))
    }
    /// Also stands for a server that does not answer the upgrade.
    mutating func breaks() -> [String] {
        lines(machine.happened(.failed(message: "the peer ended it"), on: Self.main, occasion()))
    }
    /// The link is lost and restored, and no server is started.
    mutating func rejoins() -> [String] {
        var left = breaks()
        // Pauses grow with every loss.
        for _ in 0..<10 where works.isEmpty { left += waits(1_000) }
        left += ran("codex-cli 0.163.0")
        return left + greets()
    }
    mutating func spawns(_ id: Int32) -> [String] {
        let name = ProcessName(id: id, startTicks: 1)
        return lines(machine.happened(.spawned(name), on: Self.server, occasion()))
    }
    mutating func exits() -> [String] {
        lines(machine.happened(.exited(.exited(1), lastWords: ""), on: Self.server, occasion()))
    }

    /// `account` is the answer about the login.
    mutating func greets(account: String = #"{"account":null,"requiresOpenaiAuth":false}"#) -> [String] {
        _ = opens()
        _ = says(#"{"id":1,"result":{"userAgent":"sophon_bridge/0.163.0 (Debian)"}}"#)
        return says(#"{"id":2,"result":\#(account)}"#)
    }

    mutating func begins(_ turn: String) -> [String] {
        says(#"{"method":"turn/started","params":{"threadId":"T","turn":{"id":"\#(turn)","status":"inProgress"}}}"#)
    }

    mutating func says(_ frame: String) -> [String] {
        var bytes = Array(frame.utf8)
        bytes.reserveCapacity(bytes.count + 64)
        var orders: [AgentOrder] = []
        let now = occasion()
        bytes.withUnsafeBytes {
            machine.received($0, capacity: bytes.capacity, on: Self.main, now, into: &orders)
        }
        return lines(orders)
    }

    // MARK: Lines

    mutating func lines(_ orders: [AgentOrder]) -> [String] { orders.flatMap { line($0) } }

    /// Whether the work records a thread's first message. Nothing waits for its result.
    private static func isUsed(_ work: Work) -> Bool {
        guard case .keep(let facts) = work, let value = facts.first?.value else { return false }
        let record = String(decoding: value, as: UTF8.self)
        return record.hasPrefix(#"{"thread""#) && !record.contains("turns")
    }

    private mutating func line(_ order: AgentOrder) -> [String] {
        switch order {
        case .open(let channel, .socket(let plan)): return ["open \(channel.number) \(plan.unixPath ?? plan.url)"]
        case .open(let channel, .child(let plan)):
            return ["start \(channel.number) \(plan.life) \(plan.arguments.joined(separator: " "))"]
        case .send(_, let bytes, _): return ["send \(String(decoding: bytes, as: UTF8.self))"]
        case .close(let channel, _): return ["close \(channel.number)"]
        case .work(let id, let work):
            if !Self.isUsed(work) { works.append(id) }
            switch work {
            case .run(let plan, _, _, _): return ["run \(plan.arguments.joined(separator: " "))"]
            case .keep(let facts):
                return facts.map { "keep \($0.name) \(String(decoding: $0.value ?? [], as: UTF8.self))" }
            case .end(let name, _): return ["end \(name.id)"]
            case .read(let path, let from, let limit): return ["read \(path) \(from) \(limit)"]
            case .complaints(let log, let from, _): return ["complaints \(log) \(from)"]
            case .lock(let path): return ["lock \(path)"]
            case .unlock(let path): return ["unlock \(path)"]
            case .look(let processes): return ["look " + processes.map { "\($0.id)" }.joined(separator: " ")]
            default: return ["work"]
            }
        case .observed(let observations): return observations.map { ObservationText.line($0) }
        case .state(.up(let version, _)): return ["up \(version)"]
        case .state(.waiting(let reason, _, _)): return ["waiting \(reason)"]
        case .note(.remedy(let words)): return ["remedy \(words)"]
        case .note, .idle, .asks, .mayPause, .readSettings, .cover, .replied, .finding, .done: return []
        }
    }
}
