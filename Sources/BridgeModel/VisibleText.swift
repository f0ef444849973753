/// Text of an agent as a card shows it: what an eye cannot see is written as `⟨U+202E⟩`.
///
/// Controls but line feed and tab, format characters (bidirectional, zero-width, tags), every other scalar that renders as nothing, and line
/// and paragraph separators become visible; in a command also each space that is not U+0020, since a shell takes it for a letter. A literal
/// `⟨` becomes `⟨U+27E8⟩`, so that the escape has one meaning and the text can be read back from it byte for byte.
package enum VisibleText {
    package static func command(_ text: String) -> String { escaped(text, keeps: isPlain) }
    package static func words(_ text: String) -> String { escaped(text) { isPlain($0) || isSpace($0) } }

    /// One line: white space of any kind is one space.
    package static func line(_ text: String) -> String {
        words(text.split(whereSeparator: { $0.isWhitespace || $0.isNewline }).joined(separator: " "))
    }

    private static func escaped(_ text: String, keeps: (Unicode.Scalar) -> Bool) -> String {
        // ASCII without controls is the rule, and needs no properties.
        if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F || $0 == 0x0A || $0 == 0x09 }) { return text }
        var escaped = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if keeps(scalar) { escaped.append(scalar) } else { escaped += name(of: scalar).unicodeScalars }
        }
        return String(escaped)
    }

    private static func name(of scalar: Unicode.Scalar) -> String {
        let hex = String(scalar.value, radix: 16, uppercase: true)
        return "⟨U+\(String(repeating: "0", count: max(0, 4 - hex.count)))\(hex)⟩"
    }

    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x0A, 0x09: return true
        case 0x20..<0x7F: return true
        // A Hangul filler, a Braille pattern without dots: letters and symbols that show nothing.
        case 0x27E8, 0x2800, 0x3164, 0x115F, 0x1160, 0xFFA0: return false
        default: break
        }
        let properties = scalar.properties
        if properties.isDefaultIgnorableCodePoint { return false }
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .spaceSeparator, .surrogate, .unassigned,
            .privateUse:
            return false
        default: return true
        }
    }

    private static func isSpace(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.generalCategory == .spaceSeparator
    }
}
