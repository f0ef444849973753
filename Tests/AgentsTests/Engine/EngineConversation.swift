import AgentKit
import ConversationEngine
import Vocabulary

/// The engine with a dialect, and the events that it meets. Orders become lines.
struct EngineConversation<D: Dialect>: MachineConversation where D.Settings: Sendable {
    var machine: ConversationMachine<D>
    var now = Instant.zero
    var reading = ReadingClock()
    private var random: UInt64 = 0
    private var keeps: [WorkID] = []
    /// Whether lines include orders about idle processes.
    var showsIdle = false
    private var reads: [WorkID] = []
    private var looks: [WorkID] = []
    /// All frames, newest last.
    private(set) var written: [String] = []
    static var wall: Int64 { 1_770_000_000_000 }
    /// Offset by which only the wall clock moved.
    var wallAhead: Int64 = 0
    static var chat: AgentSession { AgentSession("pi-ses_1") }
    private(set) var beginning: [String] = []

    init(
        settings: D.Settings, facts: [Fact] = [], turns: [EarlierTurn] = [], processes: [ProcessName] = [],
        checkOf connection: String? = nil
    ) {
        machine = ConversationMachine(settings, checkOf: connection)
        var past = AgentPast()
        past.facts = facts
        past.turns = turns
        past.processes = processes
        beginning = lines(machine.begin(past, occasion()))
    }

    mutating func occasion() -> Occasion {
        random += 1
        let wall = Self.wall + wallAhead + (now - Instant.zero).nanoseconds / 1_000_000
        return Occasion(now: now, wallMilliseconds: wall, random: random, read: reading.time(at: now))
    }

    // MARK: The bridge

    mutating func sends(
        _ run: String, _ text: String, files: [MessageFile] = [], choice: ModelChoice = .unchanged,
        level: LevelChoice = .unchanged, steers: Bool = false, in session: AgentSession = AgentSession("pi-ses_1"),
        folder: String? = nil
    ) -> [String] {
        var message = UserMessage(id: MessageID("m"), session: SessionID("ses_1"), interaction: nil, text: text)
        message.folder = folder
        (message.choice, message.level, message.steers) = (choice, level, steers)
        message.attachments = files.map { file in
            var attachment = Attachment(name: file.name)
            attachment.outcome = .file(file)
            return attachment
        }
        return lines(
            machine.command(.send(turn: TurnID("t"), session: session, run: RunID(run), message: message), occasion()))
    }

    mutating func aborts(_ run: String) -> [String] {
        lines(machine.command(.abort(session: Self.chat, run: RunID(run)), occasion()))
    }

    mutating func looksUp(_ run: String, in session: AgentSession = AgentSession("pi-ses_1")) -> [String] {
        lines(machine.command(.lookUp(session: session, run: RunID(run)), occasion()))
    }

    mutating func decides(
        _ approval: String, _ decision: ApprovalDecision, isUnanswered: Bool = false, wordsFollow: Bool = false,
        shown: AskFingerprint? = nil
    ) -> [String] {
        let command = AgentCommand.resolve(
            approval: ApprovalID(approval), subject: .dialog, decision: decision, isUnanswered: isUnanswered,
            shown: shown, wordsFollow: wordsFollow)
        return lines(machine.command(command, occasion()))
    }

    mutating func answers(_ question: String, _ answer: QuestionAnswer, shown: AskFingerprint? = nil) -> [String] {
        let command = AgentCommand.answer(
            question: QuestionID(question), session: Self.chat, answer: answer, shown: shown)
        return lines(machine.command(command, occasion()))
    }

    mutating func asks(_ query: AgentQuery) -> [String] { lines(machine.query(query, as: QueryID(1), occasion())) }

    mutating func releases(isDeleted: Bool) -> [String] {
        lines(machine.command(.release(session: Self.chat, isDeleted: isDeleted), occasion()))
    }

    mutating func checks() -> [String] { lines(machine.check(occasion())) }
    mutating func shutsDown() -> [String] { lines(machine.shutDown(occasion())) }

    // MARK: The host

    mutating func spawns(_ channel: Int = 1) -> [String] {
        lines(machine.happened(.spawned(ProcessName(id: 7, startTicks: 1)), on: ChannelID(channel), occasion()))
    }

    mutating func exits(_ code: Int32 = 1, words: String = "", _ channel: Int = 1) -> [String] {
        lines(machine.happened(.exited(.exited(code), lastWords: words), on: ChannelID(channel), occasion()))
    }

    mutating func failsToStart(_ message: String, _ channel: Int = 1) -> [String] {
        lines(machine.happened(.failed(message: message), on: ChannelID(channel), occasion()))
    }

