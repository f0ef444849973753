/// The agent's files on this machine: inspected after a tool touched them, read when the phone asks.
package protocol AgentFilePort: Sendable {
    /// Never blocks. Calls `completion` at most once, on any thread; a hanging disk may delay it without limit.
    func look(at path: String, completion: @escaping @Sendable (Result<SeenFile, FileRefusal>) -> Void)
    /// Never blocks, and calls `completion` like `look`. `paths` must be one and the same file, each free of links; reads at most `limit` bytes.
    func read(
        _ paths: [String], atMost limit: Int, completion: @escaping @Sendable (Result<ShownFile, FileRefusal>) -> Void)
}

/// A file that the bridge may offer to the phone.
package struct SeenFile: Hashable, Sendable {
    /// Absolute, without links.
    package var path: String
    package var size: Int
    package var mimeType: String

    package init(path: String, size: Int, mimeType: String) {
        self.path = path
        self.size = size
        self.mimeType = mimeType
    }

    package var name: String { path.split(separator: "/").last.map { String($0) } ?? path }
}

package struct ShownFile: Hashable, Sendable {
    package var mimeType: String
    package var bytes: [UInt8]

    package init(mimeType: String, bytes: [UInt8]) {
        self.mimeType = mimeType
        self.bytes = bytes
    }
}

/// Reason to withhold a file, in the relay's words (relay.md#relay-to-bridge-rpcs-req_id-frames).
package enum FileRefusal: Error, Hashable, Sendable {
    case forbidden, notFound, permissionDenied, invalidRequest, noSessionKey, cryptoFailed, unknown
    case tooLarge(size: Int)

    package var code: String {
        switch self {
        case .forbidden: "forbidden"
        case .notFound: "not_found"
        case .permissionDenied: "permission_denied"
        case .invalidRequest: "invalid_request"
        case .noSessionKey: "no_session_key"
        case .cryptoFailed: "crypto_failed"
        case .unknown: "unknown"
        case .tooLarge: "too_large"
        }
    }
}
