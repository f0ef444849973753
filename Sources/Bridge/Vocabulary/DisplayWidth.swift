/// Columns of text in a terminal: none for marks, two for East Asian letters and emoji, one for all else (https://www.unicode.org/reports/tr11/).
package enum DisplayWidth {
    package static func of(_ text: some StringProtocol) -> Int { text.reduce(0) { $0 + of($1) } }

    static func of(_ character: Character) -> Int {
        var width = 0
        for scalar in character.unicodeScalars {
            if scalar.value == 0xFE0F { return 2 }
            width = max(width, of(scalar))
        }
        return width
    }

    private static func of(_ scalar: Unicode.Scalar) -> Int {
        switch scalar.value {
        case 0x20..<0x7F: return 1
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA000...0xA4CF,
            0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6,
            0x17000...0x18CFF, 0x1B000...0x1B2FF, 0x20000...0x3FFFD:
            return 2
        default: break
        }
        let properties = scalar.properties
        if properties.isEmojiPresentation { return 2 }
        switch properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format, .control: return 0
        default: return 1
        }
    }

    /// The longest prefix that fits, with an ellipsis if the text is truncated.
    package static func clipped(_ text: String, to width: Int) -> String {
        guard of(text) > width else { return text }
        guard width > 0 else { return "" }
        return fitting(text[...], width - 1) + "\u{2026}"
    }

    /// Lines of at most so many columns, broken at spaces, and within a longer word.
    package static func wrapped(_ text: String, to width: Int) -> [String] {
        var (lines, line) = ([String](), "")
        for word in text.split(separator: " ") {
            var word = word
            if !line.isEmpty, of(line) + 1 + of(word) <= width {
                line += " " + word
                continue
            }
            if !line.isEmpty { lines.append(line) }
            while of(word) > width {
                // A character wider than the line occupies a line alone.
                let head = max(1, fitting(word, width).count)
                lines.append(String(word.prefix(head)))
                word = word.dropFirst(head)
            }
            line = String(word)
        }
        return line.isEmpty && !lines.isEmpty ? lines : lines + [line]
    }

    private static func fitting(_ text: Substring, _ width: Int) -> Substring {
        var (end, used) = (text.startIndex, 0)
        while end < text.endIndex {
            used += of(text[end])
            guard used <= width else { break }
            end = text.index(after: end)
        }
        return text[..<end]
    }
}
