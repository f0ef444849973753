import AgentKit
import ConversationEngine
import Pi
import Vocabulary

/// pi's machine and the events that it meets, a line an event: its orders as lines.
struct PiConversation: MachineConversation {
    var machine: PiMachine
    var now = Instant.zero
    var reading = ReadingClock()
    private var random: UInt64 = 0
    private var keeps: [WorkID] = []
    /// Whether orders about idle processes are among the lines.
    var showsIdle = false
    private var reads: [WorkID] = []
    private static let wall: Int64 = 1_770_000_000_000
    /// How far the wall clock moved alone.
    var wallAhead: Int64 = 0
    static let chat = AgentSession("pi-ses_1")
    private(set) var beginning: [String] = []

    init(
        _ settings: PiSettings = PiSettings(command: ["pi", "--mode", "rpc"], folder: "/work"), facts: [Fact] = [],
        turns: [EarlierTurn] = []
    ) {
        machine = PiMachine(settings)
        var past = AgentPast()
        past.facts = facts
        past.turns = turns
        beginning = lines(machine.begin(past, occasion()))
    }

    /// Its process runs, has answered, and its session file is kept.
    static func ready() -> Self {
        var conversation = Self()
        _ = conversation.looksUp("none")
        _ = conversation.spawns()
        _ = conversation.says(PiSays.state(1, #""sessionFile":"/s/1""#))
        _ = conversation.keeps()
        _ = conversation.says(PiSays.messages(2, "[]"))
        return conversation
    }

    /// Its run is going, of a prompt with the request id `sb-3`.
    static func going() -> Self {
        var conversation = ready()
        _ = conversation.sends("r1", "one")
        _ = conversation.says(PiSays.accepted(3))
        _ = conversation.says(PiSays.started)
        return conversation
    }

    /// Behind a process of the bridge that had a run in its only chat.
    /// `receivedAt`: of the message, in milliseconds.
    static func after(_ run: String, _ text: String, receivedAt: Int64 = 0) -> Self {
        let turn = EarlierTurn(
            session: chat, runs: [EarlierTurn.Run(RunID(run), text: text)], isAccepted: true, isStopping: false,
            receivedAt: Instant.zero + .milliseconds(receivedAt), decisions: [], detached: [])
        return Self(facts: [Fact("session:\(chat)", Array("/s/1".utf8))], turns: [turn])
    }

    mutating func occasion() -> Occasion {
        random += 1
        let wall = Self.wall + wallAhead + (now - Instant.zero).nanoseconds / 1_000_000
        return Occasion(now: now, wallMilliseconds: wall, random: random, read: reading.time(at: now))
    }

    // MARK: The bridge

    mutating func sends(
        _ run: String, _ text: String, files: [MessageFile] = [], choice: ModelChoice = .unchanged,
        level: LevelChoice = .unchanged, in session: AgentSession = chat, folder: String? = nil
    ) -> [String] {
        var message = UserMessage(id: MessageID("m"), session: SessionID("ses_1"), interaction: nil, text: text)
        message.folder = folder
        (message.choice, message.level) = (choice, level)
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

    mutating func looksUp(_ run: String, in session: AgentSession = chat) -> [String] {
        lines(machine.command(.lookUp(session: session, run: RunID(run)), occasion()))
    }

    mutating func decides(_ approval: String, _ decision: ApprovalDecision, isUnanswered: Bool = false) -> [String] {
        lines(
            machine.command(
                .resolve(
                    approval: ApprovalID(approval), subject: .dialog, decision: decision, isUnanswered: isUnanswered),
                occasion()))
    }

    mutating func answers(_ question: String, _ answer: QuestionAnswer) -> [String] {
        lines(
            machine.command(.answer(question: QuestionID(question), session: Self.chat, answer: answer), occasion()))
    }

    mutating func asks(_ query: AgentQuery) -> [String] { lines(machine.query(query, as: QueryID(1), occasion())) }

    mutating func releases(isDeleted: Bool) -> [String] {
        lines(machine.command(.release(session: Self.chat, isDeleted: isDeleted), occasion()))
    }

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

    mutating func waitsForPlace(behind running: Int, chats: [WaitingChat] = []) -> [String] {
        lines(machine.happened(.waits(running: running, behind: chats), on: ChannelID(1), occasion()))
    }

    /// No alarm rings meanwhile. `isTold`: the host says so before one rings.
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

    /// The oldest file that is being read.
    mutating func reads(_ bytes: [UInt8]) -> [String] {
        guard !reads.isEmpty else { return ["nothing to read"] }
        return lines(machine.finished(reads.removeFirst(), .read(bytes, size: Int64(bytes.count)), occasion()))
    }

    /// A line of pi's standard output.
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
        case .send(let channel, let frame, _): return ["\(channel.number) > \(String(decoding: frame, as: UTF8.self))"]
        case .close(let channel, .child(let atOnce)): return ["\(atOnce ? "kill" : "leave") \(channel.number)"]
        case .close(let channel, .input): return ["end \(channel.number)"]
        case .close: return ["close"]
        case .idle(let channel, let isIdle):
            return showsIdle ? [isIdle ? "idle \(channel.number)" : "busy \(channel.number)"] : []
        case .asks(let channel, let chat):
            let words = chat.map { "\($0.session) since \($0.since - Self.wall)" } ?? "nobody"
            return showsIdle ? ["\(channel.number) asks \(words)"] : []
        case .work(let work, .keep(let facts)):
            keeps.insert(work, at: 0)
            return facts.map { "keep \($0.name)=\(String(decoding: $0.value ?? [], as: UTF8.self))" }
        case .work(let work, .read(let path, _, _)):
            reads.append(work)
            return ["read \(path)"]
        case .observed(let observations): return observations.map(ObservationText.line)
        case .note(.words(let words)): return ["note \(words)"]
        case .finding(let finding): return [finding.line]
        case .done: return ["done"]
        case .replied(_, let reply): return ["\(reply)"]
        case .mayPause, .work, .readSettings, .cover, .state, .note: return ["\(order)"]
        }
    }
}
