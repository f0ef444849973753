import RelayRules
import Testing

/// The buckets of relay.md#rate-limits, call by call, to the token.
@Suite struct RateLimitTests {
    struct Bucket: Sendable, CustomStringConvertible {
        var name: String
        var method: String
        var capacity: Int
        var refill: Int
        var description: String { "\(name) \(method)" }
    }

    /// The table of 11.1.
    static let buckets: [Bucket] =
        [
            ("msg", ["sendMessage", "sendMessageEnd"], 30, 10), ("delta", ["sendMessageDelta"], 200, 100),
            ("task", ["createTask", "updateTask", "finishTask"], 60, 30), ("approval", ["requestApproval"], 10, 2),
            ("memory", ["getMemory", "setMemory"], 60, 20),
            (
                "default", ["createSession", "devices", "notifyToolFile", "sessions/x/recipients", "anythingElse"], 30,
                10
            ),
        ].flatMap { name, methods, capacity, refill in
            methods.map { Bucket(name: name, method: $0, capacity: capacity, refill: refill) }
        }

    private struct Desk {
        var relay = Relay()
        /// A moment between two full seconds, so rounding shows.
        var at = Moment(milliseconds: 1_770_000_000_123)

        mutating func call(_ method: String) -> RawResponse {
            relay.respond(to: SocketDesk.bridgeCall(method, "{}"), at: at).response
        }
    }

    private func header(_ name: String, _ response: RawResponse) -> String {
        response.headers.filter { $0.name == name }.map(\.value).joined(separator: " and ")
    }

    /// Checks all six headers. `toFull`: milliseconds until the bucket is full again.
    private func check(_ response: RawResponse, _ bucket: Bucket, remaining: Int, toFull: Int64, at now: Moment) {
        #expect(header("X-RateLimit-Limit", response) == String(bucket.capacity))
        #expect(header("X-RateLimit-Remaining", response) == String(remaining))
        let digits = String(toFull % 1_000)
        let fraction = String(repeating: "0", count: 3 - digits.count) + digits
        #expect(header("X-RateLimit-Reset-After", response) == "\(toFull / 1_000).\(fraction)")
        #expect(header("X-RateLimit-Reset", response) == String((now.milliseconds + toFull + 999) / 1_000))
        #expect(header("X-RateLimit-Bucket", response) == bucket.name)
        #expect(header("X-RateLimit-Scope", response) == "installation")
    }

    /// Milliseconds until the bucket refills `tokens`, rounded up.
    private func milliseconds(_ tokens: Int, _ bucket: Bucket) -> Int64 {
        Int64((tokens * 1_000 + bucket.refill - 1) / bucket.refill)
    }

    @Test(arguments: buckets)
    func aBucketGivesItsCapacityThenRefusesAndRefills(bucket: Bucket) {
        var desk = Desk()
        for taken in 1...bucket.capacity {
            let response = desk.call(bucket.method)
            #expect(response.status != 429)
            check(
                response, bucket, remaining: bucket.capacity - taken, toFull: milliseconds(taken, bucket), at: desk.at)
        }
        let wait = milliseconds(1, bucket)
        for _ in 0..<3 {
            let refused = desk.call(bucket.method)
            #expect(refused.status == 429)
            check(
                refused, bucket, remaining: 0, toFull: milliseconds(bucket.capacity, bucket), at: desk.at)
            #expect(header("Retry-After", refused) == String((wait + 999) / 1_000))
            let text = String(decoding: refused.body, as: UTF8.self)
            #expect(text.contains(#""code":"rate_limited""#))
            #expect(text.contains("\"retry_after_ms\":\(wait)}"))
        }
        desk.at = desk.at.advanced(byMilliseconds: wait - 1)
        #expect(desk.call(bucket.method).status == 429, "not a millisecond too early")
        desk.at = desk.at.advanced(byMilliseconds: 1)
        #expect(desk.call(bucket.method).status != 429, "as promised")
        #expect(desk.call(bucket.method).status == 429, "one token, not two")
        desk.at = desk.at.advanced(byMilliseconds: 3_600_000)
        let full = desk.call(bucket.method)
        check(full, bucket, remaining: bucket.capacity - 1, toFull: wait, at: desk.at)
        #expect(Set(desk.relay.breaches.map(\.code)).contains(.rateLimited))
    }

