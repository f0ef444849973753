import BridgeCore
import Vocabulary

/// Journal records of the mark of a state directory and of the other bridge that was seen (`Claim`): settings of the connection.
enum MarkRecord {
    struct Mark: Codable, Hashable {
        private(set) var version = 1
        var bits: UInt32
        var since: Int64
        /// Place of the state directory when the mark was made. A copy elsewhere does not own the mark.
        var place: String
        /// The machine's start in which the mark was made. Nil in a record of an earlier version, or if the system did not name it.
        var start: String?

        init(bits: UInt32, since: Int64, place: String, start: String? = nil) {
            self.bits = bits
            self.since = since
            self.place = place
            self.start = start
        }
    }

    /// Mark of a process at this place, with new bits if the known mark was made at another place or in another start. After a start alone its
    /// age stays: messages from before it are still marked.
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

    /// A wall clock that was set back yields no moment after now.
    static func moment(_ then: Int64, now: Instant, wall: Int64) -> Instant {
        now - .milliseconds(max(0, wall.subtractingReportingOverflow(then).partialValue))
    }

    private static func entry(_ value: some Encodable, _ name: String) -> JournalEntry {
        .setting(name: name, value: SettingRecord.bytes(of: value))
    }
}
