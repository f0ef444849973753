import RelayProtocol
import Testing
import Vocabulary

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
        "an answer with an id that a shell or a terminal would take for its own is an unknown outcome, not a delivery",
        arguments: [
            ("message_id", RelayDecoder.Expected.message), ("session_id", .session), ("device_id", .device),
        ])
    func refusedIDs(member: String, expected: RelayDecoder.Expected) {
        for id in ["$(reboot)", "a b", "a\\u001b[2K", "a;b"] {
            let body = #"{"ok":true,"result":{"\#(member)":"\#(id)"}}"#
            guard case .unknown(let reason) = answer(200, body, expecting: expected).outcome else {
                Issue.record("\(id) was taken")
                continue
            }
            #expect(reason.contains("an id of a form that is not taken"))
        }
    }

    @Test(
        "codes are told apart",
        arguments: [
            (409, "message_finalized", RelayErrorCode.messageFinalized), (400, "validation_failed", .invalidRequest),
            (410, "interaction_expired", .interactionExpired), (418, "teapot", .other("teapot")),
            (302, "moved", .other("moved")), (200, "permission_denied", .permissionDenied),
        ])
    func codes(status: Int, code: String, expected: RelayErrorCode) {
        guard case .refused(let refusal) = answer(status, #"{"ok":false,"error":{"code":"\#(code)"}}"#).outcome else {
            Issue.record("\(status) \(code) is not refused")
            return
        }
        #expect(refusal.code == expected)
        #expect(refusal.status == status)
    }

    @Test(
        "what is not in the relay's envelope is not its word, whatever the status",
        arguments: [200, 302, 400, 401, 403, 404, 408, 409, 410, 413, 429, 451, 500, 502, 503],
        [
            "", " ", "<html>", "busy", "{}", "[]", "null", #"{"ok":"false","error":{"code":"invalid_token"}}"#,
            #"{"ok":0,"error":{"code":"invalid_token"}}"#, #"{"ok":false}"#, #"{"ok":false,"error":{}}"#,
            #"{"ok":false,"error":"invalid_token"}"#, #"{"ok":false,"error":{"code":401}}"#,
            #"{"error":{"code":"session_deleted"}}"#, #"[{"ok":false,"error":{"code":"session_deleted"}}]"#,
            #"{"ok":false,"error":{"code":"session_del"#,
        ])
    func foreign(status: Int, body: String) {
        let headers = [HTTPHeader("X-RateLimit-Remaining", "0"), HTTPHeader("Retry-After", "3600")]
        let read = answer(status, body, headers: headers)
        guard case .unknown = read.outcome else {
            Issue.record("\(status) \(body) was taken for the relay's word")
            return
        }
        #expect(read.foreign?.status == status)
        #expect(read.rate == nil, "its headers are not the relay's either")
    }

    @Test("what answers in the relay's place is told by its kind, and none of what it says is")
    func foreignWords() {
        let page = answer(
            403, "<html>your message was: secret</html>", headers: [HTTPHeader("Server", "squid/6.1 <b>\u{1B}[2J")])
        #expect(
            page.foreign?.description
                == "something between here and the relay answers: HTTP 403 with a web page from squid/6.1b2J")
        #expect(answer(404, "").foreign?.content == .nothing)
        #expect(answer(200, #"{"secret":1}"#).foreign?.content == .otherJSON)
        #expect(answer(502, "secret").foreign?.content == .text)
        #expect(answer(500, #"{"ok":true}"#).foreign == nil)
    }

    @Test("a relay that says in one answer that it is well and that it is not leaves the outcome unknown")
    func contradiction() {
        guard case .unknown = answer(500, #"{"ok":true}"#).outcome else {
            Issue.record("it was taken for an answer")
            return
        }
    }

    @Test(
        "the paths of errors tell whether a shorter text may do",
        arguments: [
            (400, "invalid_request", "text", true), (400, "invalid_request", "text.length", true),
            (400, "invalid_request", "usage", false), (400, "invalid_request", "context", false),
            (413, "payload_too_large", "x", true), (413, "new_rule", "x", true), (400, "new_rule", "text", true),
            (403, "permission_denied", "text", false), (422, "new_rule", "text", false),
        ])
    func concernsText(status: Int, code: String, path: String, expected: Bool) {
        let body = #"{"ok":false,"error":{"code":"\#(code)","errors":[{"path":"a"},{"path":"\#(path)"}]}}"#
        guard case .refused(let refusal) = answer(status, body).outcome else {
            Issue.record("\(body) is not refused")
            return
        }
        #expect(refusal.concernsText == expected)
    }

    @Test("the finer hint of how long to wait wins, is believed up to a day, and nonsense is none")
    func hints() {
        func wait(_ hint: String, _ header: String) -> Duration? {
            let body = #"{"ok":false,"error":{"code":"rate_limited"\#(hint)}}"#
            guard case .refused(let refusal) = answer(429, body, headers: [HTTPHeader("retry-after", header)]).outcome
            else {
                return .seconds(-1)
            }
            return refusal.retryAfter
        }
        #expect(wait(#","retry_after_ms":1500"#, "2") == .milliseconds(1500))
        #expect(wait("", "2") == .seconds(2))
        #expect(wait("", "soon") == nil)
        #expect(wait(#","retry_after_ms":-5"#, "soon") == nil)
        #expect(wait(#","retry_after_ms":3600001"#, "2") == .milliseconds(3_600_001))
        #expect(wait(#","retry_after_ms":86400000"#, "2") == .seconds(86_400))
        #expect(wait(#","retry_after_ms":172800000"#, "2") == .seconds(86_400))
        #expect(wait("", "7200") == .seconds(7_200))
        #expect(wait("", "9223372036854775807") == .seconds(86_400))
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
