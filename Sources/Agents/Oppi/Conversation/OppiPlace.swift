import AgentKit
import JSONReading
import Vocabulary

/// A chat's session at the server, its last prompt, and the last message written
/// into that prompt's run: a fact, stored before either is sent.
struct OppiPlace: Hashable {
    static let factPrefix = "session:"

    let workspace: String
    /// The server's name for the session.
    let native: String
    /// The run of the last prompt, and when that was first written, on the server's clock.
    var run: RunID?
    var sentAt: Int64 = 0
    var steer: RunID?
    /// Marks of the messages written into that run.
    var marks: [OppiMark] = []

    init(workspace: String, native: String) {
        self.workspace = workspace
        self.native = native
    }

    /// Nil if the bytes are no such fact, or have names that are unsafe in a path.
    init?(_ fact: [UInt8]) {
        let lines = String(decoding: fact, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        guard (4...6).contains(lines.count), Self.isName(String(lines[0])), Self.isName(String(lines[1])) else {
            return nil
        }
        workspace = String(lines[0])
        native = String(lines[1])
        if !lines[2].isEmpty { run = RunID(String(lines[2])) }
        // The journal may be damaged: the bounds keep later sums from overflowing.
        sentAt = min(max(Int64(lines[3]) ?? 0, 0), 1 << 53)
        if lines.count > 4, !lines[4].isEmpty { steer = RunID(String(lines[4])) }
        if lines.count > 5 { marks = lines[5].split(separator: " ").compactMap { OppiMark(fact: $0) } }
    }

    var fact: [UInt8] {
        var lines = [workspace, native, run?.text ?? "", "\(sentAt)"]
        if steer != nil || !marks.isEmpty { lines.append(steer?.text ?? "") }
        if !marks.isEmpty { lines.append(marks.map(\.text).joined(separator: " ")) }
        return Array(lines.joined(separator: "\n").utf8)
    }

    var path: String { "/workspaces/\(workspace)/sessions/\(native)" }

    /// Whether the id is safe in a path. The server's ids are letters, digits, `-` and `_` (oppi.md#shared-objects).
    static func isName(_ id: String) -> Bool {
        (1...128).contains(id.utf8.count)
            && id.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}
