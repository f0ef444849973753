import RelayRules
import Testing

/// Sealed forms of the bridge's calls (relay.md#bridge-rest-methods): the relay forwards them unchanged, and checks
/// what it can without a key.
@Suite struct SealedFormsTests {
    /// 30 bytes, the first of them 1.
    private static let words = "AQ" + String(repeating: "A", count: 38)
    private static let others = "AQ" + String(repeating: "B", count: 38)

    private var desk = SocketDesk()
    private let names: String
    private let session: String
    private let interaction: String

    init() {
        session = desk.relay.userStartsSession(at: desk.at)
        interaction = desk.relay.userSends(sealedText: Self.words, session: session, at: desk.at).interaction
        names = #""session_id":"\#(session)","interaction_id":"\#(interaction)""#
    }

    private mutating func opened() throws -> String {
        let answer = desk.asBridge("sendMessage", #"{\#(names),"text_ct":"AA==","idempotency_key":"o"}"#)
        return try #require(SocketDesk.value(of: "message_id", in: answer.text))
    }

    private func lastEvent() -> String {
        desk.relay.phoneEvents(after: nil).last.map { "\($0.type) " + String(decoding: $0.data, as: UTF8.self) } ?? ""
    }

    @Test mutating func aSealedTurnIsPassedOnAsItCameAndKeptSo() throws {
        let message = try opened()
        #expect(lastEvent().contains(#""text_ct":"AA==""#) && !lastEvent().contains(#""text":"#))
        _ = desk.asBridge(
            "createTask",
            #"{\#(names),"task_id":"t","kind":"exec","status_label_ct":"\#(Self.words)","args_ct":"\#(Self.words)"}"#)
        #expect(lastEvent().contains(#""status_label_ct":"\#(Self.words)","args_ct":"\#(Self.words)""#))
        _ = desk.asBridge("updateTask", #"{\#(names),"task_id":"t","partial_result_ct":"\#(Self.words)"}"#)
        #expect(lastEvent().contains(#""partial_result_ct":"\#(Self.words)""#))
        _ = desk.asBridge(
            "requestApproval",
            #"{\#(names),"approval_id":"a","action":"shell.exec","severity":"high","details_ct":"\#(Self.words)","idempotency_key":"a"}"#
        )
        #expect(lastEvent().contains(#""severity":"high","details_ct":"\#(Self.words)""#))
        #expect(desk.asUser("GET", "snapshot").text.contains(#""details_ct":"\#(Self.words)""#))
        _ = desk.asBridge(
            "finishTask",
            #"{\#(names),"task_id":"t","status":"failed","error_ct":"\#(Self.others)","result_ct":"\#(Self.others)"}"#)
        #expect(lastEvent().contains(#""error_ct":"\#(Self.others)","result_ct":"\#(Self.others)""#))
        for number in 1...2 {
            let delta = #"{"message_id":"\#(message)","delta_ct":"\#(Self.words)","idempotency_key":"d\#(number)"}"#
            #expect(desk.asBridge("sendMessageDelta", delta).status == 200)
            #expect(lastEvent().contains(#""delta_ct":"\#(Self.words)""#) && !lastEvent().contains(#""delta":"#))
        }
        let before = desk.asUser("GET", "sessions/\(session)/messages").text
        #expect(before.contains(#""text_ct":"AA==""#), "deltas are passed on and not kept")
        _ = desk.asBridge(
            "sendMessageEnd", #"{"message_id":"\#(message)","text_ct":"\#(Self.others)","idempotency_key":"e"}"#)
        #expect(lastEvent().hasPrefix("message_finalized") && lastEvent().contains(#""text_ct":"\#(Self.others)""#))
        let history = desk.asUser("GET", "sessions/\(session)/messages").text
        #expect(history.contains(#""text_ct":"\#(Self.words)""#) && history.contains(#""text_ct":"\#(Self.others)""#))
        #expect(!history.contains(#""text":"#))
        #expect(desk.relay.breaches.isEmpty)
        #expect(try Relay(state: desk.relay.state).state == desk.relay.state)
    }

    @Test mutating func aSealedEndWithoutTextLeavesTheMessageEmpty() throws {
        let message = try opened()
        _ = desk.asBridge(
            "sendMessageDelta", #"{"message_id":"\#(message)","delta_ct":"\#(Self.words)","idempotency_key":"d"}"#)
        _ = desk.asBridge("sendMessageEnd", #"{"message_id":"\#(message)","idempotency_key":"e"}"#)
        #expect(lastEvent().contains(#""text":"""#))
        #expect(desk.relay.breaches.map(\.code) == [.textMissingAtEnd])
    }

    @Test mutating func sealingAnewUnderTheSameKeyIsAConflict() throws {
        let message = try opened()
        let end = #"{"message_id":"\#(message)","text_ct":"\#(Self.words)","idempotency_key":"e"}"#
        #expect(desk.asBridge("sendMessageEnd", end).status == 200)
        #expect(desk.asBridge("sendMessageEnd", end).text.contains(#""idempotent":true"#))
        let again = desk.asBridge("sendMessageEnd", end.replacing(Self.words, with: Self.others))
        #expect(again.status == 409 && again.text.contains("idempotency_conflict"))
        #expect(desk.relay.breaches.map(\.code) == [.idempotencyConflict])
    }

    @Test(arguments: [
        ("createTask", #""task_id":"t","kind":"k","args":1,"args_ct":"AA==""#),
        ("createTask", #""task_id":"t","kind":"k","status_label":"a","status_label_ct":"AA==""#),
        ("sendMessage", #""text":" ","text_ct":"AA==","idempotency_key":"k""#),
        ("updateTask", #""task_id":"known","partial_result":1,"partial_result_ct":"AA==""#),
        ("finishTask", #""task_id":"known","status":"failed","result":1,"result_ct":"AA==""#),
        ("finishTask", #""task_id":"known","status":"failed","error":"e","error_ct":"AA==""#),
        ("requestApproval", #""approval_id":"a","action":"x","title":"t","details_ct":"AA==","idempotency_key":"k""#),
        ("requestApproval", #""approval_id":"a","action":"x","command":"t","details_ct":"AA==","idempotency_key":"k""#),
        ("requestApproval", #""approval_id":"a","action":"x","message":"t","details_ct":"AA==","idempotency_key":"k""#),
    ])
    mutating func bothFormsAtOnceAreRefused(method: String, members: String) throws {
        if method != "sendMessage" { _ = try opened() }
        _ = desk.asBridge("createTask", #"{\#(names),"task_id":"known","kind":"exec"}"#)
        let answer = desk.asBridge(method, "{\(names),\(members)}")
        #expect(answer.status == 400 && answer.text.contains("exclude each other"), "\(answer.text)")
    }

    @Test(arguments: [
        "", "=", "A", "AA=", "AA", "BB==", "AB==", "AAAA", "AQ==", "AQ" + String(repeating: "A", count: 36),
        "Ag" + String(repeating: "A", count: 38), "AQ-_" + String(repeating: "A", count: 36),
        "AQ AA" + String(repeating: "A", count: 35), "AAAA=AAA" + String(repeating: "A", count: 32), "ä===",
    ])
    mutating func whatIsNoEnvelopeIsRefused(text: String) throws {
        let answer = desk.asBridge("sendMessage", #"{\#(names),"text_ct":"\#(text)","idempotency_key":"k"}"#)
        #expect(answer.status == 400 && answer.text.contains(#""path":"text_ct""#), "\(answer.text)")
        #expect(desk.relay.breaches.map(\.code) == [.malformedEnvelope])
    }

    @Test mutating func theShortestEnvelopesAreTaken() throws {
        let message = try opened()
        for (number, count) in [38, 37, 36].enumerated() {
            // 38 characters: 30 bytes. 37: 29 bytes, an envelope of no text. 36 and padding: 28 bytes, which is too
            // few.
            let text = "AQ" + String(repeating: "A", count: count) + String(repeating: "=", count: 38 - count)
            let delta = #"{"message_id":"\#(message)","delta_ct":"\#(text)","idempotency_key":"d\#(number)"}"#
            #expect(desk.asBridge("sendMessageDelta", delta).status == (count == 36 ? 400 : 200), "\(count)")
        }
    }

    @Test mutating func whatAPhoneSendsIsPassedOnWhateverItIs() {
        #expect(desk.asUser("POST", "sessions/\(session)/send", #"{"text_ct":"no envelope"}"#).status == 200)
        let frame = desk.relay.pendingUpdates().last?.frame ?? []
        let text = String(decoding: frame, as: UTF8.self)
        #expect(text.contains("no envelope"))
    }
}
