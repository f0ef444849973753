import AgentKit
import JSONReading
import Vocabulary

/// Contents of a patch, read from its item.
struct CodexChange {
    var diff: String
    var paths: [String]
    /// Verb and path of each file.
    var heads: [String]

    init?(_ item: FrameNode) {
        guard let changes = item["changes"]?.elements, !changes.isEmpty else { return nil }
        diff = CodexWords.diff(item)
        paths = CodexWords.paths(item)
        heads = CodexWords.heads(item)
    }
}

/// Address of an item: another turn, or a sub-agent's thread, may use the same item id.
struct CodexPlaceOfItem: Hashable {
    /// Thread of the sub-agent, or nil for the chat's own thread.
    var child: String?
    var turn: String
    var item: String
}

/// The tool calls of one turn and of its sub-agents: items that begin, progress and end (codex.md#items).
///
/// - Some calls have no beginning of their own: one that is first seen at its end begins there.
/// - Some calls have no end: the turn's end finishes every open call.
struct CodexCalls {
    typealias Place = CodexPlaceOfItem

    private struct Call {
        var id: ToolCallID
        var name: String
        var title: String
        /// Diff of a file change, whose approval has none.
        var change: CodexChange?
    }

    /// Tool cards of one turn at most.
    private static let limit = 2_000

    private var open: [Place: Call] = [:]
    private var order: [Place] = []
    private var seen: [Place: ToolCallID] = [:]
    private var names: Set<ToolCallID> = []

    /// Items of the open calls, in the order of their beginnings.
    var openItems: [String] { order.map(\.item) }
    func change(of place: Place) -> CodexChange? { open[place]?.change }
    /// Nil if the item was not seen.
    func call(at place: Place) -> ToolCallID? { seen[place] }

    mutating func change(_ body: (inout Self) -> [ToolEvent]) -> [ToolEvent] { body(&self) }

    /// Newer contents of a patch that the model still writes: the call is open already.
    mutating func patched(_ params: FrameNode, at place: Place) {
        guard let change = CodexChange(params) else { return }
        if open[place] != nil { open[place]?.change = change }
    }

    /// `agent`: the sub-agent that makes the call.
    mutating func began(_ item: FrameNode, at place: Place, of agent: String?) -> [ToolEvent] {
        guard let (call, arguments) = call(item, at: place, of: agent) else { return [] }
        // An open approval shows the newest patch.
        if call.change != nil { open[place]?.change = call.change }
        return begin(place, call, arguments)
    }

    private mutating func begin(_ place: Place, _ call: Call, _ arguments: JSONText?) -> [ToolEvent] {
        guard seen.count < Self.limit, seen[place] == nil else { return [] }
        seen[place] = call.id
        names.insert(call.id)
        open[place] = call
        order.append(place)
        return [.started(ToolStart(call: call.id, name: call.name, title: call.title, arguments: arguments))]
    }

    mutating func ended(_ item: FrameNode, at place: Place, of agent: String?) -> [ToolEvent] {
        guard let (call, arguments) = call(item, at: place, of: agent) else { return [] }
        let began = begin(place, call, arguments)
        guard open[place] != nil else { return began }
        close(place)
        return began + [.finished(Self.result(of: call, item))]
    }

    func progressed(_ place: Place?, _ output: String) -> [ToolEvent] {
        guard let call = place.flatMap({ open[$0] }), !output.isEmpty else { return [] }
        return [.progress(ToolProgress(call: call.id, output: output, append: true))]
    }

    /// One call stands for a sub-agent. Its start and its end are items with different ids (codex.md#sub-agents).
    mutating func agent(_ thread: String, _ item: FrameNode) -> [ToolEvent] {
        let id = ToolCallID("agent-\(thread)")
        let place = Place(child: thread, turn: "", item: id.text)
        switch item["kind"]?.string {
        case "started":
            return begin(place, Call(id: id, name: "agent", title: "Agent \(CodexWords.agent(item))"), nil)
        case "completed", "interrupted":
            guard open[place] != nil else { return [] }
            close(place)
            let isDone = item["kind"]?.holds("completed") == true
            return [.finished(ToolResult(call: id, name: "agent", status: isDone ? .completed : .cancelled))]
        default: return []
        }
    }

