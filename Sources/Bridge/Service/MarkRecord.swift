import BridgeCore
import Vocabulary

/// The mark of a state directory, and the other bridge that was seen (`Claim`), as the journal keeps them: settings of the connection.
enum MarkRecord {
    struct Mark: Codable, Hashable {
        private(set) var version = 1
        var bits: UInt32
        var since: Int64
        /// Where the state directory was when the mark was made. In a copy of it elsewhere the mark is no longer its own.
        var place: String
        /// The start of the machine in which it was made; nil: a record of an earlier version, or the system did not say.
        var start: String?

        init(bits: UInt32, since: Int64, place: String, start: String? = nil) {
            self.bits = bits
            self.since = since
            self.place = place
            self.start = start
        }
    }

    /// The mark that a process has there; new bits where the known one was made at another place or in another start. After a start alone
    /// it is as old as it was: messages from before it are still marked.
    static func mark(_ known: Mark?, at place: String, start: String?, wall: Int64, bits: () -> UInt32) -> Mark {
        let here = known.flatMap { $0.place == place ? $0 : nil }
        if let here, here.start == start { return here }
        return Mark(bits: bits(), since: here?.since ?? wall, place: place, start: start)
    }

    private struct Other: Codable {
        var version = 1
        var last: Int64
        var messages: Int
    }

    private static let markName = "state-mark"
    private static let otherName = "other-bridge"

    static func mark(in settings: [String: [UInt8]]) -> Mark? {
        SettingRecord.read(Mark.self, settings[markName]).flatMap { $0.version == 1 ? $0 : nil }
    }

    static func entry(of mark: Mark) -> JournalEntry { entry(mark, markName) }

    static func other(in settings: [String: [UInt8]], now: Instant, wall: Int64) -> OtherBridge? {
        guard let known = SettingRecord.read(Other.self, settings[otherName]), known.version == 1 else { return nil }
        return OtherBridge(last: moment(known.last, now: now, wall: wall), messages: known.messages)
    }

    static func entry(of other: OtherBridge, now: Instant, wall: Int64) -> JournalEntry {
        let ago = (now - other.last).nanoseconds / 1_000_000
        return entry(Other(last: wall - ago, messages: other.messages), otherName)
    }

    /// A wall clock that was set back makes it no later than now.
    static func moment(_ then: Int64, now: Instant, wall: Int64) -> Instant {
        now - .milliseconds(max(0, wall.subtractingReportingOverflow(then).partialValue))
    }

    private static func entry(_ value: some Encodable, _ name: String) -> JournalEntry {
        .setting(name: name, value: SettingRecord.bytes(of: value))
    }
}
