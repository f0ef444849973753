/// What the phone sees grow: compares the text with what was *streamed*, and says what to stream.
///
/// States:
/// - `inStep`: streamed is the text. An addition goes out unchanged.
/// - `ahead`: the text is a beginning of what was streamed (it was trimmed). Nothing goes out until it extends again.
/// - `apart`: the text says something else. Nothing goes out until a later text extends what was streamed, or the end.
/// - `over`: the limit is reached, the preview was stopped, or the bubble has ended. Nothing goes out any more.
///
/// Invariants: what was streamed only grows, in order, without duplicates; it does not end in white space, which waits
/// for what follows: agents trim the ends of what they said.
struct Preview: Sendable, Hashable {
    enum State: Hashable { case inStep, ahead, apart, over }

    /// Not stored: it is in the deltas (`resume`).
    private(set) var streamed = ""
    var limit: Int
    var state: State
    /// White space at the end of the text, not streamed yet.
    private var held = ""

    init(limit: Int, streamed: String = "") {
        self.limit = limit
        self.streamed = streamed
        // What was streamed by an earlier process is compared before anything is added to it.
        state = streamed.isEmpty ? .inStep : .ahead
    }

    /// After a restart: it is compared before anything is added to it. `isWhole`: the text is what was streamed; were that forgotten, a
    /// second restart before the next word of the agent would lose it.
    mutating func resume(after streamed: String, isWhole: Bool = false) {
        self.streamed = streamed
        if state == .inStep, !streamed.isEmpty, !isWhole { state = .ahead }
    }

    /// As `HeldBytes` counts.
    var heldBytes: Int { streamed.utf8.count + held.utf8.count }
    var isPaused: Bool { state == .apart }
    var isOver: Bool { state == .over }

    /// All of it could be streamed now.
    func mayGrow(to text: String) -> Bool {
        state != .over && text.utf8.count <= limit && extends(text, streamed)
    }

    /// What to stream now that the text has moved; nil: nothing.
    mutating func moved(_ movement: RunText.Movement, to text: @autoclosure () -> String) -> String? {
        switch (state, movement) {
        case (.over, _), (_, .none), (.apart, .grew): nil
        case (.inStep, .grew(let addition)): take(held + addition)
        case (.ahead, .grew), (.inStep, .changed), (.ahead, .changed), (.apart, .changed): compare(text())
        }
    }

    /// Nothing is compared with what was streamed any more.
    mutating func stop() {
        state = .over
        (streamed, held) = ("", "")
    }

    private mutating func compare(_ text: String) -> String? {
        if extends(text, streamed) {
            state = .inStep
            let start = text.utf8.index(text.startIndex, offsetBy: streamed.utf8.count)
            return take(String(text.utf8[start...]) ?? "")
        }
        state = extends(streamed, text) ? .ahead : .apart
        return nil
    }

    /// Without the white space at its end, which is held.
    private mutating func holdingBack(_ addition: String) -> String {
        let space = addition.utf8.reversed().prefix { $0 == 0x20 || (0x09...0x0D).contains($0) }.count
        guard space > 0 else {
            held = ""
            return addition
        }
        let end = addition.utf8.index(addition.endIndex, offsetBy: -space)
        held = String(addition[end...])
        return String(addition[..<end])
    }

    private mutating func take(_ addition: String) -> String? {
        let addition = holdingBack(addition)
        guard !addition.isEmpty else { return nil }
        let room = limit - streamed.utf8.count
        guard addition.utf8.count > room else {
            streamed += addition
            return addition
        }
        state = .over
        let head = String(TextCut.split(addition, atMost: room).head)
        streamed += head
        return head.isEmpty ? nil : head
    }
}
