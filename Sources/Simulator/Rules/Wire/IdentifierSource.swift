/// Makes the relay's ids from a seed: a simulated run reads the same every time.
struct IdentifierSource {
    private var generator: SplitMix

    init(seed: UInt64) { generator = SplitMix(seed: seed) }

    /// Continues from a position.
    init(position: UInt64) { generator = SplitMix(seed: position) }
    var position: UInt64 { generator.state }
    mutating func skip(_ count: UInt64) { generator.skip(count) }

    /// A prefix and 16 characters of base62 (relay.md#identifiers).
    mutating func identifier(_ prefix: String) -> String {
        var bytes = Array(prefix.utf8)
        for _ in 0..<2 {
            var bits = generator.next()
            for _ in 0..<8 {
                bytes.append(Self.base62[Int(bits % 62)])
                bits /= 62
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Lower-case hexadecimal, 16 digits, never all zeros.
    mutating func hex16() -> String {
        var bits = generator.next()
        if bits == 0 { bits = 1 }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(16)
        for shift in stride(from: UInt64(60), through: 0, by: -4) {
            bytes.append(Self.base16[Int((bits >> shift) & 15)])
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static let base62 = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
    private static let base16 = Array("0123456789abcdef".utf8)
}
