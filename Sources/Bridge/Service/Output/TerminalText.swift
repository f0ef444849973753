/// Bytes for standard output and standard error, whoever wrote the words in them: characters that would move a terminal's cursor, set its
/// clipboard or reverse a line are written as escapes.
package enum TerminalText {
    /// One line for people: a line break in words of the far side would begin another line that looks like ours.
    package static func line(_ text: String) -> String {
        String(decoding: words(Array(text.utf8)), as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "⟨U+000A⟩")
    }

    /// Lines for people; line feeds and tabs stay.
    package static func words(_ bytes: [UInt8]) -> [UInt8] { replaced(bytes) { "⟨U+\($0)⟩" } }

    /// Lines of JSON: such characters occur in strings alone, where an escape means the same.
    package static func document(_ bytes: [UInt8]) -> [UInt8] { replaced(bytes) { "\\u\($0.lowercased())" } }

    private static func replaced(_ bytes: [UInt8], by escape: (String) -> String) -> [UInt8] {
        // Plain ASCII, the usual case, passes unchanged.
        guard bytes.contains(where: { $0 >= 0x7F || $0 < 0x20 && $0 != 0x0A && $0 != 0x09 }) else { return bytes }
        var text = String.UnicodeScalarView()
        for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
            guard moves(scalar) else {
                text.append(scalar)
                continue
            }
            let hex = String(scalar.value, radix: 16, uppercase: true)
            text += escape(String(repeating: "0", count: max(0, 4 - hex.count)) + hex).unicodeScalars
        }
        return Array(String(text).utf8)
    }

    /// C0 but line feed and tab, DEL, C1, line and paragraph separators, and characters that change the direction of text.
    private static func moves(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09, 0x0A: false
        case 0..<0x20, 0x7F..<0xA0, 0x061C, 0x200E, 0x200F, 0x2028, 0x2029, 0x202A...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
