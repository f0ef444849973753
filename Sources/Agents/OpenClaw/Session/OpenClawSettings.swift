package import AgentKit
package import Vocabulary

/// What a session needs to know of its gateway and of this bridge.
package struct OpenClawSettings: Sendable {
    /// `ws://` or `wss://`.
    package var url: String
    /// The gateway's shared token.
    package var token: String?
    package var password: String?
    /// What the gateway gave this device earlier (`saveDeviceToken`).
    package var deviceToken: String?
    /// Without one, gateways of early 2026 take every scope away (openclaw.md#auth-and-pairing-rules-that-matter-to-a-bridge).
    package var device: OpenClawDevice?
    package var client: OpenClawClient
    package var scopes = ["operator.read", "operator.write", "operator.approvals"]
    /// Loopback, or TLS with a pinned certificate: there the device token may be shown after the shared one was refused
    /// (openclaw.md#auth-and-pairing-rules-that-matter-to-a-bridge).
    package var mayShowDeviceToken: Bool

    package init(
        url: String, token: String? = nil, password: String? = nil, deviceToken: String? = nil,
        device: OpenClawDevice? = nil, client: OpenClawClient, mayShowDeviceToken: Bool = false
    ) {
        self.url = url
        self.token = token
        self.password = password
        self.deviceToken = deviceToken
        self.device = device
        self.client = client
        self.mayShowDeviceToken = mayShowDeviceToken
    }
}

/// The device this bridge is to the gateway. `id` is the SHA-256 of the signer's public key, in lowercase hexadecimal.
package struct OpenClawDevice: Sendable {
    package var id: String
    package var signer: any Signer

    package init(id: String, signer: any Signer) {
        self.id = id
        self.signer = signer
    }
}

/// How the bridge introduces itself. The display name is what other clients read as the approver's name.
package struct OpenClawClient: Sendable {
    package var displayName: String
    package var version: String
    package var platform: String
    package var deviceFamily: String?
    /// Stable for an installation.
    package var instanceID: String?

    package init(
        displayName: String, version: String, platform: String = "linux", deviceFamily: String? = nil,
        instanceID: String? = nil
    ) {
        self.displayName = displayName
        self.version = version
        self.platform = platform
        self.deviceFamily = deviceFamily
        self.instanceID = instanceID
    }
}

extension OpenClawSession {
    /// What the runner is to do, in order.
    package enum Order: Hashable, Sendable {
        /// Open a WebSocket. One at a time; the one before is closed or closing.
        case dial(url: String, headers: [HTTPHeader])
        case send([UInt8])
        /// Read these for the message of that run; answered by `loaded`.
        case load(RunID, [MessageFile])
        /// What was to be read is of no use any more.
        case dropLoad(RunID)
        /// Close the socket. Nothing more of it is reported after this.
        case close(code: Int, reason: String)
        /// For the core, but for the echo of our own commands.
        case observed([Observation])
        case replied(QueryID, AgentReply)
        /// To be kept for the next start, as secret as the shared token.
        case saveDeviceToken(DeviceToken)
        case note(Note)
    }

    package struct DeviceToken: Hashable, Sendable {
        package var gateway: String
        package var deviceID: String
        package var role: String
        package var scopes: [String]
        package var token: String

        package init(gateway: String, deviceID: String, role: String, scopes: [String], token: String) {
            self.gateway = gateway
            self.deviceID = deviceID
            self.role = role
            self.scopes = scopes
            self.token = token
        }
    }

    /// For logs and `status`: nothing here asks for an action of the program.
    package enum Note: Hashable, Sendable {
        case connected(version: String, protocol: Int, scopes: [String]?)
        /// The link is away, and is tried again then. Trouble: what a person can do meanwhile.
        case waiting(reason: String, retryAt: Instant, Trouble?)
        case missingScopes([String], remedy: String)
        case unknown(UnknownTally)
        /// Broadcasts that the gateway dropped because this socket was slow.
        case framesLost(Int)
        case requestFailed(method: String, code: String)
    }

    /// Why the link is away, where a person can do something about it. It is tried again by itself.
    package struct Trouble: Error, Hashable, Sendable {
        package enum Kind: Hashable, Sendable {
            /// No token or password, or a refused one.
            case credential
            /// The gateway's owner must approve this device.
            case pairing
            /// The gateway does not take this device's key or signature.
            case device
            /// No common protocol version.
            case version
            /// It may pass without anybody's help.
            case passing
        }

        package var kind: Kind
        package var message: String
        package var remedy: String

        package init(kind: Kind, message: String, remedy: String) {
            self.kind = kind
            self.message = message
            self.remedy = remedy
        }

        package var exitCode: ExitCode {
            switch kind {
            case .credential, .pairing, .device: .agentTokenMissing
            case .version, .passing: .agentUnreachable
            }
        }
    }
}
