import Testing
import Vocabulary

@Suite("Secret keys")
struct SecretKeyTests {
    @Test("a key has 32 bytes, no more and no less", arguments: [0, 31, 33])
    func length(count: Int) {
        #expect(SecretKey([UInt8](repeating: 1, count: count)) == nil)
        #expect(SecretKey(hex: String(repeating: "0a", count: count)) == nil)
    }

    @Test("hexadecimal digits are read in either case, and nothing else is")
    func hexadecimal() throws {
        let key = try #require(SecretKey(hex: String(repeating: "aB", count: 32)))
        #expect(key.bytes == [UInt8](repeating: 0xAB, count: 32))
        #expect(key.hex == String(repeating: "ab", count: 32))
        #expect(SecretKey(hex: String(repeating: "g0", count: 32)) == nil)
        #expect(SecretKey(hex: String(repeating: "ä", count: 32)) == nil)
    }

    @Test("keys are the same when each byte is")
    func equality() throws {
        let bytes = (0..<32).map { UInt8($0) }
        let key = try #require(SecretKey(bytes))
        #expect(key == SecretKey(bytes))
        for index in bytes.indices {
            var other = bytes
            other[index] ^= 0x80
            #expect(key != SecretKey(other))
        }
    }

    @Test("a key shows itself nowhere")
    func hidden() throws {
        struct Holder { var key: SecretKey }
        let key = try #require(SecretKey([UInt8](repeating: 0x5A, count: 32)))
        var dumped = ""
        dump(Holder(key: key), to: &dumped)
        for text in ["\(key)", String(reflecting: key), "\(Holder(key: key))", dumped] {
            // One byte of the key may occur in any printed address.
            #expect(!text.lowercased().contains("5a5a") && !text.contains("90, 90") && !text.contains("ZZ"), "\(text)")
        }
    }
}
