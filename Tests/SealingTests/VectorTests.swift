import Crypto
import Sealing
import Testing
import Vocabulary

@Suite("The vectors of sealing")
struct VectorTests {
    private let bench: Bench
    private var library: OpenSSLSealing { bench.library }

    init() throws { bench = try Bench() }

    @Test("a key for a path")
    func blobKey() throws {
        let vector = try Vectors.named("1-blob-key")
        let session = SessionID(String(try #require(vector.path).dropFirst("messages/".count)))
        let key = KeySchedule.key(
            for: .messages, in: session, from: try secret(vector.root_key_hex), library: library)
        #expect(key == (try secret(vector.blob_key_hex)))
    }

    @Test("a blind index", arguments: ["2-blind-index", "7-agent-file"])
    func blindIndex(id: String) throws {
        let vector = try Vectors.named(id)
        let session = SessionID(try #require(vector.session_id ?? vector.inputs?.first))
        let index = KeySchedule.blindIndex(
            ofFile: try #require(vector.real_path ?? vector.inputs?.last), in: session,
            from: try secret(vector.session_key_hex ?? vector.root_key_hex), library: library)
        #expect(index.text == vector.blind_index_b64url ?? vector.path_blind_idx)
        #expect(BlindIndex(index.text) == index)
    }

    @Test(
        "envelopes are made as they are there, and opened",
        arguments: ["4a-message-text", "4b-message-delta", "4c-message-delta", "5-empty", "6a-task-args"])
    func envelopes(id: String) throws {
        let vector = try Vectors.named(id)
        let path = try #require(vector.sealedPath)
        let session = SessionID(try #require(vector.session_id))
        let root = try secret(vector.session_key_hex)
        #expect(
            KeySchedule.key(for: path, in: session, from: root, library: library) == (try secret(vector.blob_key_hex)))
        let sealer = SessionSealer(session, key: root, library: library)
        let sealed: String = sealer.seal(
            try #require(vector.plaintext), path, random: ScriptedRandom(try bytes(vector.nonce_hex)))
        #expect(sealed == vector.envelope_b64)
        #expect(Base64.decode(sealed) == (try bytes(vector.envelope_hex)))
        #expect(try sealer.text(of: sealed, path, mayBeEmpty: true) == vector.plaintext)
    }

    @Test("pieces of a text are sealed one by one, and joined by the reader")
    func pieces() throws {
        let vectors = [try Vectors.named("4b-message-delta"), try Vectors.named("4c-message-delta")]
        let sealer = SessionSealer(
            SessionID(try #require(vectors[0].session_id)), key: try secret(vectors[0].session_key_hex),
            library: library)
        let texts = try vectors.map { try sealer.text(of: try #require($0.envelope_b64), .messages) }
        #expect(texts.joined() == "Hello")
    }

    @Test("details of an approval are these members in this order")
    func approval() throws {
        let vector = try Vectors.named("6b-approval-details")
        let session = SessionID(try #require(vector.session_id))
        let sealer = SessionSealer(session, key: try secret(vector.session_key_hex), library: library)
        let card = ApprovalCard(
            approval: ApprovalID("a"), action: "shell.exec", title: "Run command", message: "Run `ls -la`?",
            severity: .medium, command: "ls -la", host: "work-mac", slug: "a1", toolCall: ToolCallID("call_1"))
        let call = RelayCall(.approval(card), to: .chat(session, nil), key: IdempotencyKey("k"))
        let content = sealer.content(of: call, random: ScriptedRandom(try bytes(vector.nonce_hex)))
        #expect(content?.members == [.init(.details, try #require(vector.envelope_b64))])
    }

    @Test("a file's path and name")
    func agentFile() throws {
        let vector = try Vectors.named("7-agent-file")
        let sealer = SessionSealer(
            SessionID(try #require(vector.session_id)), key: try secret(vector.session_key_hex), library: library)
        let path = try #require(vector.real_path)
        let name = try #require(vector.display_name)
        let index = sealer.blindIndex(ofFile: path)
        #expect(index.text == vector.path_blind_idx)
        #expect(
            sealer.seal(path, .agentFile(index), random: ScriptedRandom(try bytes(vector.path_nonce_hex)))
                == vector.path_ct_b64)
        #expect(
            sealer.seal(name, .agentFile(index), random: ScriptedRandom(try bytes(vector.display_name_nonce_hex)))
                == vector.display_name_ct_b64)
        #expect(try sealer.text(of: try #require(vector.path_ct_b64), .agentFile(index)) == path)
    }

    @Test("a session's key in a box for one device")
    func sealedBox() throws {
        let vector = try Vectors.named("8-sealed-session-key")
        let recipient = try secret(vector.recipient_secret_hex)
        #expect(library.publicKey(of: recipient) == (try bytes(vector.recipient_public_hex)))
        let key = try secret(vector.plaintext_hex)
        let random = ScriptedRandom(try bytes(vector.ephemeral_secret_hex), try bytes(vector.inner_nonce_hex))
        let box = try SealedBox.seal(
            key, for: library.publicKey(of: recipient), library: library, random: random)
        #expect(box == (try bytes(vector.envelope_hex)))
        #expect(Base64.encode(box) == vector.envelope_b64)
        #expect(try SealedBox.open(box, with: recipient, library: library) == key)
    }

    @Test("each input that must fail does, for its own reason")
    func mustFail() throws {
        let vector = try Vectors.named("9-negative")
        let cases = try #require(vector.cases)
        #expect(cases.count == 5)
        for wrong in cases {
            let expected: SealingError =
                if wrong.result.hasPrefix("authentication failure") {
                    .notAuthentic
                } else if wrong.result.hasPrefix("unsupported version") {
                    .unsupportedVersion
                } else {
                    .malformed
                }
            #expect(throws: expected, "\(wrong.why)") {
                try Envelope.open(
                    try bytes(wrong.envelope_hex), with: try secret(vector.blob_key_hex), library: library)
            }
        }
    }
}
