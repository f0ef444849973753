import Crypto
import FoundationEssentials
import Sealing
import Testing
import Vocabulary
import WireTesting

/// Our sealing against an implementation that shares no line with it: Tests/Peers/sealing.py, on Python's
/// `cryptography`.
@Suite("Sealing against another implementation")
struct IndependentTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().path
    private static let session = SessionID("ses_a1b2c3d4e5f6g7h8")
    private static let file = "/srv/projects/été/main.swift"
    private static let texts = [
        "", "x", "Привет, bridge! 👋", "line\nline\u{0}\t\"quoted\"", String(repeating: "é", count: 5_000),
    ]

    private struct Opened: Decodable {
        var key: String
        var index: String
        var texts: [String]
    }

    private struct Made: Decodable {
        var key: String
        var box: String
        var index: String
        var sealed: [[String]]
    }

    private struct ToOpen: Encodable {
        var secret: String
        var box: String
        var session: String
        var file: String
        var sealed: [[String]]
    }

    private struct ToSeal: Encodable {
        var `public`: String
        var session: String
        var file: String
        var texts: [[String]]
    }

    private let library: OpenSSLSealing

    init() throws { library = try OpenSSLSealing() }

    private func ask<Answer: Decodable>(_ what: String, _ words: some Encodable) throws -> Answer {
        let text = String(decoding: try JSONEncoder().encode(words), as: UTF8.self)
        let peer = try Peer("sealing.py", [what, text], root: Self.root)
        return try JSONDecoder().decode(Answer.self, from: Data(try peer.line().utf8))
    }

    /// Every text under every path, with the path's name on the wire.
    private func contents(_ index: BlindIndex) -> [(path: SealedPath, name: String, text: String)] {
        let session = Self.session.text
        let paths: [(SealedPath, String)] = [
            (.messages, "messages/\(session)"), (.tasks, "tasks/\(session)"), (.approvals, "approvals/\(session)"),
            (.agentFile(index), "agent_files/\(session)/\(index)"),
        ]
        return paths.flatMap { path, name in Self.texts.map { (path, name, $0) } }
    }

    @Test("what we seal, and the key we grant, the other opens")
    func ours() throws {
        let key = try #require(SecretKey(library.bytes(32)))
        let device = try #require(SecretKey(library.bytes(32)))
        let sealer = SessionSealer(Self.session, key: key, library: library)
        let index = sealer.blindIndex(ofFile: Self.file)
        let contents = contents(index)
        let box = try SealedBox.seal(key, for: library.publicKey(of: device), library: library, random: library)
        let opened: Opened = try ask(
            "open",
            ToOpen(
                secret: device.hex, box: Base64.encode(box), session: Self.session.text, file: Self.file,
                sealed: contents.map { [$0.name, sealer.seal($0.text, $0.path, random: library)] }))
        #expect(opened.key == key.hex)
        #expect(opened.index == index.text)
        #expect(opened.texts == contents.map(\.text))
    }

    @Test("what the other seals, and the key it grants, we open")
    func theirs() throws {
        let device = try #require(SecretKey(library.bytes(32)))
        let session = Self.session.text
        let made: Made = try ask(
            "seal",
            ToSeal(
                public: Hexadecimal.text(library.publicKey(of: device)), session: session, file: Self.file,
                texts: Self.texts.flatMap { [["messages/\(session)", $0], ["tasks/\(session)", $0]] }))
        let box = try #require(Base64.decode(made.box))
        let key = try SealedBox.open(box, with: device, library: library)
        #expect(key.hex == made.key)
        let sealer = SessionSealer(Self.session, key: key, library: library)
        #expect(sealer.blindIndex(ofFile: Self.file).text == made.index)
        let opened = try made.sealed.map {
            try sealer.text(of: $0[1], $0[0].hasPrefix("messages") ? .messages : .tasks, mayBeEmpty: true)
        }
        #expect(opened == Self.texts.flatMap { [$0, $0] })
    }
}
