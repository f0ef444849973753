import AgentKit
import JSONReading
import Vocabulary

/// Calls beside the stream (oppi.md#rest-routes-worth-knowing), under the same trust.
struct OppiRest: Hashable {
    enum Answer {
        case body(FrameNode)
        /// Oppi refused the call and sent its reason (oppi.md#authentication).
        case refused(status: Int, error: String)
        /// The outcome is unknown.
        case failed(String)

        var isUnauthorised: Bool { if case .refused(401, _) = self { true } else { false } }
        var body: FrameNode? { if case .body(let body) = self { body } else { nil } }

        /// Whether the session, or its workspace, no longer exists; a missing route alone does not count.
        var isGone: Bool {
            guard case .refused(404, let error) = self else { return false }
            return error.hasPrefix("Session not found") || error.hasPrefix("Workspace not found")
        }

        var words: String {
            switch self {
            case .body: "it answered"
            case .refused(let status, let error): "\(status) \(error)"
            case .failed(let reason): reason
            }
        }
    }

    /// A whole history may be long.
    private static let bodyLimit = 64 << 20
    private static let limit = Duration.seconds(10)
    private static let traceLimit = Duration.seconds(30)

    let base: String
    let trust: Trust
    let token: Secret?

    func get(_ path: String, isLong: Bool = false) -> Work {
        .http(request("GET", path, [], isLong ? Self.traceLimit : Self.limit), trust)
    }

    func post(_ path: String, _ body: [UInt8]) -> Work { .http(request("POST", path, body, Self.limit), trust) }

    private func request(_ method: String, _ path: String, _ body: [UInt8], _ limit: Duration) -> HTTPRequest {
        var headers = Self.headers(token)
        if !body.isEmpty { headers.append(HTTPHeader("Content-Type", "application/json")) }
        return HTTPRequest(
            method: method, url: base + path, headers: headers, body: body, timeout: limit,
            responseLimit: Self.bodyLimit)
    }

    static func headers(_ token: Secret?) -> [HTTPHeader] {
        token.map { [HTTPHeader("Authorization", "Bearer \($0.text)")] } ?? []
    }

    static func answer(_ result: WorkResult, with parser: FrameParser) -> Answer {
        switch result {
        case .answered(let response):
            let root = response.body.withUnsafeBytes { parser.parse($0, capacity: response.body.capacity) }
            guard (200..<300).contains(response.status) else {
                if let error = root?["error"]?.string { return .refused(status: response.status, error: error) }
                // A proxy in front of Oppi can refuse a token too.
                if response.status == 401 { return .refused(status: 401, error: "") }
                return .failed("something before Oppi answered with \(response.status)")
            }
            guard let root, root.isObject else { return .failed("the server answered with something else than JSON") }
            return .body(root)
        case .failed(let failure): return .failed(failure.message)
        case .ran, .read, .found, .alive, .secret, .done: return .failed("no answer")
        }
    }
}
