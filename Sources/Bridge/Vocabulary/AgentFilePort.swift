/// The files of the agent, on this machine: looked at when a tool has touched them, read when the phone asks.
package protocol AgentFilePort: Sendable {
    /// Never blocks; `completion` is called at most once, on any thread. A disk that hangs may keep it for ever.
    func look(at path: String, completion: @escaping @Sendable (Result<SeenFile, FileRefusal>) -> Void)
    /// As `look`. `paths` must be one and the same file, each named without links; no more than `limit` bytes are read.
    func read(
        _ paths: [String], atMost limit: Int, completion: @escaping @Sendable (Result<ShownFile, FileRefusal>) -> Void)
}

/// A file that the phone may be offered.
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

/// Why a file is not shown, in the relay's words (relay.md#relay-to-bridge-rpcs-req_id-frames).
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
