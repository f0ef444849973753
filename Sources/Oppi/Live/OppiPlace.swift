import AgentKit
import BridgeModel
import JSONReading

/// Where a chat lives at the server, and which prompt of ours was the last one there: a fact, kept before anything is said.
struct OppiPlace: Hashable {
    static let factPrefix = "session:"

    let workspace: String
    /// The server's name for the session.
    let native: String
    /// The run of the last prompt, and when it was first written, on the server's clock.
    var run: RunID?
    var sentAt: Int64 = 0

    init(workspace: String, native: String) {
        self.workspace = workspace
        self.native = native
    }

    /// Nil: this is no such fact, or names what could not be in a path.
    init?(_ fact: [UInt8]) {
        let lines = String(decoding: fact, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count == 4, Self.isName(String(lines[0])), Self.isName(String(lines[1])) else { return nil }
        workspace = String(lines[0])
        native = String(lines[1])
        if !lines[2].isEmpty { run = RunID(String(lines[2])) }
        sentAt = Int64(lines[3]) ?? 0
    }

    var fact: [UInt8] { Array("\(workspace)\n\(native)\n\(run?.text ?? "")\n\(sentAt)".utf8) }

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
