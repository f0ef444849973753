import Vocabulary

/// Text of one turn, joined from previews and from the frames that count (claude-code.md#text).
///
/// Invariant: the pieces of a segment are texts of `assistant` frames alone. A preview is in no piece, and is withdrawn if its
/// block gets no such frame. The end of a segment is held back until something else comes, because a block may continue it.
struct ClaudeWords {
    private struct Piece {
        var message: String
        var text: String
    }

    /// Bytes kept for `drop`, as many as the text of a run may have: later messages cannot be withdrawn.
    private static let limit = 4_000_000

    private var said: [[Piece]] = []
    private var saidBytes = 0
    private var held: [Piece] = []
    private var preview = ""
    private var message = ""
    private var joinsNext = false
    /// A block was complete, whatever became of it later.
    private(set) var hasText = false

    private var heldText: String { held.map(\.text).joined() }

    mutating func messageBegan(_ id: String) -> [TextChange] {
        let changes = takeBackPreview() + (joinsNext ? [] : end())
        message = id
        return changes
    }

    mutating func appended(_ delta: String) -> [TextChange] {
        guard !delta.isEmpty else { return [] }
        let changes = preview.isEmpty ? endUnlessJoined(to: message) : []
        preview += delta
        return changes + [.append(delta)]
    }

    /// Text block of an `assistant` frame. Not every message is streamed.
    mutating func completed(_ text: String, of id: String?) -> [TextChange] {
        let id = id ?? message
        guard !text.isEmpty else { return takeBackPreview() }
        let changes = preview.isEmpty ? endUnlessJoined(to: id) : []
        let shown = preview
        preview = ""
        held.append(Piece(message: id, text: text))
        (joinsNext, hasText) = (false, true)
        if shown == text { return changes }
        return changes + [shown.isEmpty ? .append(text) : .replaced(heldText)]
    }

    /// The stream ended: a block without its frame will come again.
    mutating func messageEnded() -> [TextChange] { takeBackPreview() }

    /// The model was told to continue where its text was cut.
    mutating func continues() { joinsNext = !held.isEmpty }

    /// Ends the segment at something that is no text.
    mutating func interrupted() -> [TextChange] { takeBackPreview() + end() }

    /// Ends the turn's text. An unconfirmed preview stays: a person has read it.
    mutating func finished() -> [TextChange] {
        if !preview.isEmpty {
            held.append(Piece(message: message, text: preview))
            (preview, hasText) = ("", true)
        }
        return end()
    }

    /// Drops a message in which the model refused.
    mutating func drop(_ id: String) -> [TextChange] {
        let changes = takeBackPreview()
        let isSaid = said.contains { $0.contains { $0.message == id } }
        let isHeld = held.contains { $0.message == id }
        held.removeAll { $0.message == id }
        guard isSaid else {
            guard isHeld else { return changes }
            return changes + [held.isEmpty ? .segmentEnded("") : .replaced(heldText)]
        }
        let segments = (said + [held]).map { $0.filter { $0.message != id } }.filter { !$0.isEmpty }
        let whole = segments.map { $0.map(\.text).joined() }.joined(separator: "\n\n")
        (said, held, hasText) = (segments, [], !segments.isEmpty)
        return changes + [.snapshot(whole), .segmentEnded(nil)]
    }

    private mutating func endUnlessJoined(to id: String) -> [TextChange] {
        joinsNext || held.last?.message == id ? [] : end()
    }

    private mutating func takeBackPreview() -> [TextChange] {
        guard !preview.isEmpty else { return [] }
        preview = ""
        return [held.isEmpty ? .segmentEnded("") : .replaced(heldText)]
    }

    private mutating func end() -> [TextChange] {
        joinsNext = false
        guard !held.isEmpty else { return [] }
        let text = heldText
        saidBytes += text.utf8.count
        if saidBytes <= Self.limit { said.append(held) }
        held = []
        return [.segmentEnded(text)]
    }
}
