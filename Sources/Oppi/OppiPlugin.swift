package import AgentKit
package import BridgeModel
import Configuring
package import JSONReading

/// The Oppi server (oppi.md). This version plays its recordings.
package struct OppiPlugin: AgentPlugin {
    package init() {}

    package var kind: AgentKind { AgentKind(rawValue: "oppi") }
    package var name: String { "Oppi" }

    /// What belongs to a session names it, or has its sequence number; pi's frames, which Oppi's are made of, have neither.
    package func recognises(_ type: String, _ root: FrameNode) -> Bool {
        if Self.typesOfTheStream.contains(type) { return true }
        let isOfSession =
            root["sessionId"]?.string != nil || root["session"]?["id"]?.string != nil || root["seq"] != nil
        return isOfSession && Self.types.contains(type)
    }

    private static let typesOfTheStream: Set = ["stream_connected", "subscribe", "rpc_result"]
    private static let types: Set = [
        "abort", "agent_end", "agent_start", "command_result", "connected", "error", "follow_up", "message_end",
        "permission_request", "prompt", "queue_item_started", "queue_state", "retry_end", "retry_start",
        "session_ended", "state", "steer", "stop", "stop_confirmed", "stop_requested", "text_delta", "thinking_delta",
        "tool_end", "tool_output", "tool_start", "turn_ack", "turn_end", "turn_start",
    ]

    package func decoder() -> any AgentDecoder { OppiDecoder() }

    package var keys: [String] { ["url", "token", "ca_file", "workspace"] }
    package var variables: [String] { ["OPPI_URL", "OPPI_TOKEN", "OPPI_WORKSPACE"] }

    package func settings(_ section: inout AgentSection) -> any AgentValues {
        var values = OppiValues()
        values.address = section.value(
            "url", as: section.address([.https, .http]), variable: "OPPI_URL", else: values.address)
        values.token = section.optional("token", as: .token, variable: "OPPI_TOKEN")
        values.authorityFile = section.optional("ca_file", as: section.certificates)
        values.workspace = section.optional("workspace", as: .label, variable: "OPPI_WORKSPACE")
        return values
    }

    package var serviceVariables: [String] { [] }
    package var isChild: Bool { false }
    package var isLive: Bool { false }
    package func live(_ settings: AgentSettings, in context: AgentContext) -> (any LiveAgent)? { nil }
}

/// What the configuration says of an Oppi server.
package struct OppiValues: AgentValues {
    package var address = WebAddress(.http, "127.0.0.1", 7749)
    package var token: Secret?
    package var authorityFile: String?
    /// Nil: the only one there is.
    package var workspace: String?
}
