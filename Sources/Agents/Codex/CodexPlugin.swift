package import AgentKit
import ConfigurationFile
package import JSONReading
package import Vocabulary

/// OpenAI Codex through its app-server (codex.md): the bridge's own server, which outlives the bridge, or a configured one.
package struct CodexPlugin: AgentPlugin {
    package init() {}

    package var kind: AgentKind { AgentKind(rawValue: "codex") }
    package var name: String { "Codex" }

    /// Recognises JSON-RPC without a type and without the member `jsonrpc` of other agents.
    package func recognises(_ type: String, _ root: FrameNode) -> Bool {
        guard type.isEmpty, root["jsonrpc"] == nil, let method = root["method"]?.string else { return false }
        return CodexNames.isKnown(method)
    }

    package func decoder() -> any AgentDecoder { CodexDecoder() }

    package var keys: [String] {
        ["command", "url", "token", "listener", "directory", "env", "sandbox", "approval_policy"]
    }
    package var variables: [String] { ["CODEX_COMMAND", "CODEX_URL", "CODEX_TOKEN"] }
    package var secretVariables: [String] { ["CODEX_TOKEN"] }

    package func settings(_ section: inout AgentSection) -> any AgentValues {
        var values = CodexValues()
        let words = ValueForm<[String]>.words(atMost: 64, "a program and its arguments, as a list of texts")
        values.command = section.value("command", as: words, variable: "CODEX_COMMAND", else: values.command)
        let address = ValueForm<CodexAddress>.codex(section.address([.ws, .wss]))
        values.address = section.optional("url", as: address, variable: "CODEX_URL")
        values.token = section.optional("token", as: .token, variable: "CODEX_TOKEN")
        values.listener = section.value("listener", as: ListenerForm.form, else: values.listener)
        values.folder = section.optional("directory", as: section.directory)
        values.environment = section.optional("env", as: .variables) ?? [:]
        values.sandbox = section.value(
            "sandbox", as: .word(of: ["read-only", "workspace-write", "danger-full-access"]), else: values.sandbox)
        values.approvalPolicy = section.value(
            "approval_policy", as: .word(of: ["untrusted", "on-request", "never"]), else: values.approvalPolicy)
        return values
    }

    package func folder(_ values: any AgentValues) -> String? { (values as? CodexValues)?.folder }

    package var serviceVariables: [String] { ["CODEX_COMMAND", "CODEX_URL", "CODEX_HOME"] }
    package var isChild: Bool { true }
    package var isLive: Bool { true }
    package func live(_ settings: AgentSettings, in context: AgentContext) -> (any LiveAgent)? {
        CodexAgent(settings, in: context)
    }
}

/// Address of a server that the bridge joins.
package enum CodexAddress: Hashable, Sendable, CustomStringConvertible {
    case socket(path: String)
    case web(WebAddress)

    package var description: String {
        switch self {
        case .socket(let path): "unix://\(path)"
        case .web(let address): address.description
        }
    }
}

extension ValueForm where Value == CodexAddress {
    fileprivate static func codex(_ web: ValueForm<WebAddress>) -> Self {
        Self { content throws(Complaint) in
            if case .string(let text) = content, text.hasPrefix("unix://") {
                let path = String(text.dropFirst("unix://".count))
                guard path.hasPrefix("/"), !path.utf8.contains(0) else {
                    throw Complaint("unix:// and the absolute path of a socket, or ws:// and an address")
                }
                return .socket(path: path)
            }
            return .web(try web.read(content))
        } show: {
            .string($0.description)
        }
    }
}

/// The configuration's values for Codex.
package struct CodexValues: AgentValues {
    var command = ["codex"]
    /// Nil if the bridge starts a server of its own.
    package var address: CodexAddress?
    var token: Secret?
    var listener = ListenerTrust.own
    /// Folder of all chats, or nil if each uses its workspace.
    var folder: String?
    /// Variables added to the server's environment.
    var environment: [String: String] = [:]
    var sandbox = "workspace-write"
    var approvalPolicy = "on-request"

    package init() {}
}
