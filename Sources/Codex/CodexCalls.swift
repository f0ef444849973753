import AgentKit
import BridgeModel
import JSONReading

/// What a patch does, as its item says it.
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

/// The tool calls of one turn: items that begin, go on and end (codex.md#items), with those of its sub-agents.
///
/// - Not every call has a beginning of its own: one that is first seen at its end has begun then.
/// - Not every call has an end: what is open at the turn's end is finished by it.
struct CodexCalls {
    private struct Call {
        var name: String
        var title: String
        /// Of a file change: its approval has none.
        var change: CodexChange?
    }

    /// As many as a turn may have cards for.
    private static let limit = 2_000

    private var open: [ToolCallID: Call] = [:]
    private var order: [ToolCallID] = []
    private var seen: Set<ToolCallID> = []

    /// Open calls, in the order in which they began.
    var openCalls: [ToolCallID] { order }
    func change(of item: String) -> CodexChange? { open[ToolCallID(item)]?.change }

    /// A patch that the model still writes has begun already.
    mutating func patched(_ params: FrameNode) {
        guard let id = params["itemId"]?.string.map({ ToolCallID($0) }), let change = CodexChange(params) else {
            return
        }
        if open[id] != nil { open[id]?.change = change }
    }

    /// `agent`: the sub-agent that calls.
    mutating func began(_ item: FrameNode, of agent: String?) -> [ToolEvent] {
        guard let (id, call, arguments) = Self.call(item, of: agent) else { return [] }
        // What is asked about it is asked about the newest.
        if call.change != nil { open[id]?.change = call.change }
        return begin(id, call, arguments)
    }

    private mutating func begin(_ id: ToolCallID, _ call: Call, _ arguments: JSONText?) -> [ToolEvent] {
        guard seen.count < Self.limit, seen.insert(id).inserted else { return [] }
        open[id] = call
        order.append(id)
        return [.started(ToolStart(call: id, name: call.name, title: call.title, arguments: arguments))]
    }

    mutating func ended(_ item: FrameNode, of agent: String?) -> [ToolEvent] {
        guard let (id, call, arguments) = Self.call(item, of: agent) else { return [] }
        let began = begin(id, call, arguments)
        guard open[id] != nil else { return began }
        close(id)
        return began + [.finished(Self.result(of: id, call, item))]
    }

    func progressed(_ id: String?, _ output: String) -> [ToolEvent] {
        guard let call = id.map({ ToolCallID($0) }), open[call] != nil, !output.isEmpty else { return [] }
        return [.progress(ToolProgress(call: call, output: output, append: true))]
    }

    /// A sub-agent is one call, from its start to its end, which are items with ids of their own (codex.md#sub-agents).
    mutating func agent(_ thread: String, _ item: FrameNode) -> [ToolEvent] {
        let id = ToolCallID("agent-\(thread)")
        switch item["kind"]?.string {
        case "started":
            return begin(id, Call(name: "agent", title: "Agent \(CodexWords.agent(item))"), nil)
        case "completed", "interrupted":
            guard open[id] != nil else { return [] }
            close(id)
            let isDone = item["kind"]?.holds("completed") == true
            return [.finished(ToolResult(call: id, name: "agent", status: isDone ? .completed : .cancelled))]
        default: return []
        }
    }

    /// The turn is over.
    mutating func finishAll(isInterrupted: Bool) -> [ToolEvent] {
        defer { (open, order) = ([:], []) }
        return order.compactMap { id in
            guard let call = open[id] else { return nil }
            let title = isInterrupted ? nil : "\(call.title) (continues in the background)"
            return .finished(
                ToolResult(
                    call: id, name: call.name, status: isInterrupted ? .cancelled : .completed, title: title))
        }
    }

    private mutating func close(_ id: ToolCallID) {
        open[id] = nil
        order.removeAll { $0 == id }
    }

    // MARK: Items

    private static func call(_ item: FrameNode, of agent: String?) -> (ToolCallID, Call, JSONText?)? {
        guard let id = item["id"]?.string, var call = name(item) else { return nil }
        if let agent { call.title = "agent \(agent): \(call.title)" }
        return (ToolCallID(id), call, arguments(item))
    }

    private static func name(_ item: FrameNode) -> Call? {
        switch item["type"]?.string {
        case "commandExecution":
            let title = CodexShell.title(of: CodexWords.command(item) ?? "")
            return Call(name: "shell", title: CodexWords.short(title))
        case "fileChange":
            return Call(name: "apply_patch", title: CodexWords.changes(item), change: CodexChange(item))
        case "mcpToolCall", "dynamicToolCall":
            let place = item["server"]?.string ?? item["namespace"]?.string
            let tool = item["tool"]?.string ?? "tool"
            let name = place.map { "\($0).\(tool)" } ?? tool
            return Call(name: name, title: ToolLabel.make(name: name, arguments: item["arguments"]))
        case "webSearch":
            return Call(name: "web_search", title: "Search: \(CodexWords.short(item["query"]?.string ?? "the web"))")
        case "imageView":
            return Call(name: "view_image", title: "View \(CodexWords.fileName(item["path"]?.string ?? "an image"))")
        case "imageGeneration": return Call(name: "image_generation", title: "Make an image")
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

    private static func result(of id: ToolCallID, _ call: Call, _ item: FrameNode) -> ToolResult {
        var result = ToolResult(call: id, name: call.name, status: .completed)
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