    @Test(arguments: buckets)
    func aBucketTakesNothingFromAnother(bucket: Bucket) {
        var desk = Desk()
        while desk.call(bucket.method).status != 429 {}
        for other in Self.buckets where other.name != bucket.name && other.method != bucket.method {
            #expect(desk.call(other.method).status != 429)
        }
        for same in Self.buckets where same.name == bucket.name { #expect(desk.call(same.method).status == 429) }
    }

    @Test func aClockThatIsPutBackGivesNoTokens() {
        var desk = Desk()
        while desk.call("requestApproval").status != 429 {}
        desk.at = desk.at.advanced(byMilliseconds: -3_600_000)
        #expect(desk.call("requestApproval").status == 429)
        desk.at = desk.at.advanced(byMilliseconds: 500)
        #expect(desk.call("requestApproval").status != 429, "and it goes on from there")
    }

    // MARK: Codes that need time

    @Test func anInteractionExpiresAfterHalfAnHourForEveryWrite() {
        var desk = SocketDesk()
        let sent = desk.relay.userSends(text: "x", session: nil, at: desk.at)
        let opened = desk.asBridge("sendMessage", SocketDesk.placeholder(sent.session, sent.interaction))
        let message = SocketDesk.value(of: "message_id", in: opened.text) ?? ""
        let place = #""session_id":"\#(sent.session)","interaction_id":"\#(sent.interaction)""#
        #expect(desk.asBridge("createTask", "{\(place),\"task_id\":\"t\",\"kind\":\"exec\"}").status == 200)
        desk.pass(seconds: 30 * 60 + 1)
        let writes = [
            ("sendMessageDelta", #"{"message_id":"\#(message)","delta":"a","idempotency_key":"k1"}"#),
            ("sendMessageEnd", #"{"message_id":"\#(message)","text":"a","idempotency_key":"k2"}"#),
            ("createTask", "{\(place),\"task_id\":\"u\",\"kind\":\"exec\"}"),
            ("updateTask", "{\(place),\"task_id\":\"t\"}"),
            ("finishTask", "{\(place),\"task_id\":\"t\",\"status\":\"completed\"}"),
            (
                "requestApproval",
                "{\(place),\"approval_id\":\"a\",\"action\":\"x\",\"title\":\"t\",\"message\":\"m\",\"idempotency_key\":\"k3\"}"
            ),
        ]
        for (method, body) in writes {
            let answer = desk.asBridge(method, body)
            #expect(answer.status == 410, "\(method)")
            #expect(answer.text.contains(#""code":"interaction_expired""#))
        }
        let loose = #"{"session_id":"\#(sent.session)","text":"late","idempotency_key":"k4"}"#
        #expect(desk.asBridge("sendMessage", loose).status == 200, "a fresh message may carry the result")
    }

    @Test func aKeyIsRememberedForADayOrAsLongAsItIsAmongTheNewest() {
        var desk = SocketDesk { options in
            options = options.withoutLimits
            options.keyLimit = 100
        }
        let sent = desk.relay.userSends(text: "x", session: nil, at: desk.at)
        let body = { (key: String) in
            #"{"session_id":"\#(sent.session)","text":"x","idempotency_key":"\#(key)"}"#
        }
        #expect(desk.asBridge("sendMessage", body("first")).status == 200)
        for number in 0..<1_000 { _ = desk.asBridge("sendMessage", body("k\(number)")) }
        #expect(desk.asBridge("sendMessage", body("first")).text.contains("idempotent"))
        for number in 1_000..<1_200 { _ = desk.asBridge("sendMessage", body("k\(number)")) }
        #expect(!desk.asBridge("sendMessage", body("first")).text.contains("idempotent"), "1,024 and 100 newer ones")
        #expect(desk.asBridge("sendMessage", body("k1150")).text.contains("idempotent"))
        desk.pass(seconds: 24 * 3_600 + 1)
        #expect(!desk.asBridge("sendMessage", body("k1150")).text.contains("idempotent"))
    }

    @Test func ofLongBodiesFewerAreRememberedTheNewest() {
        var desk = SocketDesk { options in
            options = options.withoutLimits
            options.keyByteLimit = 100_000
        }
        let sent = desk.relay.userSends(text: "x", session: nil, at: desk.at)
        let filling = String(repeating: "x", count: 10_000)
        let body = { (key: String) in
            #"{"session_id":"\#(sent.session)","text":"x","idempotency_key":"\#(key)","ignored":"\#(filling)"}"#
        }
        for number in 0..<30 {
            #expect(desk.asBridge("sendMessage", body("k\(number)")).status == 200)
            #expect(desk.asBridge("sendMessage", body("k\(number)")).text.contains("idempotent"), "the newest is kept")
            #expect(desk.relay.state.count < 140_000)
        }
        #expect(desk.asBridge("sendMessage", body("k24")).text.contains("idempotent"))
        #expect(!desk.asBridge("sendMessage", body("k15")).text.contains("idempotent"))
    }

    @Test func callsOfUnheardMethodsAreCountedTogether() {
        var desk = SocketDesk { $0 = $0.withoutLimits }
        for number in 0..<500 { _ = desk.asBridge("method\(number)", "{}") }
        let known = [
            "createSession", "createTask", "devices", "finishTask", "getMemory", "notifyToolFile", "requestApproval",
            "sendMessage", "sendMessageDelta", "sendMessageEnd", "setMemory", "updateTask", "sessions/s/recipients",
        ]
        for method in known { _ = desk.asBridge(method, "{}") }
        #expect(desk.relay.tally.calls["unknown"] == 500)
        #expect(desk.relay.tally.calls.count == known.count + 1)
        #expect(desk.relay.tally.calls.values.allSatisfy { [1, 500].contains($0) })
        _ = desk.asBridge(String(repeating: "m", count: 10_000), "{}")
        #expect(desk.relay.breaches.allSatisfy { $0.method.utf8.count <= 64 && $0.sentence.utf8.count <= 1_024 })
    }

    // MARK: Memory

    @Test func memoryIsWrittenAndReadByKeyAndPattern() {
        var desk = SocketDesk()
        #expect(desk.asBridge("getMemory", "{}").text.contains(#""entries":[]"#))
        let entries =
            #"{"entries":[{"key":"notes.a","value":"x"},{"key":"notes.b","value":{"n":1}},{"key":"other","value":2}]}"#
        #expect(desk.asBridge("setMemory", entries).text.contains(#""written":3"#))
        #expect(desk.asBridge("getMemory", #"{"keys":["other","none"]}"#).text.contains(#"[{"key":"other","value":2,"#))
        let notes = desk.asBridge("getMemory", #"{"key_pattern":"notes.*"}"#).text
        #expect(notes.contains(#"{"key":"notes.b","value":{"n":1},"updated_at":"#) && !notes.contains("other"))
        let large = String(repeating: "x", count: 16_384)
        let refused = desk.asBridge("setMemory", #"{"entries":[{"key":"a","value":"\#(large)"}]}"#)
        #expect(refused.status == 400)
        #expect(refused.text.contains(#""path":"entries.0.value","code":"too_big""#))
        #expect(desk.asBridge("setMemory", #"{"entries":[]}"#).status == 400)
        #expect(desk.asBridge("getMemory", #"{"keys":[1]}"#).status == 400)
    }
}
