package import AgentKit
package import Vocabulary

/// Settings of a session: its gateway, and the bridge's introduction.
package struct OpenClawSettings: Sendable {
    /// `ws://` or `wss://`.
    package var url: String
    /// The gateway's shared token.
    package var token: String?
    package var password: String?
    /// The token that the gateway issued to this device earlier (`saveDeviceToken`).
    package var deviceToken: String?
    /// The bridge's device. Gateways of early 2026 strip a client without one of every
    /// scope (openclaw.md#auth-and-pairing-rules-that-matter-to-a-bridge).
    package var device: OpenClawDevice?
    package var client: OpenClawClient
    package var scopes = ["operator.read", "operator.write", "operator.approvals"]
    /// The device token may be shown after the shared one was refused: over loopback, or TLS with a
    /// pinned certificate (openclaw.md#auth-and-pairing-rules-that-matter-to-a-bridge).
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

/// The bridge's device at the gateway. `id` is the SHA-256 of the signer's public key, in lowercase hexadecimal.
package struct OpenClawDevice: Sendable {
    package var id: String
    package var signer: any Signer

    package init(id: String, signer: any Signer) {
        self.id = id
        self.signer = signer
    }
}

/// How the bridge introduces itself. Other clients show the display name as the approver's.
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
    /// An order to the runner, which executes them in sequence.
    package enum Order: Hashable, Sendable {
        /// Open a WebSocket. One at a time; the one before is closed or closing.
        case dial(url: String, headers: [HTTPHeader])
        case send([UInt8])
        /// Read these files for the message of that run; `loaded` answers.
        case load(RunID, [MessageFile])
        /// Stop reading the files of that run.
        case dropLoad(RunID)
        /// Close the socket. No later event of it is reported.
        case close(code: Int, reason: String)
        /// Observations for the core, without the echo of its own commands.
        case observed([Observation])
        case replied(QueryID, AgentReply)
        /// Store the token for the next start, as secret as the shared token.
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

    /// Entries for logs and `status`; none calls for an action of the program.
    package enum Note: Hashable, Sendable {
        case connected(version: String, protocol: Int, scopes: [String]?)
        /// The link is down until the retry. `Trouble`: what a person can do meanwhile.
        case waiting(reason: String, retryAt: Instant, Trouble?)
        case missingScopes([String], remedy: String)
        case unknown(UnknownTally)
        /// Broadcasts that the gateway dropped because this socket was slow.
        case framesLost(Int)
        case requestFailed(method: String, code: String)
    }

    /// A cause of the lost link that a person may mend. The bridge retries in any case.
    package struct Trouble: Error, Hashable, Sendable {
        package enum Kind: Hashable, Sendable {
            /// The token or the password is missing or was refused.
            case credential
            /// The gateway's owner must approve this device.
            case pairing
            /// The gateway refuses this device's key or signature.
            case device
            /// No common protocol version.
            case version
            /// The cause may pass without a person.
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
