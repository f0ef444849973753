/// The text that the phone sees grow. Compares the text with what was *streamed*, and returns what to stream.
///
/// States:
/// - `inStep`: the text is what was streamed. An addition goes out unchanged.
/// - `ahead`: the text is a beginning of what was streamed (it was trimmed). Nothing goes out until it extends again.
/// - `apart`: the text says something else. Nothing goes out until a later text extends what was streamed, or the end.
/// - `over`: the limit is reached, the preview was stopped, or the bubble has ended. Nothing more goes out.
///
/// Invariants: streamed text only grows, in order, without duplicates. It does not end in white space, which waits for what follows:
/// agents trim the ends of their texts.
struct Preview: Sendable, Hashable {
    enum State: Hashable { case inStep, ahead, apart, over }

    /// Not stored: the deltas hold it (`resume`).
    private(set) var streamed = ""
    var limit: Int
    var state: State
    /// White space at the end of the text, not streamed yet.
    private var held = ""

    init(limit: Int, streamed: String = "") {
        self.limit = limit
        self.streamed = streamed
        // Text that an earlier process streamed is compared before anything is added to it.
        state = streamed.isEmpty ? .inStep : .ahead
    }

    /// Resumes after a restart; the text is compared before anything is added. `isWhole`: the text is what was streamed, so the preview
    /// stays in step. Without that, a second restart before the agent's next word would lose the text.
    mutating func resume(after streamed: String, isWhole: Bool = false) {
        self.streamed = streamed
        if state == .inStep, !streamed.isEmpty, !isWhole { state = .ahead }
    }

    /// Bytes in memory, counted as for `HeldBytes`.
    var heldBytes: Int { streamed.utf8.count + held.utf8.count }
    var isPaused: Bool { state == .apart }
    var isOver: Bool { state == .over }

    /// Whether all of the text could be streamed now.
    func mayGrow(to text: String) -> Bool {
        state != .over && text.utf8.count <= limit && extends(text, streamed)
    }

    /// The addition to stream now that the text has moved, or nil if there is none.
    mutating func moved(_ movement: RunText.Movement, to text: @autoclosure () -> String) -> String? {
        switch (state, movement) {
        case (.over, _), (_, .none), (.apart, .grew): nil
        case (.inStep, .grew(let addition)): take(held + addition)
        case (.ahead, .grew), (.inStep, .changed), (.ahead, .changed), (.apart, .changed): compare(text())
        }
    }

    /// Ends the preview and drops its copy of the text.
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

    /// Cuts trailing white space off and holds it back.
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
