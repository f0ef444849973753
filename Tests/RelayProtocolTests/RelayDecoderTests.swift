import BridgeModel
import RelayProtocol
import Testing

@Suite("Answers of the relay")
struct RelayDecoderTests {
    private func answer(
        _ status: Int, _ body: String, headers: [HTTPHeader] = [], expecting: RelayDecoder.Expected = .nothing
    ) -> RelayAnswer {
        RelayDecoder.answer(
            to: .success(HTTPResponse(status: status, headers: headers, body: Array(body.utf8))), expecting: expecting,
            wall: 0)
    }

    @Test("a delivered call brings what was expected")
    func delivered() {
        let receipt = RelayReceipt(message: MessageID("msg_1"))
        #expect(
            answer(200, #"{"ok":true,"result":{"message_id":"msg_1"}}"#, expecting: .message).outcome
                == .delivered(receipt))
        #expect(
            answer(200, #"{"ok":true,"result":{"id":"msg_1"}}"#, expecting: .message).outcome == .delivered(receipt))
        #expect(
            answer(200, #"{"ok":true,"result":{"idempotent":true}}"#).outcome
                == .delivered(RelayReceipt(repeated: true)))
    }

    @Test(
        "a 2xx that does not say what it must is an unknown outcome, never a delivery",
        arguments: [
            "", "<html><body>Sign in</body></html>", #"{"ok":true,"result":{"message_"#, "{}", "[]", "null",
            #"{"ok":true}"#,
        ])
    func unknown(body: String) {
        guard case .unknown = answer(200, body, expecting: .message).outcome else {
            Issue.record("\(body) was taken for an answer")
            return
        }
    }

    @Test(
        "codes are told apart, and the status decides where there is none",
        arguments: [
            (409, #"{"ok":false,"error":{"code":"message_finalized","message":"m"}}"#, RelayErrorCode.messageFinalized),
            (400, #"{"ok":false,"error":{"code":"validation_failed","message":"m"}}"#, .invalidRequest),
            (410, #"{"ok":false,"error":{"code":"interaction_expired"}}"#, .interactionExpired),
            (418, #"{"ok":false,"error":{"code":"teapot"}}"#, .other("teapot")),
            (401, "<html>", .invalidToken), (429, "", .rateLimited), (503, "busy", .temporarilyUnavailable),
            (404, "<html>", .other("http_404")), (302, #"{"ok":false,"error":{}}"#, .other("http_302")),
        ])
    func codes(status: Int, body: String, code: RelayErrorCode) {
        guard case .refused(let refusal) = answer(status, body).outcome else {
            Issue.record("\(status) \(body) is not refused")
            return
        }
        #expect(refusal.code == code)
        #expect(refusal.status == status)
    }

    @Test("the finer hint of how long to wait wins, and nonsense is none")
    func hints() {
        func wait(_ body: String, _ header: String) -> Duration? {
            guard case .refused(let refusal) = answer(429, body, headers: [HTTPHeader("retry-after", header)]).outcome
            else {
                return .seconds(-1)
            }
            return refusal.retryAfter
        }
        #expect(
            wait(#"{"ok":false,"error":{"code":"rate_limited","retry_after_ms":1500}}"#, "2") == .milliseconds(1500))
        #expect(wait(#"{"ok":false,"error":{"code":"rate_limited"}}"#, "2") == .seconds(2))
        #expect(wait("", "soon") == nil)
        #expect(wait(#"{"ok":false,"error":{"code":"rate_limited","retry_after_ms":-5}}"#, "soon") == nil)
    }

    @Test("rate headers and the request id are read, and odd ones ignored")
    func rate() {
        let headers = [
            HTTPHeader("X-RateLimit-Limit", "200"), HTTPHeader("X-RateLimit-Remaining", "187"),
            HTTPHeader("X-RateLimit-Reset-After", "0.125"), HTTPHeader("X-RateLimit-Bucket", "delta"),
            HTTPHeader("X-Request-ID", "req_0123456789abcdef"),
        ]
        let read = answer(200, #"{"ok":true}"#, headers: headers)
        #expect(read.request == RequestID("req_0123456789abcdef"))
        #expect(read.rate == RateReading(bucket: .delta, limit: 200, remaining: 187, resetAfter: .milliseconds(125)))
        let odd = [HTTPHeader("X-RateLimit-Limit", "-1"), HTTPHeader("X-RateLimit-Bucket", "other")]
        #expect(answer(200, #"{"ok":true}"#, headers: odd).rate == RateReading(bucket: nil))
        #expect(answer(200, #"{"ok":true}"#).rate == nil)
    }

    @Test("a network failure is an unknown outcome")
    func failure() {
        let failure = HTTPFailure(.timedOut, "timed out", mayHaveBeenApplied: true)
        #expect(
            RelayDecoder.answer(to: .failure(failure), expecting: .nothing, wall: 0).outcome
                == .unknown(reason: "timed out"))
    }

    @Test("ten thousand damaged replies crash nothing and deliver nothing")
    func damaged() {
        let good = Array(
            #"{"ok":true,"result":{"message_id":"msg_1"},"error":{"code":"x","errors":[{"path":"a"}]}}"#.utf8)
        var state: UInt64 = 11
        for _ in 0..<10_000 {
            var body = good
            for _ in 0..<3 {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                body[Int(state >> 33) % body.count] = UInt8(truncatingIfNeeded: state >> 25)
            }
            body.removeLast(Int(state >> 40) % 8 + 1)
            let response = HTTPResponse(status: 200, body: body)
            if case .delivered = RelayDecoder.answer(to: .success(response), expecting: .message, wall: 0).outcome {
                Issue.record("a cut reply was taken for a delivery: \(String(decoding: body, as: UTF8.self))")
            }
        }
    }
}
