import BridgeCore
import BridgeService
import CSQLite
import Dispatch
import FoundationEssentials
import Locking
import Testing
import Vocabulary

@testable import Journal

/// How much a run writes into the journal, with the real journal and a relay that takes everything at once.
@Suite("What a run writes")
struct WrittenBytesTests {
    @Test("is at most 60 KB a tool call, and no more at 400 calls than at 100", .timeLimit(.minutes(3)))
    func toolCalls() throws {
        let (short, long) = (try WrittenRun(calls: 100).bytesOfCall, try WrittenRun(calls: 400).bytesOfCall)
        #expect(long <= 60_000, "\(long) bytes a call of 400")
        #expect(Double(long) <= 1.02 * Double(short), "\(long) bytes a call of 400, \(short) of 100")
    }

    @Test("leaves at most 3 KB once its turn is closed", arguments: [0, 4])
    func closedTurn(calls: Int) throws {
        let left = try WrittenRun(calls: calls, turns: 40).bytesOfClosedTurn
        #expect(left <= 3_000, "\(left) bytes of a turn with \(calls) calls")
    }
}

/// A run of `calls` tool calls with a sentence before each. The clock advances only when nothing else is to do.
private struct WrittenRun {
    /// Bytes of write-ahead log frames.
    let bytesOfCall: Int
    let bytesOfClosedTurn: Int

    fileprivate struct State {
        var now = Instant.zero
        var moment: Instant?
        var ring: (@Sendable () -> Void)?
        var answers: [@Sendable (Result<HTTPResponse, HTTPFailure>) -> Void] = []
    }

    fileprivate struct Unfinished: Error { var what: String }

    private static let frame = 4_096 + 24

