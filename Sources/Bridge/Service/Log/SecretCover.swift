import Locking
package import Vocabulary

/// Secrets that nothing the bridge writes for people or programs may show: the log, the events, the status, the last line on standard error.
/// All of these share one cover, so that a secret is registered once.
///
/// A secret is found as it is, in any JSON escape of it, and in base64. All finds of a text are replaced together, so that two secrets that
/// contain or overlap each other leave nothing of either.
package final class SecretCover: Sendable {
    /// At this number the oldest quarter is dropped, and shown if an outside text repeats it: each of those has had hundreds of successors.
    private static let limit = 4_096

    /// A shorter secret would cover half of every text.
    private static let shortest = 8

    private static let pieceLength = 8
    private static let longestInPieces = 4_096

    private typealias Forms = [UInt8: Set<[UInt8]>]

    private struct Known {
        /// Newest last.
        var secrets: [String] = []
        /// Forms of all secrets, by their first byte.
        var forms: Forms = [:]
        /// All runs of eight bytes in all forms but the longest.
        var pieces: Set<UInt64> = []
    }

    private let known = Locked(Known())

    package init() {}

    /// Covers the secret in all texts from this call on, wherever it comes from.
    package func cover(_ secret: Secret) {
        let text = secret.text
        guard text.utf8.count >= Self.shortest else { return }
        known.withLock { known in
            // A secret in force is registered again and again, and stays among the newest.
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
        // A JSON document within a string of another one escapes twice.
        let escaped = JSONText.string(secret).text.utf8.dropFirst().dropLast()
        for form in [Array(secret.utf8), Array(escaped)] + encoded(secret) where form.count >= shortest {
            known.forms[form[0], default: []].insert(form)
            // Each byte of a form adds a piece: a far side could register ever longer secrets.
            guard form.count <= longestInPieces else { continue }
            for start in 0...form.count - pieceLength { known.pieces.insert(word(form, at: start)) }
        }
    }

    /// Base64 of the text in both alphabets and at each offset in a longer text: the letters that the text alone decides.
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

    /// Covers a frame that may hold part of a text which other frames continue: pieces of secrets, of eight bytes or more, are covered as well at
    /// the beginning and the end of a string.
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

    /// `end` if no piece ends there.
    private static func start(
        ofPieceBefore end: Int, in bytes: [UInt8], from lowest: Int, _ pieces: Set<UInt64>
    ) -> Int {
        var start = end - pieceLength
        guard start >= lowest, pieces.contains(word(bytes, at: start)) else { return end }
        while start > lowest, pieces.contains(word(bytes, at: start - 1)) { start -= 1 }
        return start
    }

    /// `start` if no piece begins there.
    private static func end(ofPieceAt start: Int, in bytes: [UInt8], _ pieces: Set<UInt64>) -> Int {
        guard start + pieceLength <= bytes.count, pieces.contains(word(bytes, at: start)) else { return start }
        var end = start + pieceLength
        while end < bytes.count, pieces.contains(word(bytes, at: end + 1 - pieceLength)) { end += 1 }
        return end
    }

    private static func word(_ bytes: [UInt8], at start: Int) -> UInt64 {
        bytes[start..<start + pieceLength].reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Nil if the bytes hold no secret.
    private static func covered(_ bytes: [UInt8], _ forms: Forms) -> [UInt8]? {
        guard !forms.isEmpty else { return nil }
        var result: [UInt8]?
        // Everything before `end` is in the result, or covered.
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

    /// End of the longest form that begins at `start`.
    private static func match(_ bytes: [UInt8], at start: Int, _ forms: Forms) -> Int? {
        var candidates = forms[bytes[start]] ?? []
        if bytes[start] == backslash, let first = escape(bytes, at: start)?.utf8.first, first != backslash {
            candidates.formUnion(forms[first] ?? [])
        }
        return candidates.compactMap { end(of: $0, in: bytes, from: start) }.max()
    }

    /// End of the form if it stands at `start`, byte by byte or with JSON escapes.
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

    /// The character of a JSON escape. A pair of surrogates counts as one.
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

    /// Code unit of an escape such as `\u00e9`.
    private static func unit(_ bytes: [UInt8], at index: Int) -> UInt16? {
        guard index + 6 <= bytes.count, bytes[index] == backslash, bytes[index + 1] == UInt8(ascii: "u") else {
            return nil
        }
        let digits = bytes[index + 2..<index + 6]
        guard digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else { return nil }
        return UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
    }
}
