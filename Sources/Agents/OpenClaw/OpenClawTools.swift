import AgentKit
import JSONReading
import Vocabulary

/// Frames of the three channels that report a tool call (openclaw.md#agent),
/// including a call that waits for an approval (openclaw.md#approvals).
enum OpenClawTools {
    static func call(_ data: FrameNode) -> [RunEvent] {
        guard let id = data["toolCallId"]?.string else { return [] }
        let call = ToolCallID(id)
        let name = data["name"]?.string ?? "tool"
        switch data["phase"]?.string {
        case "start":
            let arguments = data["args"]
            return [
                .tool(
                    .started(
                        ToolStart(
                            call: call, name: name, title: ToolLabel.make(name: name, arguments: arguments),
                            arguments: arguments?.compact, file: ToolFile.of(name, arguments))))
            ]
        case "update":
            let output = (data["partialResult"]?["content"] ?? data["partialResult"])?.contentText
            return [.tool(.progress(ToolProgress(call: call, output: output)))]
        case "result":
            let details = data["result"]?["details"]
            if details?["status"]?.holds("approval-pending") == true, let approval = details?["approvalId"]?.string {
                return [.paused(PausedCall(call: call, approval: ApprovalID(approval)))]
            }
            let failed = data["isError"]?.flag == true
            let result = ToolLabel.result(data["result"])
            let error = failed ? data["result"]?["content"]?.contentText ?? "failed" : nil
            return [
                .tool(
                    .finished(
                        ToolResult(
                            call: call, name: name, status: failed ? .failed : .completed, result: result, error: error)
                    ))
            ]
        default: return []
        }
    }

    static func item(_ data: FrameNode) -> [RunEvent] {
        guard let id = data["toolCallId"]?.string, let channel = channel(data["kind"]) else { return [] }
        let call = ToolCallID(id)
        let title = data["title"]?.string
        switch data["phase"]?.string {
        case "start":
            return [
                .tool(
                    .started(
                        ToolStart(call: call, channel: channel, name: data["name"]?.string ?? "tool", title: title)))
            ]
        case "update":
            return [
                .tool(
                    .progress(
                        ToolProgress(call: call, channel: channel, title: title, output: data["progressText"]?.string)))
            ]
        case "end":
            if data["status"]?.holds("blocked") == true {
                return (data["approvalId"]?.string).map { [.paused(PausedCall(call: call, approval: ApprovalID($0)))] }
                    ?? []
            }
            let failed = data["status"]?.holds("failed") == true
            return [
                .tool(
                    .finished(
                        ToolResult(
                            call: call, channel: channel, name: data["name"]?.string,
                            status: failed ? .failed : .completed, title: title,
                            result: data["summary"]?.string.map { .string($0) }, error: data["error"]?.string)))
            ]
        default: return []
        }
    }

    static func output(_ data: FrameNode) -> [RunEvent] {
        guard data["phase"]?.holds("delta") == true, let id = data["toolCallId"]?.string,
            let output = data["output"]?.string
        else { return [] }
        return [.tool(.progress(ToolProgress(call: ToolCallID(id), channel: .command, output: output)))]
    }

    /// Files that a patch changed. The call's arguments name them only in the patch's own language (openclaw.md#agent).
    static func patch(_ data: FrameNode) -> [RunEvent] {
        guard data["phase"]?.holds("end") == true, let id = data["toolCallId"]?.string else { return [] }
        var progress = ToolProgress(call: ToolCallID(id), channel: .command)
        progress.files = files(.write, data["added"]) + files(.edit, data["modified"])
        return progress.files.isEmpty ? [] : [.tool(.progress(progress))]
    }

    private static func files(_ use: ToolFile.Use, _ paths: FrameNode?) -> [ToolFile] {
        (paths?.elements ?? []).prefix(100).compactMap { $0.string.flatMap { ToolFile.named(use, $0) } }
    }

    private static func channel(_ kind: FrameNode?) -> ToolChannel? {
        switch kind?.string {
        case "tool": .item
        case "command", "patch": .command
        default: nil
        }
    }
}
