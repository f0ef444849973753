import Vocabulary

/// The current text of a run, in whatever form its bus sends it.
///
/// The text is `base` (the texts of earlier runs of the same turn, for example before a detached approval), then the ended segments, then
/// the newest one, joined by blank lines.
///
/// Invariants:
/// - A snapshot replaces everything but `base`; a failed attempt leaves nothing behind (`restart`).
/// - An addition after a gap has no known place: it is left out until the bus sends the whole text, or the segment.
/// - A segment that ended with a piece missing stops the preview until the bus sends the whole text: what was streamed would get a hole
///   that the end does not have.
/// - Text beyond `limit` is left out, except in the addition that crosses it.
struct RunText: Sendable, Hashable {
    static let joint = "\n\n"
    /// UTF-8 bytes: eight times the longest text that a gateway sends (openclaw.md#chat).
    static let limit = 4_000_000

    /// A change of the text, for the preview: an addition at the end needs no comparison.
    enum Movement: Hashable {
        case none
        case grew(by: String)
        case changed
    }

    var base = ""
    /// The ended segments of this run, joined.
    var ended = ""
    /// Text of the open segment. Not stored: the deltas hold what was streamed of it (`resume`).
    private var newest = ""
    /// A piece of the newest segment is missing.
    var hasGap = false
    /// A whole segment may be missing; an end with its own segment alone does not make up for it.
    var isIncomplete = false

    /// An ended segment lacks a piece.
    var isTorn = false

    var isEmpty: Bool { ended.isEmpty && newest.isEmpty }
    /// Bytes in memory, counted as for `HeldBytes`.
    var heldBytes: Int { base.utf8.count + ended.utf8.count + newest.utf8.count }
    /// Grows whenever a segment ends.
    var endedLength: Int { base.utf8.count + ended.utf8.count }

    var whole: String {
        if base.isEmpty, ended.isEmpty { return newest }
        var text = base
        for part in [ended, newest] where !part.isEmpty {
            if !text.isEmpty { text += Self.joint }
            text += part
        }
        return text
    }

    mutating func apply(_ change: TextChange) -> Movement {
        let movement = take(change)
        return isTorn ? .none : movement
    }

    private mutating func take(_ change: TextChange) -> Movement {
        switch change {
        case .append(let addition):
            guard !hasGap, !addition.isEmpty, newest.utf8.count + ended.utf8.count < Self.limit else { return .none }
            let begins = newest.isEmpty && !(base.isEmpty && ended.isEmpty)
            newest += addition
            return .grew(by: begins ? Self.joint + addition : addition)
        case .snapshot(let text):
            restart()
            newest = Self.limited(text)
            return .changed
        case .segment(let text):
            // An earlier process heard the run begin: this may be its second message, and the end alone has the first.
            if hasGap, isIncomplete, isEmpty { isTorn = true }
            if !extends(text, newest), !extends(newest, text) {
                if hasGap { tear() }
                endSegment()
            }
            hasGap = false
            newest = Self.limited(text)
            return .changed
        case .replaced(let text):
            hasGap = false
            newest = Self.limited(text)
            return .changed
        case .segmentEnded(let text):
            guard text != nil || !hasGap else {
                // The beginning of the segment was missed: keep the rest that is known.
                hasGap = false
                tear()
                endSegment()
                return .none
            }
            hasGap = false
            if let text { newest = Self.limited(text) }
            endSegment()
            return text == nil ? .none : .changed
        }
    }

    /// A new attempt begins, and nothing of the failed one counts.
    mutating func restart() {
        ended = ""
        newest = ""
        hasGap = false
        isIncomplete = false
        isTorn = false
    }

    /// Restores the newest segment after a restart from what was streamed, unless a failed attempt streamed that.
    mutating func resume(after streamed: String, inStep: Bool) {
        hasGap = true
        isIncomplete = true
        guard inStep else { return }
        let known = whole
        guard extends(streamed, known) else { return }
        var rest = streamed.utf8.dropFirst(known.utf8.count)
        if !known.isEmpty {
            guard rest.starts(with: Self.joint.utf8) else { return }
            rest = rest.dropFirst(Self.joint.utf8.count)
        }
        newest = String(rest) ?? ""
    }

    /// The run begins here, so nothing of it is missing.
    mutating func began() {
        if isEmpty { restart() }
    }

    /// The bus was away: additions have no place until it sends the whole text.
    mutating func missed() { hasGap = true }

    /// The run has ended, and another continues its text after a blank line.
    mutating func keepForFollowUp() {
        base = whole
        restart()
    }

    /// Takes the canonical text of the run's end, unless the agent cut it shorter than the known text. `coversBase`: the history's text
    /// spans the first run and its follow-up.
    mutating func settle(_ end: RunEnd, coversBase: Bool = false) {
        guard let text = end.text, !text.isEmpty else { return }
        switch end.scope {
        case .segment: _ = apply(.segment(text))
        case .run:
            let known = coversBase ? whole.utf8.count : ended.utf8.count + newest.utf8.count
            if end.truncated, known > text.utf8.count { return }
            if coversBase { base = "" }
            _ = apply(.snapshot(text))
        }
    }

    /// Takes a look-up's text of a run that continues. The look-up may be late: its text counts only if it goes beyond the known text, and
    /// the bus itself repeats segments.
    mutating func caughtUp(with text: String) -> Movement {
        guard ended.isEmpty, text.utf8.count > newest.utf8.count, extends(text, newest) else { return .none }
        return apply(.snapshot(text))
    }

    private mutating func tear() {
        guard !newest.isEmpty else { return }
        isTorn = true
        isIncomplete = true
    }

    private mutating func endSegment() {
        guard !newest.isEmpty else { return }
        if !ended.isEmpty { ended += Self.joint }
        ended += newest
        newest = ""
        ended = Self.limited(ended)
    }

    private static func limited(_ text: String) -> String {
        text.utf8.count <= limit ? text : String(TextCut.split(text, atMost: limit).head)
    }
}
