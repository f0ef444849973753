// The port to a WebSocket server, as a session machine's runner needs it. It hides sockets.

package struct WebSocketRequest: Sendable {
    /// `ws://` or `wss://`, without user and password: tokens go in headers.
    package var url: String
    package var headers: [HTTPHeader]
    /// Limit of name look-up, TCP, a proxy and TLS together.
    package var connectTimeout: Duration
    /// Limit from then to the server's answer to the upgrade.
    package var handshakeTimeout: Duration
    /// Limit from `close` to the end, even if the peer stays silent.
    package var closeTimeout: Duration
    /// A longer message ends the connection.
    package var messageLimit: Int
    /// Bytes that may wait to be sent; more end the connection.
    package var sendLimit: Int
    /// A file with the certificates of a private authority, or nil for the system's.
    package var authorityFile: String?
    /// SHA-256 of the DER of the one certificate that the server may show, in place of authorities and
    /// names. Compared before the first byte leaves. `wss://` alone has one.
    package var leafPin: [UInt8]?
    /// Unix socket to dial in place of host and port, at most 100 bytes. It must belong to this user.
    package var unixPath: String?
    /// Owner that the kernel must confirm before the first byte leaves, if the connection is plain and within this machine. Nil for no check.
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

/// Events of a connection. Exactly one of `closed`, `refused` and `failed` comes, once, and last.
package enum WebSocketEvent: Hashable, Sendable {
    /// The server accepted the upgrade; headers of its answer.
    case opened([HTTPHeader])
    /// Valid UTF-8. The array has room for 64 more bytes: a parser may read beyond its end.
    case text([UInt8])
    case binary([UInt8])
    /// A ping, already answered; delivered because it shows that the peer is alive.
    case ping
    case pong([UInt8])
    /// The connection ended in order, or the bridge cut it. No code if the peer sent none.
    case closed(code: Int?, reason: String, byPeer: Bool)
    /// The server refused the upgrade; at most 64 KB of the body.
    case refused(status: Int, headers: [HTTPHeader], body: [UInt8])
    case failed(WebSocketFailure)
}

package struct WebSocketFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        /// Unusable address.
        case badURL
        case nameNotFound, connectionRefused, timedOut
        /// The server's certificate failed verification.
        case tlsFailed
        /// The user of the listener, or of the socket's file, is not trusted or unknown; nothing was sent.
        case foreignListener
        /// The server accepted the upgrade against the protocol's rules.
        case badHandshake
        /// The peer broke the protocol (1002), sent text that is no UTF-8 (1007), or a message over the limit (1009).
        case protocolError, invalidText, messageTooLarge
        /// The connection ended or broke without a closing handshake.
        case connectionLost
        /// More bytes wait than the limit allows: the peer does not read fast enough.
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

/// A connection, opening or open. Releasing the last reference cuts it.
package protocol WebSocketLink: AnyObject, Sendable {
    /// Queues the message until the connection is open. After its end the message is dropped.
    func send(text: [UInt8])
    func send(binary: [UInt8])
    func ping()
    /// Sends the queued messages, then the closing frame, and drops messages that arrive later. The protocol must allow the
    /// code (1000 to 1003, 1007 to 1014, 3000 to 4999); at most 123 bytes of the reason leave.
    func close(code: Int, reason: String)
    /// Ends at once, without a closing frame; `closed` without a code follows.
    func cut()
    /// After the current message, no other comes until `resumeReading`, and the full socket holds the peer back.
    func pauseReading()
    func resumeReading()
}

package protocol WebSocketClient: Sendable {
    /// Begins to connect. A thread of the connection's own calls `handler`, which must not block it for long.
    func open(
        _ request: WebSocketRequest, handler: @escaping @Sendable (WebSocketEvent) -> Void
    ) -> any WebSocketLink
}
