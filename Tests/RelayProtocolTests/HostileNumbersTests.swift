import RelayProtocol
import Testing
import Vocabulary
import Worlds

@Suite("Numbers that no honest relay sends")
struct HostileNumbersTests {
    private static let updates = [
        #"{"type":"update","update":{"update_id":7,"type":"session.message","created_at":1770000000000,"payload":{"session":{"id":"ses_1"},"interaction_id":"int_1","message":{"id":"msg_1","text":"hi","attachments":[{"key":"k","mime":"a/b","size":12}]}}}}"#,
        #"{"update_id":8,"ts":1770000000,"type":"approval.resolved","payload":{"approval_id":"a","decision":"deny","at":1}}"#,
        #"{"type":"ping","ts":5}"#, #"{"type":"ready","installation_id":"inst_1","ping_interval_ms":25000}"#,
        #"{"req_id":"r","type":"fs.list.req","payload":{"limit":10}}"#,
    ]

    @Test("an update, a ping or a request may hold any number, and the link goes on", arguments: updates)
    func frames(frame: String) {
        for hostile in HostileNumbers.variants(of: Array(frame.utf8)) {
            let talk = LinkConversation.live()
            talk.receive(String(decoding: hostile, as: UTF8.self))
            talk.pass(40)
            talk.receive(9)
            #expect(talk.updates.contains { $0.id.text == "9" })
        }
    }

    @Test("an answer of the relay may hold any number, in body and headers", arguments: HostileNumbers.all)
    func answers(number: String) {
        let body =
            #"{"ok":false,"error":{"code":"rate_limited","message":"m","retry_after_ms":\#(number),"errors":[{"path":\#(number)}]}}"#
        for status in [200, 409, 429, 503] {
            let headers = [
                "Retry-After", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset-After",
                "X-RateLimit-Reset",
            ].map { HTTPHeader($0, number) }
            let response = HTTPResponse(status: status, headers: headers, body: Array(body.utf8))
            let answer = RelayDecoder.answer(to: .success(response), expecting: .message, wall: 1_770_000_000_000)
            // The wait that a refusal asks for can be added to any moment.
            if case .refused(let refusal) = answer.outcome, let wait = refusal.retryAfter {
                #expect((Instant(nanoseconds: .max - 5) + wait).nanoseconds == .max || wait == .zero)
            }
        }
    }

    @Test("the upgrade may be refused with any retry_after_ms", arguments: HostileNumbers.all)
    func upgrade(number: String) {
        let talk = LinkConversation()
        talk.start()
        talk.refuse(503, #"{"ok":false,"error":{"code":"temporarily_unavailable","retry_after_ms":\#(number)}}"#)
        talk.pass(700)
        #expect(talk.orders.contains(LinkConversation.dial))
    }

    @Test("moments do not overflow", arguments: [Int64.min, -1, 0, 1, Int64.max])
    func moments(nanoseconds: Int64) {
        let moment = Instant(nanoseconds: nanoseconds)
        for duration in [Duration.seconds(Int64.max), .seconds(Int64.min), .nanoseconds(Int64.min), .zero] {
            _ = moment + duration
            _ = moment - duration
        }
        #expect(Instant(nanoseconds: .max) - Instant(nanoseconds: .min) > .seconds(1 << 32))
        #expect(Instant(nanoseconds: .max) + .seconds(1) == Instant(nanoseconds: .max))
        #expect(Instant(nanoseconds: .min) - .seconds(1) == Instant(nanoseconds: .min))
    }
}
