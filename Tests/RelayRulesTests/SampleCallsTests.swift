import RelayRules
import Testing

/// Calls of the sample connectors in the relay's repository: a strict relay refuses them, any other accepts them with
/// a warning.
@Suite struct SampleCallsTests {
    private struct Desk {
        var desk: SocketDesk
        let session: String
        let interaction: String

        init(acceptsSamples: Bool) {
            desk = SocketDesk {
                $0.acceptsSamples = acceptsSamples
                $0.callLogLimit = 20
            }
            let sent = desk.relay.userSends(text: "hi", session: nil, at: desk.at)
            (session, interaction) = (sent.session, sent.interaction)
        }

        mutating func bridge(_ method: String, _ body: String) -> RawResponse {
            desk.relay.respond(to: SocketDesk.bridgeCall(method, body), at: desk.at).response
        }

        mutating func open(text: String = "", key: String) -> RawResponse {
            bridge(
                "sendMessage",
                #"{"session_id":"\#(session)","interaction_id":"\#(interaction)","text":"\#(text)","idempotency_key":"\#(key)"}"#
            )
        }

        static func warnings(_ response: RawResponse) -> [String] {
            response.headers.filter { $0.name == "X-Simulator-Warning" }.map {
                String($0.value.prefix { $0 != ":" })
            }
        }
    }

