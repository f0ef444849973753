/// Makes the relay's ids from a seed (SplitMix64), so that a simulated run reads the same every time.
struct IdentifierSource {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    /// One that goes on from there.
    init(position: UInt64) { state = position }
    var position: UInt64 { state }
    mutating func skip(_ count: UInt64) { state &+= Self.step &* count }

    private mutating func next() -> UInt64 {
        state &+= Self.step
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// A prefix and 16 characters of base62 (relay.md#identifiers).
    mutating func identifier(_ prefix: String) -> String {
        var bytes = Array(prefix.utf8)
        for _ in 0..<2 {
            var bits = next()
            for _ in 0..<8 {
                bytes.append(Self.base62[Int(bits % 62)])
                bits /= 62
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Lower-case hexadecimal, 16 digits, never all zeros.
    mutating func hex16() -> String {
        var bits = next()
        if bits == 0 { bits = 1 }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(16)
        for shift in stride(from: UInt64(60), through: 0, by: -4) {
            bytes.append(Self.base16[Int((bits >> shift) & 15)])
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static let step: UInt64 = 0x9E37_79B9_7F4A_7C15
    private static let base62 = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
    private static let base16 = Array("0123456789abcdef".utf8)
}
