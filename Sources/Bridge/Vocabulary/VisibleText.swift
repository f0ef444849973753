/// Text of an agent in the form of a card: invisible characters appear as `⟨U+202E⟩`.
///
/// Controls but line feed and tab, format characters (bidirectional, zero-width, tags), every other scalar that renders as nothing, and line
/// and paragraph separators become visible. In a command each space but U+0020 does too, since a shell reads it as a letter. A literal `⟨`
/// becomes `⟨U+27E8⟩`: the escape has one meaning, and the original text can be read back byte for byte.
package enum VisibleText {
    package static func command(_ text: String) -> String {
        if isASCII(text) { return text }
        let scalars = Array(text.unicodeScalars)
        var escaped = String.UnicodeScalarView()
        for (index, scalar) in scalars.enumerated() {
            if isPlain(scalar, behind: scalars[..<index]) {
                escaped.append(scalar)
            } else {
                escaped += name(of: scalar).unicodeScalars
            }
        }
        return String(escaped)
    }
    /// Words keep the characters that scripts and pictures need: one wide or unbreakable space,
    /// joiners between letters that join, and the selectors and joiners of emoji.
    package static func words(_ text: String) -> String {
        if isASCII(text) { return text }
        let scalars = Array(text.unicodeScalars)
        var escaped = String.UnicodeScalarView()
        for (index, scalar) in scalars.enumerated() {
            let (before, after) = (
                index > 0 ? scalars[index - 1] : nil, index + 1 < scalars.count ? scalars[index + 1] : nil
            )
            if isPlain(scalar, behind: scalars[..<index]) || belongs(scalar, between: before, and: after) {
                escaped.append(scalar)
            } else {
                escaped += name(of: scalar).unicodeScalars
            }
        }
        return String(escaped)
    }

    /// A value in a line of the card: escaped like a command, without line breaks and tabs.
    package static func value(_ text: String) -> String { named(breaksOf: command(text)) }

    private static func named(breaksOf text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "⟨U+000A⟩")
            .split(separator: "\t", omittingEmptySubsequences: false).joined(separator: "⟨U+0009⟩")
    }

    /// Nearest place for a cut of visible text: before an escape that the cut would split.
    package static func wholeEscapes(before cut: String.Index, in text: String) -> String.Index {
        let longest = 9
        for back in text.unicodeScalars[..<cut].indices.reversed().prefix(longest) {
            switch text.unicodeScalars[back] {
            case "⟨": return back
            case "⟩": return cut
            default: continue
            }
        }
        return cut
    }

    /// One line: a row of spaces, tabs and line ends becomes one space. A shell distinguishes other white space from a
    /// space, and a mark behind a space is no white space: each stays a scalar of its own.
    package static func line(_ text: String) -> String {
        let pieces = text.unicodeScalars.split(whereSeparator: isBlank)
        return words(pieces.map { String($0) }.joined(separator: " "))
    }

    /// One line of words, complete: line breaks and tabs are escaped.
    package static func unbroken(_ text: String) -> String { named(breaksOf: words(text)) }

    /// The text without spaces, tabs and line ends at both ends.
    package static func trimmed(_ text: String) -> String {
        let head = text.unicodeScalars.drop(while: isBlank)
        return String(String.UnicodeScalarView(head.reversed().drop(while: isBlank).reversed()))
    }

    package static func isBlank(_ scalar: Unicode.Scalar) -> Bool { " \t\n\r".unicodeScalars.contains(scalar) }

    /// Fast path: most text is ASCII without controls and needs no Unicode properties.
    private static func isASCII(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F || $0 == 0x0A || $0 == 0x09 }
    }

    private static func name(of scalar: Unicode.Scalar) -> String {
        let hex = String(scalar.value, radix: 16, uppercase: true)
        return "⟨U+\(String(repeating: "0", count: max(0, 4 - hex.count)))\(hex)⟩"
    }

    private static func isPlain(_ scalar: Unicode.Scalar, behind before: ArraySlice<Unicode.Scalar>) -> Bool {
        switch scalar.value {
        case 0x0A, 0x09: return true
        case 0x20..<0x7F: return true
        // Fillers, a Braille pattern without dots, and symbols that render as nothing.
        case 0x27E8, 0x2800, 0x3164, 0x115F, 0x1160, 0xFFA0, 0xFFFC, 0x1D159, 0x16FE4: return false
        default: break
        }
        let properties = scalar.properties
        if properties.isDefaultIgnorableCodePoint { return false }
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .spaceSeparator, .surrogate, .unassigned,
            .privateUse, .enclosingMark:
            return false
        // Two marks on a letter are writing; a third one paints over its neighbours.
        case .nonspacingMark: return !(before.count >= 2 && before.suffix(2).allSatisfy(isMark))
        default: return true
        }
    }

    private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.generalCategory == .nonspacingMark
    }

    private static func belongs(
        _ scalar: Unicode.Scalar, between before: Unicode.Scalar?, and after: Unicode.Scalar?
    ) -> Bool {
        guard let before else { return false }
        switch scalar.value {
        case 0xA0, 0x202F, 0x3000: return !before.properties.isWhitespace
        // Digits, `#` and `*` are emoji too. Their selector is visible only in a keycap.
        case 0xFE0F: return before.value > 0x7F ? before.properties.isEmoji : after?.value == 0x20E3
        case 0x20E3: return before.value == 0xFE0F
        case 0x200D where before.value == 0xFE0F || before.properties.isEmojiPresentation:
            return after?.properties.isEmoji == true
        case 0x200C, 0x200D:
            return before.value > 0x7F && isLetter(before) && after.map { $0.value > 0x7F && isLetter($0) } == true
        default: return false
        }
    }

    private static func isLetter(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isAlphabetic || isMark(scalar)
    }
}
