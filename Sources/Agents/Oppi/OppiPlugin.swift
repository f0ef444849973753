package import AgentKit
import ConfigurationFile
package import JSONReading
package import Vocabulary

/// The Oppi server (oppi.md).
package struct OppiPlugin: AgentPlugin {
    package init() {}

    package var kind: AgentKind { AgentKind(rawValue: "oppi") }
    package var name: String { "Oppi" }

    /// Oppi's frames of a session name it or have a `seq`; pi's frames, from which Oppi's derive, have neither.
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

    /// Further frames of the server, in either dialect (oppi.md#server--client-frames).
    private static let typesBeside: Set = [
        "compaction_end", "compaction_start", "extension_ui_notification", "extension_ui_request", "git_status",
        "permission_cancelled", "permission_expired", "session_deleted", "stop_failed",
    ]

    static func isKnown(_ type: String) -> Bool {
        types.contains(type) || typesOfTheStream.contains(type) || typesBeside.contains(type)
    }

    package func decoder() -> any AgentDecoder { OppiDecoder() }

    package var keys: [String] { ["url", "token", "invite", "pin", "ca_file", "listener", "workspace"] }
    package var variables: [String] { ["OPPI_URL", "OPPI_TOKEN", "OPPI_INVITE", "OPPI_WORKSPACE"] }
    package var secretVariables: [String] { ["OPPI_TOKEN", "OPPI_INVITE"] }

    package func settings(_ section: inout AgentSection) -> any AgentValues {
        var values = OppiValues()
        let address = section.address([.https, .http])
        values.address = section.value("url", as: address, variable: "OPPI_URL", else: values.address)
        let isAddressSet = section.keysSet.contains("url")
        values.token = section.optional("token", as: .token, variable: "OPPI_TOKEN")
        let invite = ValueForm<Secret>.invite(to: isAddressSet ? nil : address)
        values.invite = section.optional("invite", as: invite, variable: "OPPI_INVITE")
        values.pin = section.optional("pin", as: .pin)
        values.authorityFile = section.optional("ca_file", as: section.certificates)
        values.listener = section.value("listener", as: ListenerForm.form, else: values.listener)
        values.workspace = section.optional("workspace", as: .label, variable: "OPPI_WORKSPACE")
        return values
    }

    package var serviceVariables: [String] { ["OPPI_URL", "OPPI_WORKSPACE"] }
    package var isChild: Bool { false }
    package var isLive: Bool { true }
    package func live(_ settings: AgentSettings, in context: AgentContext) -> (any LiveAgent)? {
        OppiAgent(settings, in: context)
    }
}

extension ValueForm where Value == Secret {
    /// An invite link holds a token, so only its address is ever shown. The token is sent there, so the link must satisfy
    /// the rules for a configured address, unless `address` is nil because the link's address is not used.
    fileprivate static func invite(to address: ValueForm<WebAddress>?) -> Self {
        Self(isSecret: true) { content throws(Complaint) in
            guard case .string(let text) = content, text.utf8.count <= 8_192, let invite = OppiInvite(text) else {
                throw Complaint(
                    "an invite link of Oppi, which begins with oppi://connect?", found: "something else (not shown)")
            }
            do throws(Complaint) { _ = try address?.read(.string(invite.address.description)) } catch {
                throw Complaint(
                    "an invite link to \(error.expected)", found: "one to \(invite.address) (the rest is not shown)",
                    remedy: error.remedy)
            }
            return Secret(text)
        } show: { _ in
            nil
        }
    }
}

extension ValueForm where Value == [UInt8] {
    fileprivate static var pin: Self {
        Self { content throws(Complaint) in
            guard case .string(let text) = content, let bytes = OppiPin.bytes(text) else {
                throw Complaint("sha256: and the 43 letters of the certificate's hash")
            }
            return bytes
        } show: {
            .string(OppiPin.text($0))
        }
    }
}

/// Configuration of an Oppi server.
package struct OppiValues: AgentValues {
    package var address = WebAddress(.http, "127.0.0.1", 7749)
    package var token: Secret?
    /// An invite link for pairing.
    package var invite: Secret?
    /// SHA-256 of the server's certificate, which then needs no authority.
    package var pin: [UInt8]?
    package var authorityFile: String?
    package var listener = ListenerTrust.own
    /// The workspace, or nil for the only one.
    package var workspace: String?

    package init() {}
}
