import AgentKit
import JSONReading
import Vocabulary

/// Events of a tool call (pi.md#tools).
enum PiTools {
    static func start(_ root: FrameNode, as call: ToolCallID) -> ToolStart {
        let name = root["toolName"]?.string ?? "tool"
        return ToolStart(
            call: call, name: name, title: ToolLabel.make(name: name, arguments: root["args"]),
            arguments: root["args"]?.compact, file: ToolFile.of(name, root["args"]))
    }

    static func progress(_ root: FrameNode, of call: ToolCallID) -> ToolProgress {
        ToolProgress(call: call, output: root["partialResult"]?["content"]?.contentText)
    }

    static func result(_ root: FrameNode, of call: ToolCallID) -> ToolResult {
        let failed = root["isError"]?.flag == true
        let text = root["result"]?["content"]?.contentText
        return ToolResult(
            call: call, name: root["toolName"]?.string, status: failed ? .failed : .completed,
            result: ToolLabel.result(root["result"]), error: failed ? text : nil)
    }
}
