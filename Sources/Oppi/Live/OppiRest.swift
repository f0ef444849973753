import AgentKit
import BridgeModel
import JSONReading

/// Calls beside the stream (oppi.md#rest-routes-worth-knowing), under the same trust.
struct OppiRest: Hashable {
    enum Answer {
        case body(FrameNode)
        case refused(status: Int, error: String)
        case failed(String)

        var isUnauthorised: Bool { if case .refused(401, _) = self { true } else { false } }
        var body: FrameNode? { if case .body(let body) = self { body } else { nil } }
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
                return .refused(status: response.status, error: root?["error"]?.string ?? "")
            }
            guard let root, root.isObject else { return .failed("the server answered with something else than JSON") }
            return .body(root)
        case .failed(let failure): return .failed(failure.message)
        case .ran, .read, .found, .alive, .secret, .done: return .failed("no answer")
        }
    }
}