    init(calls: Int, turns: Int = 1) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "written-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let handle = Locked<Database?>(nil)
        let state = Locked(State())
        let outside = Outside(state: state)
        let journal = try Journal.open(
            directory: folder.path(), wall: { outside.wallMilliseconds },
            hooks: JournalHooks(opened: { database in handle.withLock { $0 = database } }))
        let main = journal.connection(ConnectionName("main"))
        let runner = BridgeRunner(
            settings: BridgeSettings(), relay: RelayAddress(baseURL: "http://relay", token: "t"),
            edges: BridgeRunner.Edges(http: outside, clock: outside, alarm: outside, random: outside, journal: main)
        ) { _ in }
        var bytes: [Int] = []
        for turn in 1...turns {
            let before = Self.written(handle)
            try Self.play(turn, calls: calls, runner, main, outside)
            bytes.append(Self.written(handle) - before)
        }
        runner.stop()
        journal.close()
        bytesOfCall = bytes.reduce(0, +) / max(1, calls * turns)
        let database = try Database(path: folder.appending(path: "journal.db").path(), mode: .writing)
        let pages = try database.integer("PRAGMA page_count") ?? 0
        let free = try database.integer("PRAGMA freelist_count") ?? 0
        // The pages of the tables, which a journal without a turn has already.
        let empty = 24
        bytesOfClosedTurn = (Int(pages - free) - empty) * 4_096 / turns
    }

    private static func written(_ handle: Locked<Database?>) -> Int {
        var (current, highest): (Int32, Int32) = (0, 0)
        handle.withLock { database in
            guard let database else { return }
            _ = sqlite3_db_status(database.handle, SQLITE_DBSTATUS_CACHE_WRITE, &current, &highest, 0)
        }
        return Int(current) * frame
    }

    private static func play(
        _ number: Int, calls: Int, _ runner: BridgeRunner, _ journal: any TurnJournal, _ outside: Outside
    ) throws {
        let (turn, run, chat) = ("int_4XWjqaxI85Y\(number)", RunID("sophon-4XWjqaxI85Y\(number)"), SessionID("ses_1"))
        var opening = TurnOpening(
            id: TurnID(turn), session: chat, interaction: InteractionID(turn), agentSession: AgentSession("pi:ses_1"),
            run: run, message: nil, receivedAt: outside.now, windowEnds: outside.now + .seconds(1_800))
        opening.message = UserMessage(
            id: MessageID("msg_v8ZDuTPPxzKmc\(number)"), session: chat, interaction: InteractionID(turn),
            text: "Look whether all is well, please, and tell me.")
        let isTaken = Locked(false)
        journal.accept(
            AcceptedMessage(
                message: MessageID("msg_v8ZDuTPPxzKmc\(number)"), update: UpdateID("upd_\(number)"),
                turn: TurnID(turn), session: chat, interaction: InteractionID(turn),
                opening: RecordEnvelope.bytes(of: opening, now: outside.now, wall: outside.wallMilliseconds),
                wall: outside.wallMilliseconds)
        ) { _ in isTaken.withLock { $0 = true } }
        try outside.wait("the message is taken") { isTaken.withLock { $0 } }
        let accepted = opening
        runner.tell { bridge, now in bridge.turnBegins(accepted, at: now) }
        try outside.wait("it is handed over") { runner.ask { $0.turn(TurnID(turn))?.occupiesAgent == true } }
        runner.tell { bridge, now in bridge.sendAnswered(.accepted(run: run), run: run, at: now) }
        func says(_ event: RunEvent) {
            runner.tell { bridge, now in bridge.agentSays(RunSignal(run: run, session: nil, event: event), at: now) }
        }
        says(.started)
        for call in 0..<calls {
            let id = ToolCallID("toolu_01FhiZj3BW\(number)_\(call)")
            let sentence =
                "Sentence \(call) of what the agent says: " + String(repeating: "word after word, ", count: 15)
            says(.text(.append(sentence)))
            says(.text(.segmentEnded(sentence)))
            let arguments = JSONText(unchecked: #"{"command":"ls -l /var/log | tail -n 20"}"#)
            says(.tool(.started(ToolStart(call: id, name: "bash", title: "bash ls -l", arguments: arguments))))
            try outside.wait("the card is there") { outside.isDone && runner.ask { $0.heldInLanes } == 0 }
            let result = JSONText.string(String(repeating: "a line of output\n", count: 40))
            says(.tool(.finished(ToolResult(call: id, status: .completed, result: result))))
            try outside.wait("the card is finished") { outside.isDone && runner.ask { $0.heldInLanes } == 0 }
        }
        says(.text(.append("All is well.")))
        says(.finished(RunEnd(text: nil, reason: .stop)))
        try outside.wait("the turn is closed") { runner.isAtRest }
    }

    /// The relay, the clock and the alarm.
    private final class Outside: HTTPClient, Clock, Alarm, RandomSource, Sendable {
        private let state: Locked<State>
        private let arrival = DispatchSemaphore(value: 0)

        init(state: Locked<State>) { self.state = state }

        var now: Instant { state.withLock { $0.now } }
        var wallMilliseconds: Int64 { 1_770_000_000_000 + now.nanoseconds / 1_000_000 }
        func next() -> UInt64 { 1 << 62 }
        func stop() { state.withLock { ($0.moment, $0.ring) = (nil, nil) } }
        func set(_ moment: Instant?, ring: @escaping @Sendable () -> Void) {
            state.withLock { ($0.moment, $0.ring) = (moment, moment == nil ? nil : ring) }
        }

        func send(_ request: HTTPRequest, completion: @escaping @Sendable (Result<HTTPResponse, HTTPFailure>) -> Void) {
            state.withLock { $0.answers.append(completion) }
            arrival.signal()
        }

        /// Whether every request has its answer.
        var isDone: Bool { state.withLock { $0.answers.isEmpty } }

        /// Answers every request until `isSo`. After a millisecond of real time without a request, the clock advances
        /// by 10 ms.
        func wait(_ what: String, until isSo: () -> Bool) throws {
            let body = Array(#"{"ok":true,"result":{"message_id":"msg_1"}}"#.utf8)
            for _ in 0..<20_000 {
                if isSo() { return }
                let answers = state.withLock { state in
                    defer { state.answers = [] }
                    return state.answers
                }
                for answer in answers { answer(.success(HTTPResponse(status: 200, body: body))) }
                guard answers.isEmpty else { continue }
                guard arrival.wait(timeout: .now() + .milliseconds(1)) == .timedOut else { continue }
                guard state.withLock({ $0.answers.isEmpty }), !isSo() else { continue }
                let ring: (@Sendable () -> Void)? = state.withLock { state in
                    state.now = state.now + .milliseconds(10)
                    guard let moment = state.moment, moment <= state.now else { return nil }
                    defer { (state.moment, state.ring) = (nil, nil) }
                    return state.ring
                }
                ring?()
            }
            throw Unfinished(what: what)
        }
    }
}
