import Vocabulary

/// The tool calls of one session that have begun and not ended.
///
/// Head repeats a call while the model writes its arguments; the call runs only after the message that contains it has
/// ended, or at its first output (oppi.md#tool-calls). Until then it is *written*: it is reported, with its last arguments,
/// when it runs. A card thus neither shows half a command nor precedes the text that led to it.
struct OppiCalls {
    /// Calls beyond this number are reported at once and not tracked.
    private static let limit = 1_000
    private var open: [ToolStart] = []
    private var written: [ToolStart] = []

    var isEmpty: Bool { open.isEmpty }

    /// The call, if it is to be reported now.
    mutating func started(_ start: ToolStart, isStillWritten: Bool) -> ToolStart? {
        guard !open.contains(where: { $0.call == start.call }) else { return nil }
        guard isStillWritten, written.count < Self.limit else {
            remember(start)
            return start
        }
        if let at = written.firstIndex(where: { $0.call == start.call }) {
            written[at] = start
        } else {
            written.append(start)
        }
        return nil
    }

    func isWritten(_ call: ToolCallID) -> Bool { written.contains { $0.call == call } }

    /// The message is complete: all its calls run.
    mutating func messageEnded() -> [ToolStart] {
        defer { written = [] }
        for start in written { remember(start) }
        return written
    }

    mutating func dropWritten() { written = [] }

    /// A frame shows that the call runs. Returns the call if it was not reported yet.
    mutating func runs(_ call: ToolCallID) -> ToolStart? {
        guard let at = written.firstIndex(where: { $0.call == call }) else { return nil }
        let start = written.remove(at: at)
        remember(start)
        return start
    }

    mutating func ended(_ call: ToolCallID) { open.removeAll { $0.call == call } }

    /// The call that a permission is about. A permission names none, so this is the
    /// newest open call of the tool with equal input (oppi.md#permissions).
    func asked(tool: String, input: JSONText?) -> ToolCallID? {
        open.last { $0.name == tool && $0.arguments == input }?.call
    }

    // MARK: Calls without an id

    private static let namelessPrefix = "nameless-"

    /// A name for the call, from the `seq` of its first frame.
    static func nameless(_ sequence: Int) -> ToolCallID { ToolCallID("\(namelessPrefix)\(sequence)") }

    /// The oldest open call without an id, of this tool or, if `tool` is nil, of any.
    func oldestNameless(of tool: String?) -> ToolCallID? {
        (open + written).first { $0.call.text.hasPrefix(Self.namelessPrefix) && (tool == nil || $0.name == tool) }?.call
    }

    private mutating func remember(_ start: ToolStart) {
        if open.count < Self.limit { open.append(start) }
    }
}
