package import Vocabulary

/// The relay and this bridge, as a link needs them.
package struct RelayLinkSettings: Sendable {
    package var relay: WebAddress
    package var token: Secret
    /// Feature level for the phone (relay.md#frames-bridge-to-relay), or nil to send no `hello`.
    package var helloVersion: String?
    /// Most updates that wait to become durable.
    package var updateLimit: Int
    /// Most bytes of them; a single update may have more.
    package var updateBytes = 4 << 20

    package init(relay: WebAddress, token: Secret, helloVersion: String? = nil, updateLimit: Int = 256) {
        self.relay = relay
        self.token = token
        self.helloVersion = helloVersion
        self.updateLimit = updateLimit
    }

    /// The token belongs in a header and never in an address (relay.md#bridge-token).
    var url: String {
        let text = relay.description.drop { $0 != ":" }
        return (relay.scheme.isEncrypted ? "wss" : "ws") + text + "/v1/bridge/ws"
    }

    var headers: [HTTPHeader] { [HTTPHeader("Authorization", "Bearer \(token.text)")] }
}

extension RelayLink {
    /// Orders to the runner, in sequence.
    package enum Order: Hashable, Sendable {
        /// Open a WebSocket. One at a time; the one before is closed or closing.
        case dial(url: String, headers: [HTTPHeader])
        case send([UInt8])
        /// Send a ping of the WebSocket itself: its pong proves that all earlier bytes have arrived.
        case ping
        /// Close the socket, and report no more events of it.
        case close(code: Int, reason: String)
        /// Record the update, then call `acknowledge`. It may have come before.
        case update(RelayUpdate)
        /// Answer the request by `reply`.
        case request(RelayRequest)
        /// The relay accepted the connection. No update comes before.
        case ready(installation: String?)
        /// The link, or a try to open one, is lost. The next try follows at `retryAt`.
        case lost(reason: String, retryAt: Instant)
        case note(Note)
        /// The link stops dialling until `start`.
        case stop(Stop)
    }

    /// News for logs and `status`, without work for the program.
    package enum Note: Hashable, Sendable {
        /// A remedy for a person, while the bridge continues to try.
        case remedy(String)
        /// The link holds its maximum of waiting updates and accepts no more. The relay sends them again.
        case full(waiting: Int)
        case unknown(UnknownTally)
    }

    /// Reason for giving up: only a person can help.
    package struct Stop: Error, Hashable, Sendable {
        package enum Kind: Hashable, Sendable {
            /// The relay refuses the token.
            case tokenRefused
            /// The installation is gone, and its token with it.
            case installationRevoked
            /// The relay found the token in the address: a fault of this program or of a proxy.
            case tokenLocation
        }

        package var kind: Kind
        package var message: String
        package var remedy: String

        package var exitCode: ExitCode { .tokenRefused }
    }
}
