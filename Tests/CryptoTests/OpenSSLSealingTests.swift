import FoundationEssentials
import Testing
import Vocabulary

@testable import Crypto

@Suite("Sealing on OpenSSL")
struct OpenSSLSealingTests {
    private struct Vectors: Decodable {
        struct Vector: Decodable {
            var id: String
            var a_secret_hex: String?
            var a_public_hex: String?
            var b_secret_hex: String?
            var b_public_hex: String?
            var x25519_raw_hex: String?
            var hsalsa20_of_raw_hex: String?
            var install_key_info: String?
            var install_key_hex: String?
            var wrong_if_raw_hex: String?
        }
        var vectors: [Vector]
    }

    private let library: OpenSSLSealing
    private let agreement: Vectors.Vector

    init() throws {
        library = try OpenSSLSealing()
        let path = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../Fixtures/vectors/sophon-e2e.json")
        let vectors = try JSONDecoder().decode(Vectors.self, from: try Data(contentsOf: path))
        agreement = try #require(vectors.vectors.first { $0.id == "3-ecdh" })
    }

    private func key(_ hex: String?) throws -> SecretKey { try #require(hex.flatMap { SecretKey(hex: $0) }) }
    private func bytes(_ hex: String?) throws -> [UInt8] { try #require(hex.flatMap { Hexadecimal.bytes($0) }) }
    private func key(_ byte: UInt8) throws -> SecretKey {
        try #require(SecretKey([UInt8](repeating: byte, count: 32)))
    }

    @Test("the key agreement is that of the vectors: X25519, then HSalsa20, from either side")
    func agreementVector() throws {
        let (a, b) = (try key(agreement.a_secret_hex), try key(agreement.b_secret_hex))
        let (publicA, publicB) = (library.publicKey(of: a), library.publicKey(of: b))
        #expect(publicA == (try bytes(agreement.a_public_hex)))
        #expect(publicB == (try bytes(agreement.b_public_hex)))
        let product = try #require(OpenSSLSealing.product(a, publicB))
        #expect(product == (try bytes(agreement.x25519_raw_hex)))
        #expect(HSalsa20.hash(product) == (try bytes(agreement.hsalsa20_of_raw_hex)))
        let shared = try #require(library.agree(a, with: publicB))
        #expect(shared == (try key(agreement.hsalsa20_of_raw_hex)))
        #expect(library.agree(b, with: publicA) == shared)
    }

    @Test("what is derived from it is the pinned key, and not the one that the product alone would give")
    func derivationVector() throws {
        let info = Array(try #require(agreement.install_key_info).utf8)
        let shared = try #require(
            library.agree(try key(agreement.a_secret_hex), with: try bytes(agreement.b_public_hex)))
        #expect(library.derive(info, from: shared) == (try key(agreement.install_key_hex)))
        let product = try key(agreement.x25519_raw_hex)
        #expect(library.derive(info, from: product) == (try key(agreement.wrong_if_raw_hex)))
    }

    // Points of small order on the curve and on its twist, from RFC 7748 and the literature: with these, every secret
    // agrees on zero.
    @Test(
        "a public key that every secret agrees with on the same is refused",
        arguments: [
            "0000000000000000000000000000000000000000000000000000000000000000",
            "0100000000000000000000000000000000000000000000000000000000000000",
            "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
            "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
            "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
            "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
            "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        ])
    func smallOrder(publicKey: String) throws {
        #expect(library.agree(try key(7), with: try bytes(publicKey)) == nil)
    }

    @Test("a public key of another length is none", arguments: [0, 31, 33])
    func wrongLength(count: Int) throws {
        #expect(library.agree(try key(7), with: [UInt8](repeating: 9, count: count)) == nil)
    }

    @Test("HMAC is that of RFC 4231, with its key filled up to 32 bytes by zeros")
    func authenticationCode() throws {
        let key = try #require(SecretKey(Array("Jefe".utf8) + [UInt8](repeating: 0, count: 28)))
        #expect(
            Hexadecimal.text(library.authenticationCode(of: Array("what do ya want for nothing?".utf8), key: key))
                == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    }

    @Test("AES-256-GCM is that of its specification, with and without a text")
    func cipher() throws {
        let nonce = [UInt8](repeating: 0, count: 12)
        let zeros = try key(0)
        // Test cases 13 and 14 of the specification.
        let empty = library.encrypt([], key: zeros, nonce: nonce, after: [])
        #expect(Hexadecimal.text(empty) == Hexadecimal.text(nonce) + "530f8afbc74536b9a963b4f1c4cb738b")
        let block = library.encrypt([UInt8](repeating: 0, count: 16), key: zeros, nonce: nonce, after: [1, 2])
        #expect(
            Hexadecimal.text(block) == "0102" + Hexadecimal.text(nonce)
                + "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919")
        #expect(library.decrypt(empty, from: 0, key: zeros) == [])
        #expect(library.decrypt(block, from: 2, key: zeros) == [UInt8](repeating: 0, count: 16))
        #expect(library.decrypt(block, from: 2, key: try key(1)) == nil)
    }

    @Test("whatever is cut off, and whatever bit is turned over, nothing is read")
    func damage() throws {
        let secret = try key(3)
        let sealed = library.encrypt(
            Array("hello".utf8), key: secret, nonce: [UInt8](repeating: 5, count: 12), after: [])
        for count in 0..<sealed.count { #expect(library.decrypt(Array(sealed[..<count]), from: 0, key: secret) == nil) }
        for bit in 0..<(8 * sealed.count) {
            var damaged = sealed
            damaged[bit / 8] ^= 1 << (bit % 8)
            #expect(library.decrypt(damaged, from: 0, key: secret) == nil)
        }
        #expect(library.decrypt(sealed, from: 40, key: secret) == nil)
        #expect(library.decrypt([], from: 0, key: secret) == nil)
    }

    @Test("randomness has the length that was asked for, and is another each time")
    func randomness() {
        #expect(library.bytes(0).isEmpty)
        #expect(library.bytes(32).count == 32)
        #expect(library.bytes(32) != library.bytes(32))
    }
}
