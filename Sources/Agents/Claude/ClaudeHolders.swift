import JSONReading
import Vocabulary

/// A process that has a session open, by its `sessions/PID.json` (claude-code.md#holders): an orphan of an earlier bridge, or a
/// person's terminal. The file outlives a killed process, so number and start must belong to a living one.
struct ClaudeHolder: Hashable, Sendable {
    var pid: Int
    /// Field 22 of `/proc/PID/stat`, or nil if missing.
    var startTicks: Int?
    var session: String
    /// No turn is open in the process; background work may be.
    var isIdle = false

    private static let pids = 1...Int(Int32.max)

    /// Nil if the file names no process or no session.
    init?(_ file: [UInt8]) {
        let parser = FrameParser()
        let read = file.withUnsafeBytes { bytes -> (Int, Int?, String, Bool)? in
            guard let root = parser.parse(bytes, capacity: bytes.count),
                let pid = root["pid"]?.integer(in: Self.pids), let session = root["sessionId"]?.string
            else { return nil }
            let start = root["procStart"]
            let ticks = start?.integer(in: .counts) ?? start?.string.flatMap { Int($0) }
            return (pid, ticks, session, root["status"]?.holds("idle") == true)
        }
        guard let read else { return nil }
        (pid, startTicks, session, isIdle) = read
    }
}
