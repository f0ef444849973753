package import Vocabulary

/// What a link needs to know of its relay and of this bridge.
package struct RelayLinkSettings: Sendable {
    package var relay: WebAddress
    package var token: Secret
    /// The feature level that the phone is to believe in (relay.md#frames-bridge-to-relay); nil: nothing is said.
    package var helloVersion: String?
    /// The most updates that wait to become durable.
    package var updateLimit: Int
    /// Their bytes, unless it is one alone.
    package var updateBytes = 4 << 20

    package init(relay: WebAddress, token: Secret, helloVersion: String? = nil, updateLimit: Int = 256) {
        self.relay = relay
        self.token = token
        self.helloVersion = helloVersion
        self.updateLimit = updateLimit
    }

    /// The token goes into a header and never into an address (relay.md#bridge-token).
    var url: String {
        let text = relay.description.drop { $0 != ":" }
        return (relay.scheme.isEncrypted ? "wss" : "ws") + text + "/v1/bridge/ws"
    }

    var headers: [HTTPHeader] { [HTTPHeader("Authorization", "Bearer \(token.text)")] }
}

extension RelayLink {
    /// What the runner is to do, in order.
    package enum Order: Hashable, Sendable {
        /// Open a WebSocket. One at a time; the one before is closed or closing.
        case dial(url: String, headers: [HTTPHeader])
        case send([UInt8])
        /// A ping of the WebSocket itself: its pong shows that what was sent before has arrived.
        case ping
        /// Close the socket. Nothing more of it is reported after this.
        case close(code: Int, reason: String)
        /// To be recorded, then `acknowledge`d; it may have come before.
        case update(RelayUpdate)
        /// To be answered by `reply`.
        case request(RelayRequest)
        /// The relay took us in. Without this, no update.
        case ready(installation: String?)
        /// The link, or a try to have one, is gone; the next try comes then.
        case lost(reason: String, retryAt: Instant)
        case note(Note)
        /// The link dials no more until `start`.
        case stop(Stop)
    }

    /// For logs and `status`: nothing here asks for an action of the program.
    package enum Note: Hashable, Sendable {
        /// What a person can do, while the bridge keeps trying.
        case remedy(String)
        /// So many updates wait to become durable that no more are taken; the relay sends them again.
        case full(waiting: Int)
        case unknown(UnknownTally)
    }

    /// Why the link gave up: only a person can help.
    package struct Stop: Error, Hashable, Sendable {
        package enum Kind: Hashable, Sendable {
            /// The relay does not take the token.
            case tokenRefused
            /// The installation is gone, and with it the token.
            case installationRevoked
            /// The relay says that the token came in the address: a fault of this program or of a proxy.
            case tokenLocation
        }

        package var kind: Kind
        package var message: String
        package var remedy: String

        package var exitCode: ExitCode { .tokenRefused }
    }
}
