import Vocabulary

/// The tool cards of one turn: one card a call, however many channels report it.
///
/// States of a call: `open` (created), open and `waiting` (its result is an approval away), `finished`.
///
/// Invariants:
/// - A task is created once and finished once; what was created is finished before the turn's end (`finishAll`).
/// - Progress of a call that is not open goes nowhere, and neither does a repetition. An end without a start creates nothing: its call was
///   either seen and finished, or began out of sight.
/// - An `item` of kind tool that ends says only that the call returned: while a `command` item of the same call is open, that one decides
///   (openclaw.md#agent).
struct ToolLedger: Sendable, Hashable {
    static let payloadLimit = 100_000
    /// Bytes of running output on a card, which shows its end.
    static let progressLimit = 16_000
    static let labelLimit = 200
    static let taskLimit = 256
    /// More calls than this in one turn get no cards; their text still counts.
    static let callLimit = 2_000

    struct Call: Hashable {
        var task: TaskID
        var name: String
        /// The best known title: a command's title is made for people.
        var label: String?
        var shownLabel: String?
        /// Nil if a record of an earlier version does not say.
        var began: Instant?
        /// Not stored: the card shows what was sent, and its end replaces it.
        var output = ""
        /// The richest channel that reported output: two channels report the same output, and this one is believed.
        var outputChannel: ToolChannel?
        var percent: Int?
        var commandOpen = false
        var approval: ApprovalID?
        /// An end that waits for a channel that knows more.
        var held: ToolResult?
        var finished = false
    }

    var calls: [ToolCallID: Call] = [:]
    /// Open calls in the order they began, so that they are finished in that order.
    var open: [ToolCallID] = []

    var hasOpen: Bool { !open.isEmpty }
    var tasks: [TaskID] { calls.values.map(\.task) }

    /// Calls at work that do not wait for a person.
    var running: Set<ToolCallID> { Set(open.filter { calls[$0]?.approval == nil }) }
    var newestRunning: Call? { open.last { calls[$0]?.approval == nil }.flatMap { calls[$0] } }

    mutating func started(_ start: ToolStart, at now: Instant? = nil) -> Post? {
        guard calls[start.call] == nil else {
            startedAgain(start)
            return nil
        }
        guard calls.count < Self.callLimit else { return nil }
        let task = TaskID(Self.shortened(start.call.text))
        let label = Self.label(start.title ?? start.name)
        calls[start.call] = Call(
            task: task, name: start.name, label: label, shownLabel: label, began: now,
            commandOpen: start.channel == .command)
        open.append(start.call)
        return .taskStarted(
            TaskStart(
                task: task, kind: start.name.isEmpty ? "tool" : start.name, label: label,
                arguments: start.arguments.map(Self.cut)))
    }

    /// Another channel, or a repetition. A better title is not worth a post of its own: it goes with the next one.
    private mutating func startedAgain(_ start: ToolStart) {
        guard calls[start.call]?.finished == false, start.channel == .command else { return }
        calls[start.call]?.commandOpen = true
        if let label = start.title.flatMap(Self.label) { calls[start.call]?.label = label }
    }

    mutating func progressed(_ progress: ToolProgress) -> Post? {
        guard var call = calls[progress.call], !call.finished else { return nil }
        if progress.channel == .command || !call.commandOpen, let label = progress.title.flatMap(Self.label) {
            call.label = label
        }
        let hasOutput = call.take(progress)
        let percent = progress.percent.map { min(max($0, 0), 100) }
        let isNews = hasOutput || call.label != call.shownLabel || (percent != nil && percent != call.percent)
        let label = call.label == call.shownLabel ? nil : call.label
        call.shownLabel = call.label
        call.percent = percent ?? call.percent
        calls[progress.call] = call
        guard isNews else { return nil }
        let output = call.output.isEmpty ? nil : JSONText.string(call.output)
        return .taskProgress(TaskProgress(task: call.task, label: label, percent: percent, partialResult: output))
    }

    /// Nil if the call never began, has finished, or waits for an approval or for a richer channel.
    mutating func finished(_ result: ToolResult) -> Post? {
        guard let call = calls[result.call] else { return nil }
        if call.finished { return nil }
        if call.approval != nil { return nil }
        if result.channel == .item, call.commandOpen {
            var held = result
            held.result = held.result.map(Self.cut)
            held.error = held.error.map { TextCut.marked($0, atMost: 4_000) }
            calls[result.call]?.held = held
            return nil
        }
        close(result.call)
        return Self.end(call, result)
    }

    /// The relay could not make the card: nothing more goes to it.
    mutating func drop(_ task: TaskID) {
        for (id, call) in calls where call.task == task { close(id) }
    }

    func knows(_ call: ToolCallID) -> Bool { calls[call] != nil }

    func openCall(of task: TaskID) -> ToolCallID? { open.first { calls[$0]?.task == task } }

