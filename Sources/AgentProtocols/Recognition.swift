import JSONReading

/// Which agent a recording comes from, by its frames alone.
///
/// Only what a frame says on its outermost level counts: the names of these agents' frames are also the words of what others
/// carry, and an agent that is not known must not be read as one that is.
package struct AgentRecognition {
    private let parser = FrameParser()

    package init() {}

    /// Nil: this frame does not tell. `capacity` says how many bytes from its beginning may be read.
    package func agent(of frame: UnsafeRawBufferPointer, capacity: Int) -> AgentKind? {
        guard let root = parser.parse(frame, capacity: capacity), root.isObject, let type = root["type"]?.string else {
            return nil
        }
        if Self.isOpenClaw(type, root) { return .openclaw }
        if Self.isOppi(type, root) { return .oppi }
        return Self.piTypes.contains(type) && root["sessionId"] == nil ? .pi : nil
    }

    /// openclaw.md#frames: requests, responses and events.
    private static func isOpenClaw(_ type: String, _ root: FrameNode) -> Bool {
        switch type {
        case "event": root["event"]?.string != nil
        case "req": root["id"] != nil && root["method"]?.string != nil
        case "res": root["id"] != nil && root["ok"] != nil
        default: false
        }
    }

    /// What belongs to a session names it, or has its sequence number; pi's frames, which Oppi's are made of, have neither.
    private static func isOppi(_ type: String, _ root: FrameNode) -> Bool {
        if oppiTypesOfTheStream.contains(type) { return true }
        let isOfSession =
            root["sessionId"]?.string != nil || root["session"]?["id"]?.string != nil || root["seq"] != nil
        return isOfSession && oppiTypes.contains(type)
    }

    private static let oppiTypesOfTheStream: Set = ["stream_connected", "subscribe", "rpc_result"]
    private static let oppiTypes: Set = [
        "abort", "agent_end", "agent_start", "command_result", "connected", "error", "follow_up", "message_end",
        "permission_request", "prompt", "queue_item_started", "queue_state", "retry_end", "retry_start",
        "session_ended", "state", "steer", "stop", "stop_confirmed", "stop_requested", "text_delta", "thinking_delta",
        "tool_end", "tool_output", "tool_start", "turn_ack", "turn_end", "turn_start",
    ]
    private static let piTypes: Set = [
        "abort", "agent_end", "agent_settled", "agent_start", "auto_retry_end", "auto_retry_start",
        "extension_ui_request", "extension_ui_response", "follow_up", "get_messages", "get_state", "message_end",
        "message_start", "message_update", "prompt", "response", "steer", "tool_execution_end", "tool_execution_start",
        "tool_execution_update", "turn_end", "turn_start",
    ]
}
