/// The core of Salsa20 as a hash of a key. NaCl applies it to the result of X25519
/// (relay.md#key-agreement-the-trap), and OpenSSL lacks it.
///
/// Constant time: additions, rotations and exclusive ors, no branch and no index that depends on the key.
enum HSalsa20 {
    /// The ASCII text "expand 32-byte k", as four words.
    private static let constants: [UInt32] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574]

    /// Hash of a 32-byte key, with sixteen zero bytes in place of the nonce.
    static func hash(_ key: [UInt8]) -> [UInt8] {
        let words = (0..<8).map { word($0, of: key) }
        var state: [UInt32] = [
            constants[0], words[0], words[1], words[2], words[3],
            constants[1], 0, 0, 0, 0,
            constants[2], words[4], words[5], words[6], words[7],
            constants[3],
        ]
        for _ in 0..<10 {
            for column in 0..<4 {
                quarterRound(
                    &state, 5 * column, (5 * column + 4) % 16, (5 * column + 8) % 16, (5 * column + 12) % 16)
            }
            for row in 0..<4 {
                quarterRound(
                    &state, 5 * row, 4 * row + (row + 1) % 4, 4 * row + (row + 2) % 4, 4 * row + (row + 3) % 4)
            }
        }
        return [0, 5, 10, 15, 6, 7, 8, 9].flatMap { index in
            (0..<4).map { UInt8(truncatingIfNeeded: state[index] >> (8 * UInt32($0))) }
        }
    }

    private static func quarterRound(_ state: inout [UInt32], _ a: Int, _ b: Int, _ c: Int, _ d: Int) {
        state[b] ^= rotated(state[a] &+ state[d], by: 7)
        state[c] ^= rotated(state[b] &+ state[a], by: 9)
        state[d] ^= rotated(state[c] &+ state[b], by: 13)
        state[a] ^= rotated(state[d] &+ state[c], by: 18)
    }

    private static func rotated(_ word: UInt32, by count: UInt32) -> UInt32 { word << count | word >> (32 - count) }

    /// Little-endian word number `index` of the key.
    private static func word(_ index: Int, of key: [UInt8]) -> UInt32 {
        (0..<4).reduce(0) { $0 | UInt32(key[4 * index + $1]) << (8 * UInt32($1)) }
    }
}
