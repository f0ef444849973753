import AgentKit
import JSONReading
import Vocabulary

/// Where a chat lives at the server, which prompt of ours was the last one there, and which message was the last one that was written
/// into its run: a fact, kept before anything is said.
struct OppiPlace: Hashable {
    static let factPrefix = "session:"

    let workspace: String
    /// The server's name for the session.
    let native: String
    /// The run of the last prompt, and when it was first written, on the server's clock.
    var run: RunID?
    var sentAt: Int64 = 0
    var steer: RunID?
    /// What was written into that run.
    var marks: [OppiMark] = []

    init(workspace: String, native: String) {
        self.workspace = workspace
        self.native = native
    }

    /// Nil: this is no such fact, or names what could not be in a path.
    init?(_ fact: [UInt8]) {
        let lines = String(decoding: fact, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        guard (4...6).contains(lines.count), Self.isName(String(lines[0])), Self.isName(String(lines[1])) else {
            return nil
        }
        workspace = String(lines[0])
        native = String(lines[1])
        if !lines[2].isEmpty { run = RunID(String(lines[2])) }
        // From a journal that may be damaged: what is reckoned with it does not overflow.
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

    /// Ids of the server are letters, digits, `-` and `_` (oppi.md#shared-objects); anything else is not put into a path.
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
