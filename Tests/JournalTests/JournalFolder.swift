import FoundationEssentials
import Glibc
import Locking
import Vocabulary
import WireTesting

@testable import Journal

/// A fresh state directory that is removed with the test, and a manual clock.
final class JournalFolder: Sendable {
    let path: String
    let wall = Locked<Int64>(1_770_000_000_000)

    init() throws {
        path = FileManager.default.temporaryDirectory.appending(path: "journal-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    var file: String { path + "/journal.db" }
    var now: Int64 { wall.withLock { $0 } }

    func pass(minutes: Int64) { wall.withLock { $0 += minutes * 60_000 } }

    func open(_ hooks: JournalHooks = JournalHooks()) throws -> Journal {
        try Journal.open(directory: path, wall: { [wall] in wall.withLock { $0 } }, hooks: hooks)
    }

    /// The leftovers of a killed process: the file and its log as they are now.
    func copyAsKilled(logBytes: Int? = nil) throws -> JournalFolder {
        let copy = try JournalFolder()
        for name in ["journal.db", "journal.db-wal"] {
            guard var data = FileManager.default.contents(atPath: "\(path)/\(name)") else { continue }
            if name.hasSuffix("-wal"), let logBytes { data = data.prefix(logBytes) }
            try data.write(to: URL(filePath: "\(copy.path)/\(name)"))
        }
        return copy
    }

    var logBytes: Int { FileManager.default.contents(atPath: file + "-wal")?.count ?? 0 }

    func mode(_ path: String) -> mode_t {
        var status = stat()
        lstat(path, &status)
        return status.st_mode & 0o777
    }
}

extension TurnJournal {
    /// Waits for completion. Returns the failure, or nil.
    func write(_ entries: [JournalEntry], _ durability: Durability = .written) throws -> JournalFailure? {
        let answers = Queue<JournalFailure?>()
        submit(entries, durability) { answers.put($0) }
        return try answers.next()
    }

    func take(_ message: AcceptedMessage) throws -> Result<Acceptance, JournalFailure> {
        let answers = Queue<Result<Acceptance, JournalFailure>>()
        accept(message) { answers.put($0) }
        return try answers.next()
    }
}

/// Stops the writer before a transaction while it is closed.
final class WriterGate: Sendable {
    private let isClosed = Locked(false)
    private let arrived = Signal()
    private let opened = Signal()
    /// Number of jobs in each transaction.
    let batches = Locked<[Int]>([])

    var hooks: JournalHooks {
        JournalHooks(willCommit: { [self] _, count in
            batches.withLock { $0.append(count) }
            guard isClosed.withLock({ $0 }) else { return }
            arrived.raise()
            _ = opened.wait()
        })
    }

    /// Closes the gate and runs the job. True once the writer has reached its transaction.
    func hold(_ job: () -> Void) -> Bool {
        isClosed.withLock { $0 = true }
        job()
        return arrived.wait()
    }

    func release() {
        isClosed.withLock { $0 = false }
        opened.raise()
    }
}

enum Sample {
    static let main = ConnectionName("main")

    static func turn(_ name: String, _ record: String = "{}") -> JournalEntry {
        .turn(TurnID(name), record: Array(record.utf8))
    }

    static func call(
        _ turn: String, _ key: String, body: String = #"{"a":1}"#, name: String = #"{"open":{}}"#, end: Int? = nil
    ) -> StoredCall {
        StoredCall(
            turn: TurnID(turn), key: IdempotencyKey(key), name: Array(name.utf8), path: "/v1/bridge/sendMessage",
            body: Array(body.utf8), endOffset: end, wall: 1_770_000_000_001)
    }

    static func tried(
        _ turn: String, _ key: String, attempt: Int = 1, result: String = "delivered", request: String? = nil,
        wall: Int64 = 1_770_000_000_002
    ) -> JournalEntry {
        .tried(
            CallTry(
                turn: TurnID(turn), key: IdempotencyKey(key), attempt: attempt, result: result,
                isDelivered: result == "delivered", request: request.map { RequestID($0) }, milliseconds: 12,
                wall: wall))
    }

    static func closed(_ turn: String, wall: Int64 = 1_770_000_000_003) -> JournalEntry {
        .closed(TurnID(turn), outcome: "finished", wall: wall)
    }

    static func message(_ name: String, turn: String, wall: Int64 = 1_770_000_000_000, mark: String? = nil)
        -> AcceptedMessage
    {
        AcceptedMessage(
            message: MessageID(name), update: UpdateID("u-\(name)"), turn: TurnID(turn), session: SessionID("ses_1"),
            interaction: InteractionID(turn), opening: Array("opening of \(name)".utf8), wall: wall, mark: mark)
    }
}
