import RelayProtocol
import Testing
import Transport
import Vocabulary

@Suite("Retry-After, as it comes over a socket")
struct RetryAfterWireTests {
    @Test(
        "seconds and an HTTP date are obeyed, anything else is left to the back-off",
        arguments: [
            ("7", Duration.seconds(7)), ("Sun, 06 Nov 1994 08:49:37 GMT", .seconds(7)),
            // A date in the past asks for no wait.
            ("Sun, 06 Nov 1994 08:49:00 GMT", .zero), ("soon", nil),
        ] as [(String, Duration?)])
    func forms(text: String, wait: Duration?) async throws {
        let body = #"{"ok":false,"error":{"code":"temporarily_unavailable","message":"later"}}"#
        let head =
            "HTTP/1.1 503 Service Unavailable\r\nRetry-After: \(text)\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
        let server = ScriptedServer([[head + body]])
        let client = CurlClient()
        defer { client.close() }
        let response = try await client.exchange(
            HTTPRequest(method: "POST", url: "http://127.0.0.1:\(server.port)/v1/bridge/sendMessage"))
        // The wall clock stands seven seconds before 1994-11-06 08:49:37.
        let answer = RelayDecoder.answer(to: .success(response), expecting: .message, wall: 784_111_770_000)
        guard case .refused(let refusal) = answer.outcome else {
            Issue.record("\(answer.outcome)")
            return
        }
        #expect(refusal.retryAfter == wait)
    }
}
