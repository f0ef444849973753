/// Text of ours between the agent's in a bubble: questions and their outcomes.
///
/// Invariants: the text composed with a growing text grows only at its end, so that it can be streamed. A note keeps its place when the
/// agent trims its text, and comes last when the text becomes shorter than that place.
struct BubbleNotes: Sendable, Hashable {
    struct Note: Sendable, Hashable {
        /// UTF-8 bytes of the run's text before the note, without trailing white space.
        var anchor: Int
        var text: String
        /// Offset in the streamed text, joint included.
        var start: Int
    }

    var all: [Note] = []
    /// The run's text has not grown since the last note. Not stored.
    private(set) var isLast = true

    var isEmpty: Bool { all.isEmpty }
    var heldBytes: Int { all.reduce(0) { $0 + $1.text.utf8.count } }

    /// A copy with another note behind the text, and the text of the bubble with it.
    func adding(_ note: String, behind whole: String) -> (notes: BubbleNotes, text: String) {
        var notes = self
        notes.isLast = true
        notes.all.append(Note(anchor: whole.utf8.count - Self.trailingSpace(whole[...]), text: note, start: 0))
        let text = notes.composed(whole)
        let joint = text.utf8.count > note.utf8.count ? RunText.joint.utf8.count : 0
        notes.all[notes.all.count - 1].start = text.utf8.count - note.utf8.count - joint
        return (notes, text)
    }

    /// The movement of the bubble's text for one of the run's. An addition right behind a note needs a joint, so it is compared.
    mutating func moved(_ movement: RunText.Movement) -> RunText.Movement {
        guard !all.isEmpty, isLast, case .grew = movement else { return movement }
        isLast = false
        return .changed
    }

    /// A new attempt begins behind this much of the text.
    mutating func restart(after length: Int) {
        for index in all.indices { all[index].anchor = min(all[index].anchor, length) }
        isLast = true
    }

    func composed(_ whole: String) -> String {
        guard !all.isEmpty else { return whole }
        var parts: [Substring] = []
        var rest = whole
        var taken = 0
        for note in all {
            let (head, tail) = TextCut.split(rest, atMost: note.anchor - taken)
            taken += head.utf8.count
            parts.append(head.dropLast(Self.trailingCharacters(head)))
            parts.append(note.text[...])
            let next = Self.afterBreak(tail)
            taken += tail.utf8.count - next.utf8.count
            rest = String(next)
        }
        parts.append(rest[...])
        return parts.filter { !$0.isEmpty }.joined(separator: RunText.joint)
    }

    /// The run's own part of the streamed text.
    func removed(from streamed: String) -> String {
        var bytes = Array(streamed.utf8)
        for note in all.reversed() where note.start < bytes.count {
            let joint = note.start > 0 ? RunText.joint.utf8.count : 0
            bytes.removeSubrange(note.start..<min(bytes.count, note.start + joint + note.text.utf8.count))
            if note.start == 0 { bytes.removeFirst(bytes.prefix { $0 == UInt8(ascii: "\n") }.count) }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Cuts the white space before the first line, and keeps the indentation of that line.
    private static func afterBreak(_ text: Substring) -> Substring {
        let space = text.prefix(while: \.isWhitespace)
        if space.endIndex == text.endIndex { return "" }
        return space.lastIndex(where: \.isNewline).map { text[text.index(after: $0)...] } ?? text
    }

    private static func trailingCharacters(_ text: Substring) -> Int {
        text.reversed().prefix(while: \.isWhitespace).count
    }

    private static func trailingSpace(_ text: Substring) -> Int {
        text.utf8.count - text.dropLast(trailingCharacters(text)).utf8.count
    }
}
