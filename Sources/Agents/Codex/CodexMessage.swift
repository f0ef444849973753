import JSONReading
import Vocabulary

/// One JSON-RPC message of the app-server (codex.md#framing). Its members say which kind it is, never its id: both sides number
/// their requests from small integers.
enum CodexMessage {
    /// Request of either side. The id is an integer or a string, and the answer repeats it unchanged.
    case request(id: JSONText, method: String, FrameNode)
    case notification(method: String, FrameNode)
    case result(id: JSONText, FrameNode)
    case failure(id: JSONText, code: Int, message: String)

    init?(_ root: FrameNode) {
        guard root.isObject else { return nil }
        let id = root["id"]?.compact
        if let method = root["method"]?.string {
            let params = root["params"] ?? root
            self = id.map { .request(id: $0, method: method, params) } ?? .notification(method: method, params)
            return
        }
        guard let id else { return nil }
        if let error = root["error"] {
            let code = error["code"]?.integer(in: -100_000...100_000) ?? 0
            self = .failure(id: id, code: code, message: error["message"]?.string ?? "")
        } else if let result = root["result"] {
            self = .result(id: id, result)
        } else {
            return nil
        }
    }
}

/// Codes of refusals, and words of the sentence behind -32600, which means nearly everything (codex.md#framing).
enum CodexRefusal {
    static let overloaded = -32_001

    /// The thread has no file or an empty one: a new thread replaces it.
    static func hasNoThread(_ message: String) -> Bool {
        message.contains("no rollout found") || (message.contains("rollout") && message.contains("is empty"))
    }
    static func isOwnedElsewhere(_ message: String) -> Bool { message.contains("already has an active writer") }
    static func isArchived(_ message: String) -> Bool { message.contains("is archived") }
    static func isNotLoaded(_ message: String) -> Bool { message.contains("thread not found") }
}
