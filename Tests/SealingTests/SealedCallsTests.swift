import BridgeModel
import Crypto
import RelayProtocol
import Sealing
import Testing

@Suite("Relay calls, sealed")
struct SealedCallsTests {
    private static let session = SessionID("ses_1")
    private static let interaction = InteractionID("int_1")
    private static let key = IdempotencyKey("k")
    /// Occurs in every content, and must occur in no body.
    private static let word = "rosebud"

    private static let calls: [RelayCall] = [
        .sendMessage(
            SendMessage(
                session: session, interaction: interaction, text: "\(word)!",
                usage: Usage(inputTokens: 3, outputTokens: 4, estimatedCostUSD: nil, model: "m", provider: nil),
                key: key)
        ),
        .sendMessageDelta(SendMessageDelta(message: MessageID("msg_1"), delta: "\(word)\n", key: key)),
        .sendMessageEnd(
            SendMessageEnd(message: MessageID("msg_1"), text: "a \(word)", finishReason: .stop, key: key)),
        .createTask(
            CreateTask(
                session: session, interaction: interaction, task: TaskID("t"), kind: "exec", label: "exec \(word)",
                arguments: JSONText(unchecked: #"{"command":"\#(word)"}"#), key: key)),
        .updateTask(
            UpdateTask(
                session: session, interaction: nil, task: TaskID("t"), label: word, percent: 40,
                partialResult: .string(word), key: key)),
        .finishTask(
            FinishTask(
                session: session, interaction: nil, task: TaskID("t"), name: "exec", status: .failed, label: word,
                error: word, result: .string(word), key: key)),
        .requestApproval(
            RequestApproval(
                session: session, interaction: interaction, approval: ApprovalID("a"), slug: word,
                action: "shell.exec", toolCall: ToolCallID(word), title: word, severity: .high, command: word,
                host: word, message: word, key: key)),
    ]

    private let bench: Bench

    init() throws { bench = try Bench() }

    private func body(of call: RelayCall) throws -> String {
        let sealer = try bench.sealer("ses_1", 1)
        let content = try #require(sealer.content(of: call, random: bench.random))
        return String(decoding: RelayEncoder.body(of: call, sealed: content), as: UTF8.self)
    }

    @Test("no word of the content stands in a body, and each member of it is opened to what was said", arguments: calls)
    func sealed(call: RelayCall) throws {
        let sealer = try bench.sealer("ses_1", 1)
        let content = try #require(sealer.content(of: call, random: bench.random))
        let body = String(decoding: RelayEncoder.body(of: call, sealed: content), as: UTF8.self)
        #expect(!body.contains(Self.word), "\(body)")
        #expect(!content.members.isEmpty)
        for member in content.members {
            #expect(body.contains("\"\(member.field.rawValue)\":\"\(member.sealed)\""))
            let path: SealedPath =
                switch member.field {
                case .text, .delta: .messages
                case .statusLabel, .arguments, .partialResult, .error, .result: .tasks
                case .details: .approvals
                }
            #expect(try sealer.text(of: member.sealed, path).contains(Self.word))
        }
    }

    @Test("the same content is never sealed to the same bytes twice")
    func fresh() throws {
        let sealer = try bench.sealer("ses_1", 1)
        let call = RelayCall.sendMessageDelta(
            SendMessageDelta(message: MessageID("msg_1"), delta: "x", key: Self.key))
        #expect(sealer.content(of: call, random: bench.library) != sealer.content(of: call, random: bench.library))
    }

    @Test("what stays in the open stands where it always did")
    func open() throws {
        #expect(
            try body(of: Self.calls[0]).hasPrefix(#"{"session_id":"ses_1","interaction_id":"int_1","text_ct":""#))
        #expect(
            try body(of: Self.calls[0]).hasSuffix(
                #","usage":{"input_tokens":3,"output_tokens":4,"model":"m"},"idempotency_key":"k"}"#))
        #expect(try body(of: Self.calls[2]).hasSuffix(#","finish_reason":"stop","idempotency_key":"k"}"#))
        #expect(
            try body(of: Self.calls[3]).hasPrefix(
                #"{"session_id":"ses_1","interaction_id":"int_1","task_id":"t","kind":"exec","status_label_ct":""#))
        #expect(try body(of: Self.calls[4]).contains(#","progress_percent":40,"partial_result_ct":""#))
        #expect(try body(of: Self.calls[5]).contains(#","name":"exec","status":"failed","status_label_ct":""#))
        #expect(
            try body(of: Self.calls[6]).hasPrefix(
                #"{"session_id":"ses_1","interaction_id":"int_1","approval_id":"a","action":"shell.exec","severity":"high","details_ct":""#
            ))
    }

    @Test("a member that sealed content lacks is left out, and does not go out in the open")
    func lacking() {
        for call in Self.calls {
            let body = String(decoding: RelayEncoder.body(of: call, sealed: SealedContent([])), as: UTF8.self)
            #expect(!body.contains(Self.word), "\(body)")
        }
    }

    @Test("a bubble opens and ends with the sealed empty text, which needs no key")
    func emptyText() {
        let opening = SendMessage(session: Self.session, interaction: Self.interaction, text: " ", key: Self.key)
        #expect(
            String(decoding: RelayEncoder.body(of: .sendMessage(opening), sealed: .emptyText), as: UTF8.self)
                == #"{"session_id":"ses_1","interaction_id":"int_1","text_ct":"AA==","idempotency_key":"k"}"#)
    }

    @Test("a content that a card does not have has no member")
    func absent() throws {
        let call = RelayCall.createTask(
            CreateTask(
                session: Self.session, interaction: nil, task: TaskID("t"), kind: "exec", label: nil, arguments: nil,
                key: Self.key))
        #expect(try body(of: call) == #"{"session_id":"ses_1","task_id":"t","kind":"exec","idempotency_key":"k"}"#)
    }

    @Test("a chat is made without anything to seal")
    func createSession() throws {
        let sealer = try bench.sealer("ses_1", 1)
        #expect(sealer.content(of: .createSession(CreateSession(source: "cron")), random: bench.random) == nil)
    }

    @Test("a text of the limit fills a field of the relay, and one more does not fit")
    func limit() throws {
        let sealer = try bench.sealer("ses_1", 1)
        let limit = SessionSealer.fieldLimit
        #expect(limit == 49_123)
        let full: String = sealer.seal(String(repeating: "x", count: limit), .messages, random: bench.random)
        #expect(full.utf8.count == 65_536)
        let more: String = sealer.seal(String(repeating: "x", count: limit + 1), .messages, random: bench.random)
        #expect(more.utf8.count > 65_536)
    }
}
