import Locking
package import Vocabulary

/// What nothing that the bridge writes for people or programs may show: the log, the events, the status, the last line on standard
/// error. All of these share one, so that a secret is made known once.
///
/// A secret is found as it is, as any JSON writer may escape it, and in base64. All finds of a text are replaced together, so that one
/// secret that is a part of another, or overlaps it, leaves nothing of either.
package final class SecretCover: Sendable {
    /// Beyond this the oldest quarter is shown again where an outside text repeats it: it was replaced hundreds of times.
    private static let limit = 4_096

    /// A shorter secret would cover half of every text.
    private static let shortest = 8

    private static let pieceLength = 8
    private static let longestInPieces = 4_096

    private typealias Forms = [UInt8: Set<[UInt8]>]

    private struct Known {
        /// The newest last.
        var secrets: [String] = []
        /// By their first byte.
        var forms: Forms = [:]
        /// All runs of eight bytes of all forms but the longest.
        var pieces: Set<UInt64> = []
    }

    private let known = Locked(Known())

    package init() {}

    /// From now on no text shows this secret, wherever it comes from.
    package func cover(_ secret: Secret) {
        let text = secret.text
        guard text.utf8.count >= Self.shortest else { return }
        known.withLock { known in
            // One that is in force is made known again and again, and stays among the newest.
            if known.secrets.last == text { return }
            let isNew = !known.secrets.contains(text)
            known.secrets.removeAll { $0 == text }
            known.secrets.append(text)
            if known.secrets.count > Self.limit {
                known.secrets.removeFirst(Self.limit / 4)
                (known.forms, known.pieces) = ([:], [])
                for secret in known.secrets { Self.add(secret, to: &known) }
            } else if isNew {
                Self.add(text, to: &known)
            }
        }
    }

    private static func add(_ secret: String, to known: inout Known) {
        // A document of JSON within a string of another one escapes twice.
        let escaped = JSONText.string(secret).text.utf8.dropFirst().dropLast()
        for form in [Array(secret.utf8), Array(escaped)] + encoded(secret) where form.count >= shortest {
            known.forms[form[0], default: []].insert(form)
            // Each byte of a form is a piece to remember: a far side could make known ever longer ones.
            guard form.count <= longestInPieces else { continue }
            for start in 0...form.count - pieceLength { known.pieces.insert(word(form, at: start)) }
        }
    }

    /// What base64 in either alphabet makes of it, wherever in a longer text it begins: the letters that it alone decides.
    private static func encoded(_ text: String) -> Set<[UInt8]> {
        Set(
            (0..<3).flatMap { place in
                let bytes = [UInt8](repeating: 0, count: place) + Array(text.utf8)
                let letters = Base64.encode(bytes).prefix(bytes.count * 8 / 6).dropFirst((place * 8 + 5) / 6)
                let others = letters.map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 }
                return [Array(letters.utf8), Array(String(others).utf8)]
            })
    }

    // MARK: Texts

    package func covered(_ text: String) -> String {
        Self.covered(Array(text.utf8), known.withLock { $0.forms }).map { String(decoding: $0, as: UTF8.self) } ?? text
    }

    package func covered(_ bytes: [UInt8]) -> [UInt8] { Self.covered(bytes, known.withLock { $0.forms }) ?? bytes }

    /// A frame that may hold a piece of a text which other frames continue: pieces of secrets, of eight bytes and more, are covered
    /// besides where they begin or end a string.
    package func covered(pieceOf bytes: [UInt8]) -> [UInt8] {
        let (forms, pieces) = known.withLock { ($0.forms, $0.pieces) }
        let bytes = Self.covered(bytes, forms) ?? bytes
        guard !pieces.isEmpty, bytes.count >= Self.pieceLength else { return bytes }
        var result: [UInt8] = []
        var copied = 0
        func cover(_ range: Range<Int>) {
            guard !range.isEmpty else { return }
            result += bytes[copied..<range.lowerBound] + Array("***".utf8)
            copied = range.upperBound
        }
        for quote in bytes.indices where bytes[quote] == UInt8(ascii: "\"") {
            // The quote of a string within a string has backslashes before it.
            var end = quote
            while end > copied, bytes[end - 1] == Self.backslash { end -= 1 }
            if end >= copied { cover(Self.start(ofPieceBefore: end, in: bytes, from: copied, pieces)..<end) }
            if quote >= copied { cover(quote + 1..<Self.end(ofPieceAt: quote + 1, in: bytes, pieces)) }
        }
        return copied == 0 ? bytes : result + bytes[copied...]
    }

    /// `end` where no piece ends there.
    private static func start(
        ofPieceBefore end: Int, in bytes: [UInt8], from lowest: Int, _ pieces: Set<UInt64>
    ) -> Int {
        var start = end - pieceLength
        guard start >= lowest, pieces.contains(word(bytes, at: start)) else { return end }
        while start > lowest, pieces.contains(word(bytes, at: start - 1)) { start -= 1 }
        return start
    }

    /// `start` where no piece begins there.
    private static func end(ofPieceAt start: Int, in bytes: [UInt8], _ pieces: Set<UInt64>) -> Int {
        guard start + pieceLength <= bytes.count, pieces.contains(word(bytes, at: start)) else { return start }
        var end = start + pieceLength
        while end < bytes.count, pieces.contains(word(bytes, at: end + 1 - pieceLength)) { end += 1 }
        return end
    }

    private static func word(_ bytes: [UInt8], at start: Int) -> UInt64 {
        bytes[start..<start + pieceLength].reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Nil if no secret is in it.
    private static func covered(_ bytes: [UInt8], _ forms: Forms) -> [UInt8]? {
        guard !forms.isEmpty else { return nil }
        var result: [UInt8]?
        // All before is in the result, or covered.
        var end = 0
        var index = 0
        while index < bytes.count {
            if let found = match(bytes, at: index, forms) {
                if result == nil { result = Array(bytes[..<index]) }
                if index >= end { result? += Array("***".utf8) }
                end = max(end, found)
            }
            if index >= end { result?.append(bytes[index]) }
            index += 1
        }
        return result
    }

    /// The end of the longest form that begins here.
    private static func match(_ bytes: [UInt8], at start: Int, _ forms: Forms) -> Int? {
        var candidates = forms[bytes[start]] ?? []
        if bytes[start] == backslash, let first = escape(bytes, at: start)?.utf8.first, first != backslash {
            candidates.formUnion(forms[first] ?? [])
        }
        return candidates.compactMap { end(of: $0, in: bytes, from: start) }.max()
    }

    /// Where the form ends, if it is there: byte by byte, or with the escapes of JSON.
    private static func end(of form: [UInt8], in bytes: [UInt8], from start: Int) -> Int? {
        if bytes[start...].starts(with: form) { return start + form.count }
        var (place, index) = (0, start)
        while place < form.count {
            guard index < bytes.count else { return nil }
            if bytes[index] == backslash, let escaped = escape(bytes, at: index),
                form[place...].starts(with: escaped.utf8)
            {
                place += escaped.utf8.count
                index = escaped.end
            } else {
                guard bytes[index] == form[place] else { return nil }
                place += 1
                index += 1
            }
        }
        return index
    }

    private static let backslash = UInt8(ascii: "\\")

    /// The character of an escape of JSON. A pair of surrogates counts as one.
    private static func escape(_ bytes: [UInt8], at index: Int) -> (utf8: [UInt8], end: Int)? {
        guard index + 1 < bytes.count else { return nil }
        switch bytes[index + 1] {
        case UInt8(ascii: "n"): return ([10], index + 2)
        case UInt8(ascii: "t"): return ([9], index + 2)
        case UInt8(ascii: "r"): return ([13], index + 2)
        case UInt8(ascii: "b"): return ([8], index + 2)
        case UInt8(ascii: "f"): return ([12], index + 2)
        case UInt8(ascii: "/"), UInt8(ascii: "\""), backslash: return ([bytes[index + 1]], index + 2)
        case UInt8(ascii: "u"):
            guard let unit = unit(bytes, at: index) else { return nil }
            if let scalar = Unicode.Scalar(unit) { return (Array(String(scalar).utf8), index + 6) }
            guard (0xD800..<0xDC00).contains(unit), let low = self.unit(bytes, at: index + 6),
                (0xDC00..<0xE000).contains(low),
                let scalar = Unicode.Scalar(0x10000 + (UInt32(unit) - 0xD800) << 10 + (UInt32(low) - 0xDC00))
            else { return nil }
            return (Array(String(scalar).utf8), index + 12)
        default: return nil
        }
    }

    /// Of `\u00e9`.
    private static func unit(_ bytes: [UInt8], at index: Int) -> UInt16? {
        guard index + 6 <= bytes.count, bytes[index] == backslash, bytes[index + 1] == UInt8(ascii: "u") else {
            return nil
        }
        let digits = bytes[index + 2..<index + 6]
        guard digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else { return nil }
        return UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
    }
}