    @Test("a turn in the way of the samples goes through, and each call says what a strict relay would refuse")
    func accepted() throws {
        var desk = Desk(acceptsSamples: true)
        let opened = desk.open(key: "\(desk.interaction):message")
        #expect(opened.status == 200)
        #expect(Desk.warnings(opened) == ["emptyPlaceholder", "keyOutsideAlphabet"])
        let message = try #require(SocketDesk.value(of: "message_id", in: String(decoding: opened.body, as: UTF8.self)))
        for (index, piece) in ["Echo from connector: one", " two three — »four« 五", "\\n\\t six"].enumerated() {
            // One sample puts the text of its delta into the key.
            let body =
                #"{"message_id":"\#(message)","delta":"\#(piece)","idempotency_key":"\#(desk.interaction):delta:\#(piece)"}"#
            let answer = desk.bridge("sendMessageDelta", body)
            #expect(answer.status == 200, "\(index)")
            #expect(Desk.warnings(answer) == ["keyOutsideAlphabet"])
        }
        let end = desk.bridge(
            "sendMessageEnd",
            #"{"message_id":"\#(message)","text":"Command exited with 1","finish_reason":"error","idempotency_key":"\#(desk.interaction):end"}"#
        )
        #expect(end.status == 200)
        #expect(Desk.warnings(end) == ["undocumentedFinishReason", "keyOutsideAlphabet"])
        #expect(desk.desk.relay.breaches.isEmpty)
        #expect(
            desk.desk.relay.warnings.map { "\($0.count) \($0.method) \($0.code)" } == [
                "1 sendMessage emptyPlaceholder", "1 sendMessage keyOutsideAlphabet",
                "3 sendMessageDelta keyOutsideAlphabet", "1 sendMessageEnd undocumentedFinishReason",
                "1 sendMessageEnd keyOutsideAlphabet",
            ])
        #expect(desk.desk.relay.calls(after: 0).map(\.warnings.count) == [2, 1, 1, 1, 2])
    }

    @Test("a strict relay refuses each of it, as a breach and without a warning")
    func refused() throws {
        var desk = Desk(acceptsSamples: false)
        #expect(desk.open(key: "key").status == 400)
        #expect(desk.open(text: " ", key: "\(desk.interaction):message").status == 400)
        let opened = desk.open(text: " ", key: "key")
        let message = try #require(SocketDesk.value(of: "message_id", in: String(decoding: opened.body, as: UTF8.self)))
        let end = #"{"message_id":"\#(message)","text":"x","finish_reason":"error","idempotency_key":"end"}"#
        #expect(desk.bridge("sendMessageEnd", end).status == 400)
        #expect(desk.desk.relay.breaches.map(\.code) == [.malformedRequest, .badKey, .malformedRequest])
        #expect(desk.desk.relay.warnings.isEmpty)
    }

    @Test(
        "what no sample does is refused by both",
        arguments: ["", String(repeating: "a:", count: 33)])
    func refusedByBoth(key: String) {
        var desk = Desk(acceptsSamples: true)
        let answer = desk.open(text: " ", key: key)
        #expect(answer.status == 400)
        #expect(Desk.warnings(answer).isEmpty)
        #expect(desk.desk.relay.breaches.map(\.code) == [.badKey])
        #expect(desk.desk.relay.warnings.isEmpty)
    }

    @Test(
        "half of a character at the end of a delta is accepted with a warning, and refused by a strict relay",
        arguments: [#"a\ud83d"#, #"\ude00b"#, #"\ud83d\n"#, #"\ud83d\ud83d\ude00"#])
    func halves(piece: String) throws {
        for acceptsSamples in [true, false] {
            var desk = Desk(acceptsSamples: acceptsSamples)
            let opened = desk.open(text: " ", key: "open")
            let message = try #require(
                SocketDesk.value(of: "message_id", in: String(decoding: opened.body, as: UTF8.self)))
            let body = #"{"message_id":"\#(message)","delta":"\#(piece)","idempotency_key":"d"}"#
            let answer = desk.bridge("sendMessageDelta", body)
            #expect(answer.status == (acceptsSamples ? 200 : 400))
            #expect(Desk.warnings(answer) == (acceptsSamples ? ["loneSurrogate"] : []))
            let streamed = desk.desk.relay.sessions.first?.messages.last?.streamed ?? ""
            #expect(streamed.unicodeScalars.count { $0 == "\u{FFFD}" } == (acceptsSamples ? 1 : 0))
        }
    }

    @Test("a whole pair is no half")
    func whole() {
        var desk = Desk(acceptsSamples: true)
        #expect(Desk.warnings(desk.open(text: #"\ud83d\ude00"#, key: "open")).isEmpty)
        #expect(desk.desk.relay.sessions.first?.messages.last?.text == "😀")
    }

    @Test("what keeps the documented rules is not warned of")
    func unremarkable() {
        var desk = Desk(acceptsSamples: true)
        #expect(Desk.warnings(desk.open(text: " ", key: "key-1_a")).isEmpty)
        #expect(desk.desk.relay.warnings.isEmpty)
    }

    @Test("a repeat under such a key is the cached answer, another body a conflict")
    func keys() {
        var desk = Desk(acceptsSamples: true)
        let first = desk.open(key: "a:b")
        let second = desk.open(key: "a:b")
        #expect(second.status == 200)
        #expect(String(decoding: second.body, as: UTF8.self).contains(#""idempotent":true"#))
        #expect(first.status == 200)
        #expect(desk.open(text: "other", key: "a:b").status == 409)
    }

    @Test("warnings are kept with the state, and a state without them is read")
    func kept() throws {
        var desk = Desk(acceptsSamples: true)
        _ = desk.open(key: "a:b")
        let state = desk.desk.relay.state
        var again = try Relay(state: state)
        #expect(again.warnings.map(\.code) == [.emptyPlaceholder, .keyOutsideAlphabet])
        #expect(again.warnings(after: 0).count == 2)
        let told = again.lastWarningNumber
        again.warn(.overlap, method: "sendMessageDelta", request: "req", at: desk.desk.at)
        #expect(again.warnings(after: told).map(\.code) == [.overlap])
        let text = String(decoding: state, as: UTF8.self).replacing(/"warnings":\[.*?\],/, with: "")
        #expect(!text.contains("emptyPlaceholder"))
        #expect(try Relay(state: Array(text.utf8)).warnings.isEmpty)
    }
}
