import Crypto
import RelayProtocol
import Sealing
import Testing
import Vocabulary

@Suite("Relay calls, sealed")
struct SealedCallsTests {
    private static let session = SessionID("ses_1")
    private static let interaction = InteractionID("int_1")
    private static let key = IdempotencyKey("k")
    /// Every content has this word, and no body may have it.
    private static let word = "rosebud"

    private static let inTurn = RelayCall.Address.chat(session, interaction)
    private static let inChat = RelayCall.Address.chat(session, nil)
    private static let bubble = RelayCall.Address.bubble(MessageID("msg_1"))

    private static let posts: [(Post, RelayCall.Address)] = [
        (
            .message(
                WholeMessage(
                    part: .late, text: "\(word)!",
                    usage: Usage(inputTokens: 3, outputTokens: 4, estimatedCostUSD: nil, model: "m", provider: nil))),
            inTurn
        ),
        (.text("\(word)\n"), bubble),
        (.end(EndOfTurn(text: "a \(word)", finishReason: .stop)), bubble),
        (
            .taskStarted(
                TaskStart(
                    task: TaskID("t"), kind: "exec", label: "exec \(word)",
                    arguments: JSONText(unchecked: #"{"command":"\#(word)"}"#))), inTurn
        ),
        (
            .taskProgress(TaskProgress(task: TaskID("t"), label: word, percent: 40, partialResult: .string(word))),
            inChat
        ),
        (
            .taskEnded(
                TaskEnd(
                    task: TaskID("t"), name: "exec", status: .failed, label: word, error: word, result: .string(word))),
            inChat
        ),
        (
            .approval(
                ApprovalCard(
                    approval: ApprovalID("a"), action: "shell.exec", title: word, message: word, severity: .high,
                    command: word, host: word, slug: word, toolCall: ToolCallID(word))), inTurn
        ),
    ]
    private static let calls = posts.map { RelayCall($0, to: $1, key: key) }

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
                case .path, .displayName, .blindIndex: throw SealingError.malformed
                }
            #expect(try sealer.text(of: member.sealed, path).contains(Self.word))
        }
    }

    @Test("of a file that a tool has touched the relay learns its use, size and type")
    func toolFile() throws {
        let sealer = try bench.sealer("ses_1", 1)
        let file = SeenFile(path: "/garden/treasure/map.png", size: 7, mimeType: "image/png")
        let content = sealer.content(of: file, random: bench.random)
        let call = RelayCall.toolFile(.write, file, in: SessionID("ses_1"))
        let body = String(decoding: RelayEncoder.body(of: call, sealed: content), as: UTF8.self)
        #expect(!body.contains("treasure") && !body.contains("map"), "\(body)")
        #expect(
            body.hasPrefix(#"{"session_id":"ses_1","tool":"write","size_bytes":7,"mime":"image/png","path_ct":""#))
        let name = try #require(content[.blindIndex])
        let index = try #require(BlindIndex(name))
        #expect(index == sealer.blindIndex(ofFile: file.path))
        #expect(try sealer.text(of: content[.path] ?? "", .agentFile(index)) == file.path)
        #expect(try sealer.text(of: content[.displayName] ?? "", .agentFile(index)) == "map.png")
        let open = String(decoding: RelayEncoder.body(of: call), as: UTF8.self)
        #expect(
            open
                == #"{"session_id":"ses_1","tool":"write","size_bytes":7,"mime":"image/png","path":"/garden/treasure/map.png","display_name":"map.png"}"#
        )
    }

    @Test("the same content is never sealed to the same bytes twice")
    func fresh() throws {
        let sealer = try bench.sealer("ses_1", 1)
        let call = RelayCall(.text("x"), to: Self.bubble, key: Self.key)
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
        let opening = RelayCall(.open, to: Self.inTurn, key: Self.key)
        #expect(SealedContent.withoutKey(of: opening) == .emptyText)
        #expect(
            String(decoding: RelayEncoder.body(of: opening, sealed: .emptyText), as: UTF8.self)
                == #"{"session_id":"ses_1","interaction_id":"int_1","text_ct":"AA==","idempotency_key":"k"}"#)
    }

    @Test("a placeholder with a mark is white space that the phone alone can open")
    func marked() throws {
        let sealer = try bench.sealer("ses_1", 1)
        let opening = RelayCall(.open, to: Self.inTurn, key: Self.key, mark: 0xA5)
        let content = try #require(sealer.content(of: opening, random: bench.random))
        #expect(try sealer.text(of: content[.text] ?? "", .messages) == StateMark.text(0xA5))
    }

    @Test("a content that a card does not have has no member")
    func absent() throws {
        let start = TaskStart(task: TaskID("t"), kind: "exec")
        let call = RelayCall(.taskStarted(start), to: Self.inChat, key: Self.key)
        #expect(try body(of: call) == #"{"session_id":"ses_1","task_id":"t","kind":"exec","idempotency_key":"k"}"#)
    }

    @Test("a chat is made without anything to seal")
    func createSession() throws {
        let sealer = try bench.sealer("ses_1", 1)
        #expect(sealer.content(of: .newSession(source: "cron"), random: bench.random) == nil)
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