    /// Finishes the open calls at the turn's end.
    mutating func finishAll(isInterrupted: Bool) -> [ToolEvent] {
        defer { (open, order) = ([:], []) }
        return order.compactMap { place in
            guard let call = open[place] else { return nil }
            let title = isInterrupted ? nil : "\(call.title) (continues in the background)"
            return .finished(
                ToolResult(
                    call: call.id, name: call.name, status: isInterrupted ? .cancelled : .completed, title: title))
        }
    }

    private mutating func close(_ place: Place) {
        open[place] = nil
        order.removeAll { $0 == place }
    }

    // MARK: Items

    private func call(_ item: FrameNode, at place: Place, of agent: String?) -> (Call, JSONText?)? {
        guard var call = Self.call(item, seen[place] ?? name(for: place)) else { return nil }
        if let agent { call.title = "agent \(agent): \(call.title)" }
        return (call, Self.arguments(item))
    }

    /// The item's id, or that with its thread or turn if an earlier call has taken the id.
    private func name(for place: Place) -> ToolCallID {
        let name = ToolCallID(place.item)
        return names.contains(name) ? ToolCallID("\(place.item)@\(place.child ?? place.turn)") : name
    }

    private static func call(_ item: FrameNode, _ id: ToolCallID) -> Call? {
        switch item["type"]?.string {
        case "commandExecution":
            let title = CodexShell.title(of: CodexWords.command(item) ?? "")
            return Call(id: id, name: "shell", title: CodexWords.short(title))
        case "fileChange":
            return Call(id: id, name: "apply_patch", title: CodexWords.changes(item), change: CodexChange(item))
        case "mcpToolCall", "dynamicToolCall":
            let place = item["server"]?.string ?? item["namespace"]?.string
            let tool = item["tool"]?.string ?? "tool"
            let name = place.map { "\($0).\(tool)" } ?? tool
            return Call(id: id, name: name, title: ToolLabel.make(name: name, arguments: item["arguments"]))
        case "webSearch":
            return Call(
                id: id, name: "web_search", title: "Search: \(CodexWords.short(item["query"]?.string ?? "the web"))")
        case "imageView":
            return Call(
                id: id, name: "view_image", title: "View \(CodexWords.fileName(item["path"]?.string ?? "an image"))")
        case "imageGeneration": return Call(id: id, name: "image_generation", title: "Make an image")
        default: return nil
        }
    }

    private static func arguments(_ item: FrameNode) -> JSONText? {
        switch item["type"]?.string {
        case "commandExecution":
            var arguments = JSONObjectWriter()
            arguments.string("command", CodexWords.command(item) ?? "")
            arguments.string("cwd", item["cwd"]?.string)
            return JSONText(unchecked: String(decoding: arguments.finish(), as: UTF8.self))
        case "fileChange": return item["changes"]?.compact
        default: return item["arguments"].flatMap { $0.isObject ? $0.compact : nil }
        }
    }

    /// Absolute paths of the files that exist after a patch (codex.md#items).
    private static func changed(_ item: FrameNode) -> [ToolFile] {
        (item["changes"]?.elements ?? []).prefix(100).compactMap { change in
            let kind = change["kind"]
            guard kind?["type"]?.holds("delete") != true else { return nil }
            let path = kind?["move_path"]?.string ?? change["path"]?.string
            return path.flatMap { ToolFile.named(kind?["type"]?.holds("add") == true ? .write : .edit, $0) }
        }
    }

    private static func result(of call: Call, _ item: FrameNode) -> ToolResult {
        var result = ToolResult(call: call.id, name: call.name, status: .completed)
        switch item["status"]?.string {
        case "failed": result.status = .failed
        case "declined": result.status = .cancelled
        default: break
        }
        switch item["type"]?.string {
        case "commandExecution":
            result.result = item["aggregatedOutput"]?.string.map { .string($0) }
            if result.status == .failed {
                result.error = item["exitCode"]?.integer(in: -1_000_000...1_000_000).map { "exit \($0)" } ?? "failed"
            }
        case "fileChange":
            result.result = .string(CodexWords.diff(item))
            result.files = changed(item)
        default:
            if item["type"]?.holds("imageView") == true {
                result.files = item["path"]?.string.flatMap { ToolFile.named(.read, $0) }.map { [$0] } ?? []
            }
            let content = [item["result"], item["contentItems"]].compactMap(\.self).first { $0.isObject || $0.isArray }
            result.result = ToolLabel.result(content)
            if result.status == .failed { result.error = item["error"]?["message"]?.string ?? "failed" }
        }
        return result
    }
}
