// The port to a WebSocket server: what a session machine's runner needs, without a word about sockets.

package struct WebSocketRequest: Sendable {
    /// `ws://` or `wss://`, without user and password: tokens go in headers.
    package var url: String
    package var headers: [HTTPHeader]
    /// For name look-up, TCP, a proxy and TLS.
    package var connectTimeout: Duration
    /// From then to the server's answer to the upgrade.
    package var handshakeTimeout: Duration
    /// From `close` to the end, whatever the peer does.
    package var closeTimeout: Duration
    /// A longer message ends the connection.
    package var messageLimit: Int
    /// More bytes than these waiting to be sent end the connection.
    package var sendLimit: Int
    /// A file with the certificates of a private authority; nil: the system's.
    package var authorityFile: String?
    /// SHA-256 of the DER of the one certificate that the server may show, in place of authorities and names; compared before any
    /// byte of ours is sent. For `wss://` alone.
    package var leafPin: [UInt8]?
    /// The Unix socket to dial in place of host and port, at most 100 bytes. It must belong to this user.
    package var unixPath: String?
    /// Checked with the kernel before a byte is sent, where the connection is plain and within this machine; nil: no check.
    package var listener: ListenerTrust?

    package init(
        url: String, headers: [HTTPHeader] = [], connectTimeout: Duration = .seconds(10),
        handshakeTimeout: Duration = .seconds(10), closeTimeout: Duration = .seconds(5),
        messageLimit: Int = 64 << 20,
        sendLimit: Int = 64 << 20, authorityFile: String? = nil, leafPin: [UInt8]? = nil,
        unixPath: String? = nil
    ) {
        self.url = url
        self.headers = headers
        self.connectTimeout = connectTimeout
        self.handshakeTimeout = handshakeTimeout
        self.closeTimeout = closeTimeout
        self.messageLimit = messageLimit
        self.sendLimit = sendLimit
        self.authorityFile = authorityFile
        self.leafPin = leafPin
        self.unixPath = unixPath
    }
}

/// What happens on a connection. Exactly one of `closed`, `refused` and `failed` comes, once, and last.
package enum WebSocketEvent: Hashable, Sendable {
    /// The server accepted; the headers of its answer.
    case opened([HTTPHeader])
    /// Valid UTF-8. The array has room for 64 more bytes, so that a parser may read beyond its end.
    case text([UInt8])
    case binary([UInt8])
    /// Was answered already; delivered because it shows that the peer is alive.
    case ping
    case pong([UInt8])
    /// The connection has ended in order, or was cut by us. No code: none was sent.
    case closed(code: Int?, reason: String, byPeer: Bool)
    /// The server answered the upgrade with something else; at most 64 KB of the body.
    case refused(status: Int, headers: [HTTPHeader], body: [UInt8])
    case failed(WebSocketFailure)
}

package struct WebSocketFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        /// The address is not usable.
        case badURL
        case nameNotFound, connectionRefused, timedOut
        /// The server's certificate is not believed.
        case tlsFailed
        /// The user of the listener, or of the socket's file, is not trusted or not known; nothing was sent.
        case foreignListener
        /// The server said yes to the upgrade, but not as the protocol asks.
        case badHandshake
        /// The peer broke the protocol (1002), sent text that is no UTF-8 (1007), or a message over the limit (1009).
        case protocolError, invalidText, messageTooLarge
        /// Ended or broken without a closing handshake.
        case connectionLost
        /// More waits to be sent than the limit: the peer does not read fast enough.
        case tooMuchWaiting
        case other
    }

    package var code: Code
    package var message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }
}

/// A connection that is being opened or is open. Letting go of the last reference cuts it.
package protocol WebSocketLink: AnyObject, Sendable {
    /// Queued until the connection is open; after its end it goes nowhere.
    func send(text: [UInt8])
    func send(binary: [UInt8])
    func ping()
    /// Sends the queued messages, then the closing frame. Messages that arrive later are dropped. The code must be one that may be
    /// sent (1000 to 1003, 1007 to 1014, 3000 to 4999); of the reason at most 123 bytes go out.
    func close(code: Int, reason: String)
    /// Ends at once, without a closing frame: `closed` without a code follows.
    func cut()
    /// After the message that is being handled, no other comes until `resumeReading`, and the peer is held back.
    func pauseReading()
    func resumeReading()
}

package protocol WebSocketClient: Sendable {
    /// Begins to connect. `handler` is called on a thread of the connection's own, which it must not block for long.
    func open(
        _ request: WebSocketRequest, handler: @escaping @Sendable (WebSocketEvent) -> Void
    ) -> any WebSocketLink
}
