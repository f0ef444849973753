import CSQLite
import Glibc

/// One connection to the file, with its prepared statements.
final class Database: @unchecked Sendable {
    // Unchecked: one thread at a time uses it, first the one that opens it, then the one that gets it.

    enum Value {
        case integer(Int64)
        case text(String)
        case blob([UInt8])
        case null

        static func number(_ value: Int) -> Value { .integer(Int64(value)) }
        static func optional(_ value: String?) -> Value { value.map(Value.text) ?? .null }
    }

    enum Mode { case writing, reading, immutable }

    let path: String
    let handle: OpaquePointer
    /// Prepared statements by their text: a few dozen, all written in this room.
    private var statements: [String: OpaquePointer] = [:]
    /// Pages in the write-ahead log since the last commit; written by SQLite's hook.
    private let logPages: UnsafeMutablePointer<Int32>

    init(path: String, mode: Mode) throws(DatabaseError) {
        self.path = path
        var opened: OpaquePointer?
        let code: Int32
        switch mode {
        case .writing:
            code = sqlite3_open_v2(path, &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nil)
        case .reading, .immutable:
            let query = mode == .reading ? "mode=ro" : "mode=ro&immutable=1"
            let flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI
            code = sqlite3_open_v2("file:\(Self.escaped(path))?\(query)", &opened, flags, nil)
        }
        guard code == SQLITE_OK, let opened else {
            let words = opened.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory"
            sqlite3_close_v2(opened)
            throw DatabaseError(code: code & 0xFF, words: words, path: path)
        }
        handle = opened
        logPages = .allocate(capacity: 1)
        logPages.initialize(to: 0)
        // Another reader may lock the file for a moment.
        sqlite3_busy_timeout(handle, 2_000)
    }

    deinit {
        for statement in statements.values { sqlite3_finalize(statement) }
        sqlite3_close_v2(handle)
        logPages.deallocate()
    }

    // MARK: Statements

    /// Runs a statement and ignores its rows.
    func run(_ sql: String, _ values: [Value] = []) throws(DatabaseError) {
        try rows(sql, values) { _ throws(DatabaseError) in }
    }

    /// Runs several statements, without caching them.
    func script(_ sql: String) throws(DatabaseError) {
        guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw error() }
    }

    func rows(
        _ sql: String, _ values: [Value] = [], _ body: (Row) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        let statement = try prepared(sql)
        defer {
            sqlite3_reset(statement)
            // Bound values may be large, and the statement stays in the cache.
            sqlite3_clear_bindings(statement)
        }
        for (index, value) in values.enumerated() { try bind(value, Int32(index + 1), statement) }
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW: try body(Row(statement: statement))
            case SQLITE_DONE: return
            default: throw error()
            }
        }
    }

    /// The first column of the first row.
    func integer(_ sql: String, _ values: [Value] = []) throws(DatabaseError) -> Int64? {
        var found: Int64?
        try rows(sql, values) { row throws(DatabaseError) in if found == nil { found = row.integer(0) } }
        return found
    }

    /// Number of rows changed by the last statement.
    var changes: Int { Int(sqlite3_changes(handle)) }
    var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    // MARK: The log

    /// Turns off automatic checkpoints of the WAL, and counts its pages.
    func watchLog() {
        sqlite3_wal_hook(
            handle,
            { pages, _, _, count in
                pages?.assumingMemoryBound(to: Int32.self).pointee = count
                return SQLITE_OK
            }, logPages)
    }

    var pagesInLog: Int { Int(logPages.pointee) }

    /// Returns the pages that stay in the log; a reader may keep some there.
    func checkpoint(truncating: Bool) throws(DatabaseError) -> Int {
        var inLog: Int32 = 0
        var done: Int32 = 0
        let mode = truncating ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE
        let code = sqlite3_wal_checkpoint_v2(handle, nil, mode, &inLog, &done)
        guard code == SQLITE_OK || code == SQLITE_BUSY else { throw error() }
        return Int(max(0, inLog - done))
    }

    // MARK: Within

    func error() -> DatabaseError {
        DatabaseError(
            code: sqlite3_errcode(handle) & 0xFF, words: String(cString: sqlite3_errmsg(handle)), path: path)
    }

    private func prepared(_ sql: String) throws(DatabaseError) -> OpaquePointer {
        if let statement = statements[sql] { return statement }
        var statement: OpaquePointer?
        guard sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil) == SQLITE_OK,
            let statement
        else { throw error() }
        statements[sql] = statement
        return statement
    }

    private func bind(_ value: Value, _ index: Int32, _ statement: OpaquePointer) throws(DatabaseError) {
        let code: Int32
        switch value {
        case .integer(let number): code = sqlite3_bind_int64(statement, index, number)
        case .null: code = sqlite3_bind_null(statement, index)
        case .blob(let bytes):
            code = bytes.withUnsafeBytes { csqlite_bind_blob(statement, index, $0.baseAddress, UInt64($0.count)) }
        case .text(var text):
            code = text.withUTF8 { bytes in
                bytes.withMemoryRebound(to: CChar.self) {
                    // SQLite binds NULL for a null pointer, and an empty text may have no address.
                    csqlite_bind_text(statement, index, $0.baseAddress ?? Self.nothing, UInt64($0.count))
                }
            }
        }
        guard code == SQLITE_OK else { throw error() }
    }

    nonisolated(unsafe) private static let nothing: UnsafePointer<CChar> = {
        let byte = UnsafeMutablePointer<CChar>.allocate(capacity: 1)
        byte.initialize(to: 0)
        return UnsafePointer(byte)
    }()

    /// Escapes the path for a URI.
    private static func escaped(_ path: String) -> String {
        path.utf8.map { byte in
            let isPlain = byte < 0x80 && !"%?#".utf8.contains(byte)
            return isPlain ? String(UnicodeScalar(byte)) : "%" + String(byte, radix: 16, uppercase: true)
        }.joined()
    }
}

/// The current row of a statement; valid until the next step.
struct Row {
    let statement: OpaquePointer

    var count: Int { Int(sqlite3_column_count(statement)) }

    func name(_ column: Int) -> String { String(cString: sqlite3_column_name(statement, Int32(column))) }
    func type(_ column: Int) -> Int32 { sqlite3_column_type(statement, Int32(column)) }
    func integer(_ column: Int) -> Int64 { sqlite3_column_int64(statement, Int32(column)) }
    func optionalInteger(_ column: Int) -> Int64? { type(column) == SQLITE_NULL ? nil : integer(column) }

    func value(_ column: Int) -> Database.Value {
        switch type(column) {
        case SQLITE_NULL: .null
        case SQLITE_INTEGER: .integer(integer(column))
        case SQLITE_TEXT: .text(text(column))
        default: .blob(bytes(column))
        }
    }

    func text(_ column: Int) -> String { String(decoding: bytes(column), as: UTF8.self) }
    func optionalText(_ column: Int) -> String? { type(column) == SQLITE_NULL ? nil : text(column) }

    func bytes(_ column: Int) -> [UInt8] {
        // The order matters: the call for the pointer decides the format whose bytes are counted.
        guard let start = sqlite3_column_blob(statement, Int32(column)) else { return [] }
        return Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, Int32(column)))))
    }
}
