import Transport
import Vocabulary

extension CurlClient {
    /// One exchange, awaited.
    func exchange(_ request: HTTPRequest) async throws(HTTPFailure) -> HTTPResponse {
        try await withCheckedContinuation { continuation in send(request) { continuation.resume(returning: $0) } }.get()
    }
}
