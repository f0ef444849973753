package import AgentKit
import ConfigurationFile
package import JSONReading
import Vocabulary

/// pi: a child for each chat, over its standard input and output (pi.md).
package struct PiPlugin: AgentPlugin {
    package init() {}

    package var kind: AgentKind { AgentKind(rawValue: "pi") }
    package var name: String { "pi" }

    package func recognises(_ type: String, _ root: FrameNode) -> Bool {
        Self.types.contains(type) && root["sessionId"] == nil
    }

    private static let types: Set = [
        "abort", "agent_end", "agent_settled", "agent_start", "auto_retry_end", "auto_retry_start",
        "extension_ui_request", "extension_ui_response", "follow_up", "get_messages", "get_state", "message_end",
        "message_start", "message_update", "prompt", "response", "steer", "tool_execution_end", "tool_execution_start",
        "tool_execution_update", "turn_end", "turn_start",
    ]

    package func decoder() -> any AgentDecoder { PiDecoder() }

    /// A process has one session, and its frames name none (pi.md#launching).
    package func decoder(ofStream number: Int) -> (any AgentDecoder)? {
        number > 1 ? PiDecoder(AgentSession("pi-\(number)"), runPrefix: "pi-\(number)-run-") : PiDecoder()
    }

    package var keys: [String] { ["command", "directory", "env"] }
    package var variables: [String] { ["PI_COMMAND"] }

    package func settings(_ section: inout AgentSection) -> any AgentValues {
        let form = ValueForm<[String]>.words(atMost: 64, "a program and its arguments, as a list of texts")
        return PiValues(
            command: section.value("command", as: form, variable: "PI_COMMAND", else: ["pi", "--mode", "rpc"]),
            folder: section.optional("directory", as: section.directory),
            environment: section.optional("env", as: .variables) ?? [:])
    }

    package var serviceVariables: [String] { ["PI_COMMAND"] }
    package var isChild: Bool { true }
    package func folder(_ values: any AgentValues) -> String? { (values as? PiValues)?.folder }
    package var isLive: Bool { true }
    package func live(_ settings: AgentSettings, in context: AgentContext) -> (any LiveAgent)? {
        PiAgent(settings, in: context)
    }
}

/// The configuration's values for pi.
package struct PiValues: AgentValues {
    package var command: [String]
    /// Working folder of all processes, or nil if each uses its chat's workspace.
    package var folder: String?
    /// Variables added to the processes' environment.
    package var environment: [String: String]

    package init(command: [String], folder: String? = nil, environment: [String: String] = [:]) {
        self.command = command
        self.folder = folder
        self.environment = environment
    }
}
