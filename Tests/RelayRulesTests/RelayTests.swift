import RelayRules
import Testing

@Suite("The relay's rules")
struct RelayTests {
    private static let now = Moment(milliseconds: 1_770_000_000_000)

    /// A relay with one message of the user, and its answers to raw calls.
    private struct Desk {
        var relay = Relay()
        let session: String
        let interaction: String
        var at = RelayTests.now

        init() {
            let sent = relay.userSends(text: "hi", session: nil, at: RelayTests.now)
            session = sent.session
            interaction = sent.interaction
        }

        mutating func call(_ method: String, _ body: String, token: String = RelayOptions().bridgeToken) -> (
            Int, String
        ) {
            let request = RawRequest(
                method: "POST", target: "/v1/bridge/\(method)",
                headers: [RawHeader("authorization", "Bearer \(token)")],
                body: Array(body.utf8))
            let response = relay.respond(to: request, at: at).response
            return (response.status, String(decoding: response.body, as: UTF8.self))
        }

        mutating func open() -> String {
            let body =
                #"{"session_id":"\#(session)","interaction_id":"\#(interaction)","text":" ","idempotency_key":"o"}"#
            let answer = call("sendMessage", body).1
            return String(answer.split(separator: "\"").first { $0.hasPrefix("msg_") } ?? "")
        }
    }

    @Test("a turn goes its way, and what it streamed and ended with can be read back")
    func turn() {
        var desk = Desk()
        let message = desk.open()
        #expect(
            desk.call("sendMessageDelta", #"{"message_id":"\#(message)","delta":"Hel","idempotency_key":"d1"}"#).0
                == 200)
        #expect(
            desk.call("sendMessageEnd", #"{"message_id":"\#(message)","text":"Hello","idempotency_key":"e"}"#).0 == 200)
        let bubble = desk.relay.sessions.first?.messages.last
        #expect(bubble?.text == "Hello")
        #expect(bubble?.streamed == "Hel")
        #expect(bubble?.isFinal == true)
        #expect(desk.relay.breaches.isEmpty)
    }

    @Test("the same key and body is a repeat, the same key and another body a conflict")
    func keys() {
        var desk = Desk()
        let message = desk.open()
        let delta = #"{"message_id":"\#(message)","delta":"a","idempotency_key":"d1"}"#
        _ = desk.call("sendMessageDelta", delta)
        #expect(desk.call("sendMessageDelta", delta).1.contains(#""idempotent":true"#))
        #expect(desk.relay.breaches.isEmpty)
        let other = #"{"message_id":"\#(message)","delta":"b","idempotency_key":"d1"}"#
        #expect(desk.call("sendMessageDelta", other).0 == 409)
        #expect(desk.relay.breaches.map(\.code) == [.idempotencyConflict])
        #expect(desk.relay.sessions.first?.messages.last?.streamed == "a")
    }

    @Test(
        "a rule that is broken is answered and noted",
        arguments: [
            ("sendMessage", #"{"session_id":"SES","text":"","idempotency_key":"k"}"#, 400, BreachCode.malformedRequest),
            ("sendMessage", #"{"session_id":"SES","text":"x"}"#, 400, .missingKey),
            ("sendMessage", #"{"session_id":"SES","text":"x","idempotency_key":"a:b"}"#, 400, .badKey),
            ("sendMessage", #"{"session_id":"ses_other","text":"x","idempotency_key":"k"}"#, 404, .unknownSession),
            ("sendMessage", "{", 400, .malformedRequest), ("unheardOf", "{}", 404, .unknownRoute),
            (
                "sendMessageDelta", #"{"message_id":"msg_other","delta":"x","idempotency_key":"k"}"#, 404,
                .unknownMessage
            ),
            (
                "createTask", #"{"session_id":"SES","interaction_id":"INT","task_id":"t","kind":"k"}"#, 409,
                .writeBeforeOpen
            ),
            ("finishTask", #"{"session_id":"SES","task_id":"t","status":"completed"}"#, 404, .unknownTask),
            (
                "requestApproval",
                #"{"session_id":"SES","approval_id":"a","action":"x","title":"t","message":"","idempotency_key":"k"}"#,
                400,
                .emptyApprovalMessage
            ),
        ])
    func breaches(method: String, body: String, status: Int, code: BreachCode) {
        var desk = Desk()
        let body = body.replacing("SES", with: desk.session).replacing("INT", with: desk.interaction)
        #expect(desk.call(method, body).0 == status)
        #expect(desk.relay.breaches.map(\.code) == [code])
    }

    @Test("a bucket gives its capacity and its refill, and not a token more")
    func bucket() {
        var desk = Desk()
        let message = desk.open()
        var number = 0
        func delta() -> Int {
            number += 1
            return desk.call(
                "sendMessageDelta", #"{"message_id":"\#(message)","delta":"a","idempotency_key":"d\#(number)"}"#
            ).0
        }
        for _ in 0..<200 { #expect(delta() == 200) }
        #expect(delta() == 429)
        desk.at = desk.at.advanced(byMilliseconds: 10)
        #expect(delta() == 200)
        #expect(delta() == 429)
        desk.at = desk.at.advanced(byMilliseconds: -60_000)
        #expect(delta() == 429)
        #expect(Set(desk.relay.breaches.map(\.code)) == [.rateLimited])
    }

    @Test("after 30 minutes an interaction takes nothing more")
    func window() {
        var desk = Desk()
        let message = desk.open()
        desk.at = desk.at.advanced(byMilliseconds: 30 * 60_000 + 1)
        #expect(
            desk.call("sendMessageDelta", #"{"message_id":"\#(message)","delta":"a","idempotency_key":"d"}"#).0 == 410)
    }

    @Test("a wrong token is refused before anything is read")
    func token() {
        var desk = Desk()
        #expect(desk.call("sendMessage", "not json", token: "wrong").0 == 401)
    }

    @Test("a planted fault is no breach")
    func fault() {
        var desk = Desk()
        desk.relay.plan(Fault(.rateLimited(retryAfterMilliseconds: 5, namesBucket: true)))
        #expect(desk.call("sendMessage", "{}").0 == 429)
        #expect(desk.relay.breaches.isEmpty)
    }
}
