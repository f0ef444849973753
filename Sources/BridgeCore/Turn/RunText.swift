import BridgeModel

/// The text of a run as it stands, whatever way its bus tells it.
///
/// The text is `base` (what earlier runs of the same turn said, for example before a detached approval), then the ended
/// segments, then the newest one, joined by blank lines.
///
/// Invariants:
/// - A snapshot replaces everything but `base`; a failed attempt leaves nothing behind (`restart`).
/// - After a gap, an addition cannot be placed: it is left out until the bus says what the whole (or the segment) is.
struct RunText: Sendable, Hashable {
    static let joint = "\n\n"

    /// How the text moved, for the preview: an addition at its end costs no comparison.
    enum Movement: Hashable {
        case none
        case grew(by: String)
        case changed
    }

    private(set) var base = ""
    /// The ended segments of this run, joined.
    private var ended = ""
    private var newest = ""
    /// A piece of the newest segment is missing.
    private(set) var hasGap = false

    var isEmpty: Bool { ended.isEmpty && newest.isEmpty }

    var whole: String {
        var text = base
        for part in [ended, newest] where !part.isEmpty {
            if !text.isEmpty { text += Self.joint }
            text += part
        }
        return text
    }

    mutating func apply(_ change: TextChange, planted: PlantedFault? = nil) -> Movement {
        switch change {
        case .append(let addition):
            guard !hasGap, !addition.isEmpty else { return .none }
            let joint = newest.isEmpty && !(base.isEmpty && ended.isEmpty) ? Self.joint : ""
            newest += addition
            return .grew(by: joint + addition)
        case .snapshot(let text):
            if planted == .snapshotAppended { return apply(.append(text)) }
            hasGap = false
            ended = ""
            newest = text
            return .changed
        case .segment(let text):
            hasGap = false
            if !extends(text, newest), !extends(newest, text) { endSegment() }
            newest = text
            return .changed
        case .segmentEnded(let text):
            if let text { newest = text }
            hasGap = false
            endSegment()
            return .changed
        }
    }

    /// A new attempt begins: nothing of the failed one counts.
    mutating func restart() {
        ended = ""
        newest = ""
        hasGap = false
    }

    /// The bus was away: what it adds now has no place until it says the whole.
    mutating func missed() { hasGap = true }

    /// The run is over, and another will go on after a blank line.
    mutating func keepForFollowUp() {
        base = whole
        restart()
    }

    /// Takes the canonical text of the run's end, unless the agent cut it shorter than what is known.
    mutating func settle(_ end: RunEnd) {
        guard let text = end.text, !text.isEmpty else { return }
        switch end.scope {
        case .segment: _ = apply(.segment(text))
        case .run:
            if end.truncated, ended.utf8.count + newest.utf8.count > text.utf8.count { return }
            _ = apply(.snapshot(text))
        }
    }

    /// The history's text of the first run and its follow-up together, which `base` is a part of.
    mutating func settleWithFollowUp(_ text: String) {
        base = ""
        _ = apply(.snapshot(text))
    }

    private mutating func endSegment() {
        guard !newest.isEmpty else { return }
        if !ended.isEmpty { ended += Self.joint }
        ended += newest
        newest = ""
    }
}
