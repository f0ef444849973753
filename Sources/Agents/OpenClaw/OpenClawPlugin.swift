package import AgentKit
import ConfigurationFile
package import JSONReading
package import Vocabulary

/// OpenClaw: a gateway behind one WebSocket (openclaw.md).
package struct OpenClawPlugin: AgentPlugin {
    package init() {}

    package var kind: AgentKind { AgentKind(rawValue: "openclaw") }
    package var name: String { "OpenClaw" }

    /// Requests, responses and events (openclaw.md#frames).
    package func recognises(_ type: String, _ root: FrameNode) -> Bool {
        switch type {
        case "event": root["event"]?.string != nil
        case "req": root["id"] != nil && root["method"]?.string != nil
        case "res": root["id"] != nil && root["ok"] != nil
        default: false
        }
    }

    package func decoder() -> any AgentDecoder { OpenClawDecoder() }

    package var keys: [String] { ["url", "token", "ca_file", "listener", "state_dir", "admin"] }
    package var variables: [String] { ["OPENCLAW_URL", "OPENCLAW_TOKEN"] }
    package var secretVariables: [String] { ["OPENCLAW_TOKEN"] }

    package func settings(_ section: inout AgentSection) -> any AgentValues {
        var values = OpenClawValues()
        values.address = section.value(
            "url", as: section.address([.wss, .ws]), variable: "OPENCLAW_URL", else: values.address)
        values.token = section.optional("token", as: .token, variable: "OPENCLAW_TOKEN")
        values.authorityFile = section.optional("ca_file", as: section.certificates)
        values.listener = section.value("listener", as: ListenerForm.form, else: values.listener)
        // OpenClaw keeps one state directory on a machine, so one variable serves several connections.
        values.stateDirectory = section.value(
            "state_dir", as: section.directory.optional, shared: "OPENCLAW_STATE_DIR", else: section.home(".openclaw"))
        values.isAdmin = section.value("admin", as: .bool, else: false)
        return values
    }

    package var serviceVariables: [String] { ["OPENCLAW_URL", "OPENCLAW_STATE_DIR"] }
    package var isChild: Bool { false }
    package var isLive: Bool { true }
    package func live(_ settings: AgentSettings, in context: AgentContext) -> (any LiveAgent)? {
        OpenClawAgent(settings, in: context)
    }
}

/// Configuration of one OpenClaw gateway.
package struct OpenClawValues: AgentValues {
    package var address = WebAddress(.ws, "127.0.0.1", 18789)
    /// The configured token, or nil if OpenClaw's own files may supply one.
    package var token: Secret?
    package var authorityFile: String?
    package var listener = ListenerTrust.own
    /// The directory of OpenClaw's own files, or nil if no home directory is known.
    package var stateDirectory: String?
    /// Requests `operator.admin`, which gateways demand for edits of schedules, and
    /// early ones for the choice of a model (openclaw.md#scopes).
    package var isAdmin = false

    package init() {}
}
