/// A hash with the same value in every process and on every machine, for short names: 128-bit FNV-1a.
///
/// The hash distinguishes honest names and does not resist a deliberate search for collisions. A collision could
/// only mix up the cards of its own turn, since every name begins with the turn's.
package enum StableHash {
    /// The first `length` characters, of `[0-9A-Za-z]`.
    package static func text(of name: String, length: Int = 22) -> String { text(ofBytes: name.utf8, length: length) }

    package static func text(ofBytes bytes: some Sequence<UInt8>, length: Int = 22) -> String {
        var hash: UInt128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d
        let prime: UInt128 = 0x0000_0000_0100_0000_0000_0000_0000_013b
        for byte in bytes {
            hash ^= UInt128(byte)
            hash = hash &* prime
        }
        var text: [UInt8] = []
        text.reserveCapacity(24)
        // Take ten digits at a time, since a division of 128 bits is expensive.
        let tenDigits: UInt128 = 839_299_365_868_340_224
        while text.count < length {
            var part = UInt64(truncatingIfNeeded: hash % tenDigits)
            hash /= tenDigits
            for _ in 0..<min(10, length - text.count) {
                text.append(digit(UInt8(truncatingIfNeeded: part % 62)))
                part /= 62
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        switch value {
        case 0..<10: UInt8(ascii: "0") + value
        case 10..<36: UInt8(ascii: "A") + value - 10
        default: UInt8(ascii: "a") + value - 36
        }
    }
}
