import AgentKit
import JSONReading
import Vocabulary

/// Events of a tool call (claude-code.md#tools).
enum ClaudeTools {
    static func start(_ block: FrameNode, as id: String) -> ToolStart {
        let name = block["name"]?.string ?? "tool"
        let input = block["input"]
        return ToolStart(
            call: ToolCallID(id), name: name, title: ToolLabel.make(name: name, arguments: input),
            arguments: input?.compact, file: file(name, input))
    }

    private static func file(_ name: String, _ input: FrameNode?) -> ToolFile? {
        if name == "NotebookEdit", let path = input?["notebook_path"]?.string { return ToolFile.named(.edit, path) }
        return ToolFile.of(name, input)
    }

    /// `meta`: facts of the frame beside the results, by their ids.
    static func result(_ block: FrameNode, of id: String, name: String?, meta: FrameNode?) -> ToolResult {
        let failed = block["is_error"]?.flag == true
        let isRejected = meta?["non_execution_kind"]?.holds("user-rejected") == true
        let text = block["content"]?.contentText
        return ToolResult(
            call: ToolCallID(id), name: name, status: isRejected ? .cancelled : failed ? .failed : .completed,
            result: ToolLabel.result(block["content"] ?? block), error: failed ? text : nil)
    }

    /// Progress of a helper, whose present work replaces the title.
    static func progress(_ title: String, of id: String) -> ToolProgress {
        ToolProgress(call: ToolCallID(id), title: title)
    }
}