    mutating func waitsForPlace(
        behind running: Int, chats: [WaitingChat] = [], _ channel: Int = 1
    ) -> [String] {
        lines(machine.happened(.waits(running: running, behind: chats), on: ChannelID(channel), occasion()))
    }

    /// The machine sleeps: no alarm rings. With `isTold` the host reports the sleep before the first alarm.
    mutating func sleeps(_ seconds: Int64, isTold: Bool = false) -> [String] {
        now = now + .seconds(seconds)
        let told = isTold ? lines(machine.slept(occasion())) : []
        return told + lines(machine.timePassed(occasion()))
    }

    mutating func isWanted() -> [String] { lines(machine.happened(.wanted, on: ChannelID(1), occasion())) }

    var heldBytes: Int { machine.heldBytes }

    mutating func skips(_ bytes: Int) -> [String] {
        lines(machine.happened(.skipped(bytes: bytes), on: ChannelID(1), occasion()))
    }

    mutating func keeps(_ isKept: Bool = true) -> [String] {
        guard let work = keeps.popLast() else { return ["nothing to keep"] }
        let failure = WorkFailure(.full, "no room")
        return lines(machine.finished(work, isKept ? .done : .failed(failure), occasion()))
    }

    /// Finishes the oldest read of a file.
    mutating func reads(_ bytes: [UInt8]) -> [String] {
        guard !reads.isEmpty else { return ["nothing to read"] }
        return lines(machine.finished(reads.removeFirst(), .read(bytes, size: Int64(bytes.count)), occasion()))
    }

    mutating func reads(_ result: WorkResult) -> [String] {
        guard !reads.isEmpty else { return ["nothing to read"] }
        return lines(machine.finished(reads.removeFirst(), result, occasion()))
    }

    /// Finishes the oldest look at the outside.
    mutating func looks(_ result: WorkResult) -> [String] {
        guard !looks.isEmpty else { return ["nothing to look at"] }
        return lines(machine.finished(looks.removeFirst(), result, occasion()))
    }

    /// A line of the child's standard output.
    mutating func says(_ line: String, _ channel: Int = 1) -> [String] {
        let bytes = Array(line.utf8)
        var orders: [AgentOrder] = []
        let occasion = occasion()
        bytes.withUnsafeBytes {
            machine.received($0, capacity: $0.count, on: ChannelID(channel), occasion, into: &orders)
        }
        return lines(orders)
    }

    mutating func lines(_ orders: [AgentOrder]) -> [String] { orders.flatMap { line($0) } }

    private mutating func line(_ order: AgentOrder) -> [String] {
        switch order {
        case .open(let channel, .child(let plan)):
            let folder = plan.folder == "/work" ? "" : " in \(plan.folder)"
            return ["start \(channel.number) \(plan.arguments.dropFirst(3).joined(separator: " "))\(folder)"]
        case .open: return ["open"]
        case .send(let channel, let frame, _):
            written.append(String(decoding: frame, as: UTF8.self))
            return ["\(channel.number) > \(written[written.count - 1])"]
        case .close(let channel, .child(let atOnce)): return ["\(atOnce ? "kill" : "leave") \(channel.number)"]
        case .close(let channel, .input): return ["end \(channel.number)"]
        case .close: return ["close"]
        case .idle(let channel, let isIdle):
            return showsIdle ? [isIdle ? "idle \(channel.number)" : "busy \(channel.number)"] : []
        case .asks(let channel, let chat):
            let words =
                chat.map { "\($0.session) since \($0.since - Self.wall)\($0.work.map { " for \($0)" } ?? "")" }
                ?? "nobody"
            return showsIdle ? ["\(channel.number) asks \(words)"] : []
        case .work(let work, .keep(let facts)):
            keeps.insert(work, at: 0)
            return facts.map { "keep \($0.name)=\(String(decoding: $0.value ?? [], as: UTF8.self))" }
        case .work(let work, .read(let path, _, _)):
            reads.append(work)
            return ["read \(path)"]
        case .work(let work, .find(let pattern, _)):
            looks.append(work)
            return ["find \(pattern)"]
        case .work(let work, .look(let processes)):
            looks.append(work)
            return ["look at \(processes.map { "\($0.id)" }.joined(separator: " "))"]
        case .work(let work, .end(let process, _)):
            looks.append(work)
            return ["end process \(process.id)"]
        case .observed(let observations): return observations.map(ObservationText.line)
        case .note(.words(let words)): return ["note \(words)"]
        case .finding(let finding): return [finding.line]
        case .done: return ["done"]
        case .replied(_, let reply): return ["\(reply)"]
        case .mayPause, .work, .readSettings, .cover, .state, .note: return ["\(order)"]
        }
    }
}
