import Crypto
import FoundationEssentials
import Testing
import Vocabulary

@Suite("Device keys")
struct DeviceKeyTests {
    private struct Vectors: Decodable {
        struct Case: Decodable {
            var name: String
            var payload: String
            var signature: String
        }
        var seedHex: String
        var publicKeyRawBase64Url: String
        var deviceId: String
        var cases: [Case]
    }

    private static func vectors() throws -> Vectors {
        let path = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../Fixtures/vectors/openclaw-device-auth.json")
        return try JSONDecoder().decode(Vectors.self, from: try Data(contentsOf: path))
    }

    private static func bytes(hex: String) -> [UInt8] {
        let digits = hex.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }

    @Test("a seed gives the public key, the device's name and the signatures of the vectors")
    func vectors() throws {
        let vectors = try Self.vectors()
        let key = try DeviceKey(seed: Self.bytes(hex: vectors.seedHex))
        #expect(Base64URL.encode(key.publicKey) == vectors.publicKeyRawBase64Url)
        #expect(key.deviceID == vectors.deviceId)
        #expect(!vectors.cases.isEmpty)
        for vector in vectors.cases {
            #expect(
                Base64URL.encode(key.sign(Array(vector.payload.utf8))) == vector.signature, "\(vector.name)")
        }
    }

    @Test("a generated key is another one each time, and its seed gives it again")
    func generated() throws {
        let key = try DeviceKey.generate()
        let again = try DeviceKey(seed: key.seed)
        #expect(again.publicKey == key.publicKey)
        #expect(again.sign([1, 2, 3]) == key.sign([1, 2, 3]))
        #expect(try DeviceKey.generate().publicKey != key.publicKey)
    }

    @Test("a seed of another length is refused with what to do")
    func shortSeed() {
        #expect { try DeviceKey(seed: [1, 2, 3]) } throws: { ($0 as? CryptoError)?.code == .badKey }
    }

    @Test("a key's description holds no secret")
    func description() throws {
        let key = try DeviceKey(seed: [UInt8](repeating: 7, count: 32))
        #expect("\(key)" == "device \(key.deviceID)")
    }

    @Test("digests are those of FIPS 180-4")
    func digest() {
        #expect(
            SHA256.hex(Array("abc".utf8)) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(SHA256.hex([]) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    }
}
