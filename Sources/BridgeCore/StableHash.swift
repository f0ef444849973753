/// A hash that is the same in every process and on every machine, for names that must be short: 128-bit FNV-1a.
///
/// It keeps honest names apart; it is no protection against somebody who looks for collisions. Those could only confuse the
/// cards of their own turn, since every name begins with the turn's.
package enum StableHash {
    /// 22 characters of `[0-9A-Za-z]`.
    package static func text(of name: String) -> String {
        var hash: UInt128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d
        let prime: UInt128 = 0x0000_0000_0100_0000_0000_0000_0000_013b
        for byte in name.utf8 {
            hash ^= UInt128(byte)
            hash = hash &* prime
        }
        let digits = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
        var text: [UInt8] = []
        for _ in 0..<22 {
            text.append(digits[Int(hash % 62)])
            hash /= 62
        }
        return String(decoding: text, as: UTF8.self)
    }
}
