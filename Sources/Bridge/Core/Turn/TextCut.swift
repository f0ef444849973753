import Vocabulary

/// Cuts text by UTF-8 bytes without breaking a character, as people count characters: a flag or a family stays whole.
package enum TextCut {
    /// The longest beginning of `text` of at most `limit` bytes that ends between two characters, and the rest. With `partsEscapes` false
    /// the cut spares escapes of visible text too.
    package static func split(
        _ text: String, atMost limit: Int, partsEscapes: Bool = true
    ) -> (head: Substring, rest: Substring) {
        guard text.utf8.count > limit else { return (text[...], "") }
        var cut = text.utf8.index(text.startIndex, offsetBy: max(0, limit))
        // At most a few dozen steps back: the longest character in use has fewer bytes than that.
        var steps = 0
        while cut > text.startIndex, !isBoundary(cut, in: text), steps < 256 {
            cut = text.utf8.index(before: cut)
            steps += 1
        }
        while cut > text.startIndex, cut.samePosition(in: text.unicodeScalars) == nil {
            cut = text.utf8.index(before: cut)
        }
        if !partsEscapes {
            let whole = VisibleText.wholeEscapes(before: cut, in: text)
            if whole > text.startIndex { cut = whole }
        }
        return (text[..<cut], text[cut...])
    }

    private static func isBoundary(_ index: String.Index, in text: String) -> Bool {
        guard index.samePosition(in: text.unicodeScalars) != nil else { return false }
        guard index < text.endIndex else { return true }
        // Rounding down to a character leaves a boundary where it is.
        return text.rangeOfCharacter(at: index).lowerBound == index
    }

    /// `text`, cut to at most `limit` bytes with a visible mark where it was longer.
    package static func marked(_ text: String, atMost limit: Int) -> String {
        guard text.utf8.count > limit else { return text }
        let mark = "… (cut)"
        return split(text, atMost: limit - mark.utf8.count).head + mark
    }

    /// Pieces of at most `limit` bytes, in order, which together are `text`. The cut follows a paragraph, or else a line, that ends in the
    /// last quarter of a piece; otherwise it falls between two characters.
    package static func pieces(_ text: Substring, atMost limit: Int, partsEscapes: Bool = true) -> [String] {
        var pieces: [String] = []
        var rest = String(text)
        while rest.utf8.count > limit {
            let (head, _) = split(rest, atMost: limit, partsEscapes: partsEscapes)
            guard !head.isEmpty else { break }
            let cut = goodCut(in: head) ?? head.endIndex
            pieces.append(String(rest[..<cut]))
            rest = String(rest[cut...])
        }
        if !rest.isEmpty { pieces.append(rest) }
        return pieces
    }

    private static func goodCut(in head: Substring) -> String.Index? {
        let quarter = head.utf8.index(head.startIndex, offsetBy: head.utf8.count * 3 / 4)
        let newline = UInt8(ascii: "\n")
        var line: String.Index?
        var index = head.endIndex
        while index > quarter {
            let before = head.utf8.index(before: index)
            if head.utf8[before] == newline {
                let isParagraph = before > head.startIndex && head.utf8[head.utf8.index(before: before)] == newline
                if isParagraph { return index }
                line = line ?? index
            }
            index = before
        }
        return line
    }
}

extension String {
    fileprivate func rangeOfCharacter(at index: String.Index) -> Range<String.Index> {
        // `index(before: index(after:))` would round; the character that holds `index` begins at or before it.
        let after = self.index(after: index)
        let start = self.index(before: after)
        return start..<after
    }
}

/// Whether `text` begins with `head`, byte for byte. Swift's own comparison treats canonically equivalent text as equal, and the phone
/// would then show bytes that were never sent.
package func extends(_ text: String, _ head: String) -> Bool {
    // Spans: the collections' own `starts(with:)` takes ten times as long, and every snapshot of a long text comes here.
    let bytes = text.utf8.span
    let beginning = head.utf8.span
    guard bytes.count >= beginning.count else { return false }
    for index in 0..<beginning.count where bytes[index] != beginning[index] { return false }
    return true
}
