import AgentKit
import JSONReading
import Vocabulary

@testable import Claude

/// Lines of `claude -p` (claude-code.md#frames).
enum ClaudeSays {
    private static let tail = #""session_id":"s-1","uuid":"f-1""#

    static func fate(_ uuid: String, _ state: String, _ more: String = "") -> String {
        #"{"type":"command_lifecycle","command_uuid":"\#(uuid)","state":"\#(state)",\#(tail)\#(more)}"#
    }
    static func initial(_ uuid: String = "i-1", session: String = "s-1") -> String {
        #"{"type":"system","subtype":"init","session_id":"\#(session)","uuid":"\#(uuid)","model":"m-1","permissionMode":"default"}"#
    }
    static func system(_ subtype: String, _ more: String) -> String {
        #"{"type":"system","subtype":"\#(subtype)",\#(more),\#(tail)}"#
    }
    static func event(_ event: String, parent: String = "null") -> String {
        #"{"type":"stream_event","event":\#(event),"parent_tool_use_id":\#(parent),\#(tail)}"#
    }
    static func starts(_ message: String) -> String {
        event(#"{"type":"message_start","message":{"id":"\#(message)"}}"#)
    }
    static func delta(_ text: String) -> String {
        event(#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\#(text)"}}"#)
    }
    static let stops = event(#"{"type":"message_stop"}"#)
    static func block(_ block: String, _ message: String = "m1", parent: String = "null", more: String = "") -> String {
        #"{"type":"assistant","message":{"id":"\#(message)","model":"m-1","content":[\#(block)]},"parent_tool_use_id":\#(parent),\#(tail)\#(more)}"#
    }
    static func said(_ text: String, _ message: String = "m1", parent: String = "null") -> String {
        block(#"{"type":"text","text":"\#(text)"}"#, message, parent: parent)
    }
    static func calls(_ name: String, _ input: String, id: String = "t1", parent: String = "null") -> String {
        block(#"{"type":"tool_use","id":"\#(id)","name":"\#(name)","input":\#(input)}"#, parent: parent)
    }
    static func returns(
        _ content: String, id: String = "t1", error: Bool = false, meta: String = "", parent: String = "null"
    ) -> String {
        #"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"\#(id)","content":"\#(content)","is_error":\#(error)}]},"parent_tool_use_id":\#(parent),"tool_result_meta":[{"id":"\#(id)"\#(meta)}],\#(tail)}"#
    }
    static func nudge(_ text: String, _ more: String = "") -> String {
        #"{"type":"user","message":{"role":"user","content":[{"type":"text","text":"\#(text)"}]},"parent_tool_use_id":null,"isSynthetic":true,\#(tail)\#(more)}"#
    }
    static func result(_ more: String = "", _ subtype: String = "success", isError: Bool = false) -> String {
        #"{"subtype":"\#(subtype)","is_error":\#(isError),"type":"result",\#(tail)\#(more.isEmpty ? "" : "," + more)}"#
    }
    static let done = result(#""terminal_reason":"completed","stop_reason":"end_turn""#)
    static func asks(
        _ tool: String, _ input: String, id: String = "r1", call: String = "t1", _ more: String = ""
    ) -> String {
        #"{"type":"control_request","request_id":"\#(id)","request":{"subtype":"can_use_tool","tool_name":"\#(tool)","display_name":"\#(tool)","input":\#(input),"tool_use_id":"\#(call)"\#(more)}}"#
    }
    static func prompt(_ uuid: String, _ text: String) -> String {
        #"{"type":"user","uuid":"\#(uuid)","message":{"role":"user","content":"\#(text)"},"parent_tool_use_id":null,"session_id":""}"#
    }
}

/// The decoder of a live process.
struct ClaudeTalk {
    var decoder = ClaudeDecoder(AgentSession("claude"), runPrefix: "claude-")
    var now = Instant.zero

    mutating func hears(_ lines: String...) -> [String] {
        lines.flatMap { line in
            let bytes = Array(line.utf8)
            return bytes.withUnsafeBytes { decoder.received($0, capacity: $0.count, at: now) }
                .map(ObservationText.line)
        }
    }

    /// Hands over a prompt, up to the run's beginning.
    mutating func begins(_ run: String = "run", _ uuid: String = "u1") -> [String] {
        decoder.willBegin(RunID(run), uuid: uuid)
        return hears(ClaudeSays.fate(uuid, "queued"), ClaudeSays.fate(uuid, "started"), ClaudeSays.initial())
    }
}

/// Parses a frame, which lives as long as the body runs.
func withFrame<Result>(_ text: String, _ body: (FrameNode, UnsafeRawBufferPointer) throws -> Result) throws -> Result {
    let parser = FrameParser()
    let bytes = Array(text.utf8)
    return try bytes.withUnsafeBytes { buffer in
        guard let root = parser.parse(buffer, capacity: buffer.count) else { throw NoFrame(text: text) }
        return try body(root, buffer)
    }
}

struct NoFrame: Error { var text: String }
