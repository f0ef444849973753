/// Base64 in the alphabet of URLs, without padding (RFC 4648, section 5).
package enum Base64URL {
    private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    package static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count * 4 / 3 + 3)
        var index = 0
        while index < bytes.count {
            let rest = bytes.count - index
            let second = rest > 1 ? bytes[index + 1] : 0
            let third = rest > 2 ? bytes[index + 2] : 0
            text.append(letters[Int(bytes[index] >> 2)])
            text.append(letters[Int((bytes[index] & 3) << 4 | second >> 4)])
            if rest > 1 { text.append(letters[Int((second & 15) << 2 | third >> 6)]) }
            if rest > 2 { text.append(letters[Int(third & 63)]) }
            index += 3
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Accepts text with or without padding. Nil for a foreign letter, or one letter too many.
    package static func decode(_ text: String) -> [UInt8]? {
        let letters = text.utf8.reversed().drop { $0 == UInt8(ascii: "=") }.reversed()
        guard letters.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(letters.count * 3 / 4)
        var (group, count) = (UInt32(0), 0)
        for letter in letters {
            guard let value = Self.letters.firstIndex(of: letter) else { return nil }
            group = group << 6 | UInt32(value)
            count += 6
            guard count >= 8 else { continue }
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: group >> UInt32(count)))
            group &= (1 << UInt32(count)) - 1
        }
        return bytes
    }
}
