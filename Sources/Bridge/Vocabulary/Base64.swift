/// Base64 with padding (RFC 4648, section 4), as in the relay's fields (relay.md#primitives) and the agents' frames.
package enum Base64 {
    private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let padding = UInt8(ascii: "=")

    /// Value of each letter, or 64 for a byte that is no letter.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 64, count: 256)
        for (value, letter) in letters.enumerated() { values[Int(letter)] = UInt8(value) }
        return values
    }()

    package static func encode(_ bytes: [UInt8]) -> String {
        unsafe String(unsafeUninitializedCapacity: length(of: bytes.count)) { text in unsafe fill(text, with: bytes) }
    }

    /// Encodes for a frame of bytes.
    package static func encoded(_ bytes: [UInt8]) -> [UInt8] {
        unsafe Array(unsafeUninitializedCapacity: length(of: bytes.count)) { text, count in
            count = unsafe fill(text, with: bytes)
        }
    }

    /// Length of the encoding of so many bytes.
    package static func length(of count: Int) -> Int { (count + 2) / 3 * 4 }

    private static func fill(_ text: UnsafeMutableBufferPointer<UInt8>, with bytes: [UInt8]) -> Int {
        let letters = letters
        var index = 0
        var place = 0
        while index + 2 < bytes.count {
            let group = UInt32(bytes[index]) << 16 | UInt32(bytes[index + 1]) << 8 | UInt32(bytes[index + 2])
            unsafe text[place] = letters[Int(group >> 18)]
            unsafe text[place + 1] = letters[Int(group >> 12 & 63)]
            unsafe text[place + 2] = letters[Int(group >> 6 & 63)]
            unsafe text[place + 3] = letters[Int(group & 63)]
            index += 3
            place += 4
        }
        guard index < bytes.count else { return place }
        let second = index + 1 < bytes.count ? bytes[index + 1] : 0
        unsafe text[place] = letters[Int(bytes[index] >> 2)]
        unsafe text[place + 1] = letters[Int((bytes[index] & 3) << 4 | second >> 4)]
        unsafe text[place + 2] = index + 1 < bytes.count ? letters[Int((second & 15) << 2)] : padding
        unsafe text[place + 3] = padding
        return place + 4
    }

    /// Nil unless `text` is exactly the result of `encode`: padded, without blanks and without stray bits.
    package static func decode(_ text: String) -> [UInt8]? {
        let letters = Array(text.utf8)
        guard letters.count.isMultiple(of: 4) else { return nil }
        let filling = letters.reversed().prefix { $0 == padding }.count
        guard filling <= 2 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(letters.count / 4 * 3)
        var group: UInt32 = 0
        for (index, letter) in letters.dropLast(filling).enumerated() {
            let value = values[Int(letter)]
            guard value < 64 else { return nil }
            group = group << 6 | UInt32(value)
            guard index % 4 == 3 else { continue }
            bytes.append(UInt8(truncatingIfNeeded: group >> 16))
            bytes.append(UInt8(truncatingIfNeeded: group >> 8))
            bytes.append(UInt8(truncatingIfNeeded: group))
            group = 0
        }
        switch filling {
        case 1:
            guard group & 3 == 0 else { return nil }
            bytes.append(UInt8(truncatingIfNeeded: group >> 10))
            bytes.append(UInt8(truncatingIfNeeded: group >> 2))
        case 2:
            guard group & 15 == 0 else { return nil }
            bytes.append(UInt8(truncatingIfNeeded: group >> 4))
        default: break
        }
        return bytes
    }
}