    /// Ends the card, whatever its call still brings. Nil if the card had ended before.
    mutating func cancel(_ task: TaskID, error: String?) -> (name: String, end: Post)? {
        guard let id = openCall(of: task), let call = calls[id] else { return nil }
        close(id)
        let end = TaskEnd(task: call.task, name: call.name, status: .cancelled, label: call.label, error: error)
        return (call.name, .taskEnded(end))
    }

    mutating func paused(_ call: ToolCallID, for approval: ApprovalID) {
        guard calls[call]?.finished == false else { return }
        calls[call]?.approval = approval
    }

    /// Finishes the calls that waited for the approval, now that it is settled.
    mutating func approvalSettled(_ approval: ApprovalID, status: ToolResult.Status, label: String?) -> [Post] {
        finish(open.filter { calls[$0]?.approval == approval }, status: status, label: label)
    }

    /// The attempt failed and another has begun: calls of the failed one bring no more results.
    mutating func attemptFailed() -> [Post] {
        finish(open.filter { calls[$0]?.approval == nil }, status: .failed, label: nil)
    }

    mutating func finishAll(status: ToolResult.Status, label: String? = nil) -> [Post] {
        finish(open, status: status, label: label)
    }

    private mutating func finish(_ ids: [ToolCallID], status: ToolResult.Status, label: String?) -> [Post] {
        ids.compactMap { id in
            guard let call = calls[id] else { return nil }
            close(id)
            if let held = call.held, call.approval == nil, status != .cancelled, label == nil {
                return Self.end(call, held)
            }
            return .taskEnded(TaskEnd(task: call.task, name: call.name, status: status, label: label))
        }
    }

    private mutating func close(_ id: ToolCallID) {
        calls[id] = .finished(id, name: calls[id]?.name ?? "")
        open.removeAll { $0 == id }
    }

    /// The channel that ended earlier fills in what the ending channel leaves out.
    private static func end(_ call: Call, _ result: ToolResult) -> Post {
        let error = result.error ?? (result.status == .failed ? call.held?.error : nil)
        let unshown = call.label == call.shownLabel ? nil : call.label
        let title = result.title ?? call.held?.title ?? unshown
        return .taskEnded(
            TaskEnd(
                task: call.task, name: result.name ?? call.name, status: result.status,
                label: title.flatMap(label),
                error: error.map { TextCut.marked($0, atMost: 4_000) },
                result: (whole(result, of: call) ?? call.held?.result).map(cut)))
    }

    /// Puts the output into an end that does not repeat it: progress may be dropped on its way, an end is not.
    private static func whole(_ result: ToolResult, of call: Call) -> JSONText? {
        guard result.lacksOutput, !call.output.isEmpty else { return result.result }
        let output = JSONText.string(call.output)
        guard let details = result.result else { return output }
        return JSONText(unchecked: #"{"output":\#(output.text),"details":\#(details.text)}"#)
    }

    private static func label(_ text: String) -> String? {
        text.isEmpty ? nil : TextCut.marked(text, atMost: labelLimit)
    }

    /// JSON that is too long becomes a JSON string of its beginning: cut JSON would be invalid.
    private static func cut(_ json: JSONText) -> JSONText {
        guard json.text.utf8.count > payloadLimit else { return json }
        // Escaping may double it.
        return .string(TextCut.marked(json.text, atMost: payloadLimit / 2 - 16))
    }

    /// A provider's id may be long (oppi.md#tool-calls); the relay takes 256 characters (relay.md#size-limits).
    fileprivate static func shortened(_ id: String) -> String {
        guard id.unicodeScalars.count > taskLimit else { return id }
        return "\(StableHash.text(of: id))-\(String(String.UnicodeScalarView(id.unicodeScalars.suffix(200))))"
    }
}

extension ToolLedger.Call {
    /// All that a finished call keeps.
    static func finished(_ id: ToolCallID, name: String = "") -> Self {
        var call = Self(task: TaskID(ToolLedger.shortened(id.text)), name: name)
        call.finished = true
        return call
    }

    /// Whether the output has changed.
    fileprivate mutating func take(_ progress: ToolProgress) -> Bool {
        guard let output = progress.output, progress.channel <= outputChannel ?? progress.channel else { return false }
        let continues = progress.append && outputChannel == progress.channel
        outputChannel = progress.channel
        let shown = Self.tail(of: continues ? self.output + output : output)
        defer { self.output = shown }
        return shown != self.output
    }

    /// The end of the output: a person wants that part of a long one.
    private static func tail(of output: String) -> String {
        guard output.utf8.count > ToolLedger.progressLimit else { return output }
        let mark = "(cut) …"
        let start = output.utf8.index(output.endIndex, offsetBy: mark.utf8.count - ToolLedger.progressLimit)
        let scalars = output.unicodeScalars
        var cut = start
        while cut < output.endIndex, cut.samePosition(in: scalars) == nil { cut = output.utf8.index(after: cut) }
        return mark + output[cut...]
    }
}
