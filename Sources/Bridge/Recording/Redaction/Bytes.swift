/// Classes of ASCII bytes, as the shapes of secrets need them.
enum Bytes {
    static func isAlphanumeric(_ byte: UInt8) -> Bool {
        (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
    }

    static func isWord(_ byte: UInt8) -> Bool {
        isAlphanumeric(byte) || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
    }

    static func isCredential(_ byte: UInt8) -> Bool { isWord(byte) || Array("._~+/=:|%".utf8).contains(byte) }

    static func isQuote(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") }

    /// Separators allowed between a name, its sign and its value; a backslash for JSON nested in JSON.
    static func isQuoteOrBlank(_ byte: UInt8) -> Bool {
        isQuote(byte) || byte == UInt8(ascii: "\\") || byte == 32 || byte == 9
    }

    static func endsPlainValue(_ byte: UInt8) -> Bool { byte <= 32 || Array("&,;(){}[]<>=".utf8).contains(byte) }

    /// True if no letter or digit is before the index; the letter of an escaped line feed in nested JSON does not count.
    static func beginsWord(_ text: [UInt8], _ index: Int) -> Bool {
        guard index > 0, isAlphanumeric(text[index - 1]) else { return true }
        return index > 1 && text[index - 2] == UInt8(ascii: "\\") && Array("nrtbf".utf8).contains(text[index - 1])
    }

    static func has(_ text: [UInt8], _ index: Int, _ part: [UInt8], ignoringCase: Bool = false) -> Bool {
        guard text.count - index >= part.count else { return false }
        for offset in part.indices {
            let byte = text[index + offset]
            let folded = ignoringCase && (65...90).contains(byte) ? byte + 32 : byte
            if folded != part[offset] { return false }
        }
        return true
    }

    static func run(_ text: [UInt8], _ start: Int, atMost limit: Int = .max, _ belongs: (UInt8) -> Bool) -> Int {
        var end = start
        while end < text.count, end - start < limit, belongs(text[end]) { end += 1 }
        return end
    }

    /// Words of a language have neither digits nor capitals inside.
    static func looksRandom(_ text: ArraySlice<UInt8>) -> Bool {
        text.dropFirst().contains { (48...57).contains($0) || (65...90).contains($0) }
    }
}
