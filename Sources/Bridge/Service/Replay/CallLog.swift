import Locking
package import Vocabulary

/// Wraps an HTTP client and records each call once, however often it is tried.
package final class CallLog: HTTPClient {
    private struct State {
        var lines: [String] = []
        var seen: Set<[UInt8]> = []
    }

    private let http: any HTTPClient
    private let state = Locked(State())

    package init(_ http: any HTTPClient) { self.http = http }

    /// One line for each call, as `CallComparison` reads it: method and body.
    package var lines: [String] { state.withLock { $0.lines } }

    package func send(
        _ request: HTTPRequest, completion: @escaping @Sendable (Result<HTTPResponse, HTTPFailure>) -> Void
    ) {
        let method = request.url.split(separator: "/").last.map(String.init) ?? ""
        state.withLock { state in
            // A retry has the same key and the same bytes (relay.md#rules): it is the same call.
            guard state.seen.insert(request.body).inserted else { return }
            state.lines.append("\(method) \(String(decoding: request.body, as: UTF8.self))")
        }
        http.send(request, completion: completion)
    }
}
