import Crypto
import Sealing
import Testing
import Vocabulary

@Suite("Envelopes from a far side that lies")
struct HostileEnvelopeTests {
    private let bench: Bench
    private var library: OpenSSLSealing { bench.library }

    init() throws { bench = try Bench() }

    @Test("an envelope that is cut anywhere is malformed or not authentic, and never a shorter text")
    func truncated() throws {
        let sealer = try bench.sealer("ses_1", 1)
        let sealed: [UInt8] = sealer.seal(Array("a text of some length".utf8), .messages, random: bench.random)
        for count in 0..<sealed.count {
            let expected: SealingError = count < Envelope.overhead ? .malformed : .notAuthentic
            #expect(throws: expected) { try sealer.open(Array(sealed[..<count]), .messages) }
        }
        #expect(throws: SealingError.notAuthentic) { try sealer.open(sealed + [0], .messages) }
    }

    @Test("a first byte that is not ours is another version", arguments: UInt8.min...UInt8.max)
    func versions(first: UInt8) throws {
        let sealer = try bench.sealer("ses_1", 1)
        var sealed: [UInt8] = sealer.seal([65], .messages, random: bench.random)
        sealed[0] = first
        if first == 1 {
            #expect(try sealer.open(sealed, .messages) == [65])
        } else {
            #expect(throws: SealingError.unsupportedVersion) { try sealer.open(sealed, .messages) }
        }
    }

    @Test("what was sealed for another field, another chat or under another key is not read")
    func swapped() throws {
        let sealer = try bench.sealer("ses_1", 1)
        let sealed: String = sealer.seal("x", .messages, random: bench.random)
        for path in [SealedPath.tasks, .approvals, .agentFile(sealer.blindIndex(ofFile: "a"))] {
            #expect(throws: SealingError.notAuthentic) { try sealer.text(of: sealed, path) }
        }
        for other in [try bench.sealer("ses_2", 1), try bench.sealer("ses_1", 2)] {
            #expect(throws: SealingError.notAuthentic) { try other.text(of: sealed, .messages) }
        }
        #expect(try bench.sealer("ses_1", 1).text(of: sealed, .messages) == "x")
    }

    @Test("the empty form is no text where a text must be, since anybody can put it there")
    func blanked() throws {
        let sealer = try bench.sealer("ses_1", 1)
        #expect(throws: SealingError.empty) { try sealer.text(of: Envelope.emptyText, .messages) }
        #expect(try sealer.text(of: Envelope.emptyText, .messages, mayBeEmpty: true) == "")
        #expect(sealer.seal("", .messages, random: bench.random) == Envelope.emptyText)
        #expect(Base64.encode(Envelope.empty) == Envelope.emptyText)
    }

    @Test(
        "a field that is not exactly base64 is refused",
        arguments: ["A", "AA", "AA=", "AB==", "AA==\n", " AA==", "AAA=A", "AA-_", "====", "AA==AA=="])
    func encoding(field: String) throws {
        let sealer = try bench.sealer("ses_1", 1)
        #expect(throws: SealingError.badEncoding) { try sealer.text(of: field, .messages, mayBeEmpty: true) }
    }

    @Test("an empty field is no envelope")
    func emptyField() throws {
        let sealer = try bench.sealer("ses_1", 1)
        #expect(throws: SealingError.malformed) { try sealer.text(of: "", .messages, mayBeEmpty: true) }
    }

    @Test("a content that is no UTF-8 is no text")
    func notText() throws {
        let sealer = try bench.sealer("ses_1", 1)
        let sealed: [UInt8] = sealer.seal([0x68, 0xC3, 0x28], .messages, random: bench.random)
        #expect(throws: SealingError.notText) { try sealer.text(of: Base64.encode(sealed), .messages) }
    }

    @Test("a box for another device is not opened")
    func otherDevice() throws {
        let (mine, theirs) = (try bench.key(4), try bench.key(5))
        let box = try SealedBox.seal(
            try bench.key(9), for: library.publicKey(of: theirs), library: library, random: library)
        #expect(throws: SealingError.notAuthentic) { try SealedBox.open(box, with: mine, library: library) }
        #expect(try SealedBox.open(box, with: theirs, library: library) == bench.key(9))
    }

    @Test("a box that is cut or altered anywhere is not opened")
    func damagedBox() throws {
        let mine = try bench.key(4)
        let box = try SealedBox.seal(
            try bench.key(9), for: library.publicKey(of: mine), library: library, random: library)
        #expect(box.count == 94)
        for count in 0..<box.count {
            #expect(throws: SealingError.self) {
                try SealedBox.open(Array(box[..<count]), with: mine, library: library)
            }
        }
        // An X25519 implementation ignores the highest bit of a public key (RFC 7748), which is in byte 32.
        for index in box.indices {
            var damaged = box
            damaged[index] ^= 1
            #expect(throws: SealingError.self) { try SealedBox.open(damaged, with: mine, library: library) }
        }
    }

    @Test("a box with something else than a key, with nothing, or from a public key that hides nothing")
    func boxContents() throws {
        let mine = try bench.key(4)
        let publicKey = library.publicKey(of: mine)
        let ephemeral = try bench.key(6)
        let inner = library.derive(
            Array("sophon/v1/sealed-box".utf8), from: try #require(library.agree(ephemeral, with: publicKey)))
        let head = [2] + library.publicKey(of: ephemeral)
        let short = Envelope.seal([1, 2, 3], with: inner, library: library, random: library)
        #expect(throws: SealingError.notAKey) { try SealedBox.open(head + short, with: mine, library: library) }
        #expect(throws: SealingError.notAKey) { try SealedBox.open(head + [0], with: mine, library: library) }
        let weak = [2] + [UInt8](repeating: 0, count: 32) + short
        #expect(throws: SealingError.weakPublicKey) { try SealedBox.open(weak, with: mine, library: library) }
        #expect(throws: SealingError.weakPublicKey) {
            try SealedBox.seal(
                try bench.key(1), for: [UInt8](repeating: 0, count: 32), library: library, random: library)
        }
    }

    @Test("ten thousand inputs of any bytes are refused and end nothing")
    func noise() throws {
        let sealer = try bench.sealer("ses_1", 1)
        let mine = try bench.key(4)
        for round in 0..<10_000 {
            var noise = library.bytes(round % 160)
            if round.isMultiple(of: 2), !noise.isEmpty { noise[0] = UInt8(round % 3) }
            guard noise != Envelope.empty else { continue }
            #expect(throws: SealingError.self) { try sealer.open(noise, .messages) }
            #expect(throws: SealingError.self) { try SealedBox.open(noise, with: mine, library: library) }
            let text = String(decoding: noise, as: UTF8.self)
            #expect(throws: SealingError.self) { try sealer.text(of: text, .messages, mayBeEmpty: true) }
        }
    }

    @Test("base64 of every length goes there and back")
    func base64() {
        for count in 0...300 {
            let bytes = library.bytes(count)
            #expect(Base64.decode(Base64.encode(bytes)) == bytes)
        }
        #expect(Base64.encode(Array("Man".utf8)) == "TWFu")
        #expect(Base64.encode(Array("Ma".utf8)) == "TWE=")
        #expect(Base64.encode(Array("M".utf8)) == "TQ==")
    }

    @Test(
        "what cannot be a blind index is none",
        arguments: [
            "", "CC425Syg8HVCm_atfoI6l", "CC425Syg8HVCm_atfoI6lg=", "CC425Syg8HVCm/atfoI6lg", "../../../../../../abcd",
        ])
    func blindIndex(text: String) {
        #expect(BlindIndex(text) == nil)
    }
}
