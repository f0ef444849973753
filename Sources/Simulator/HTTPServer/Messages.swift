package struct LocalHeader: Hashable, Sendable {
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// One request, whole: the handler sees it when the last byte of its body is there.
package struct LocalRequest: Sendable {
    package var method: String
    /// Path and query exactly as sent, nothing unescaped.
    package var target: String
    package var headers: [LocalHeader]
    package var body: [UInt8]

    /// The client runs on this machine.
    package var isFromThisMachine: Bool

    package init(
        method: String, target: String, headers: [LocalHeader] = [], body: [UInt8] = [], isFromThisMachine: Bool = true
    ) {
        self.isFromThisMachine = isFromThisMachine
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
    }

    /// The part of the target before the question mark.
    package var path: Substring { target.prefix { $0 != "?" } }

    /// The first value of a header, whatever the case of its name.
    package func header(_ name: String) -> String? {
        let wanted = name.lowercased()
        return headers.first { $0.name.lowercased() == wanted }?.value
    }
}

package struct LocalResponse: Sendable {
    package var status: Int
    /// Content-Length, Transfer-Encoding, Date and Keep-Alive are the server's own and left out when given.
    package var headers: [LocalHeader]
    package var body: [UInt8]

    package init(status: Int, headers: [LocalHeader] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    package static func text(_ status: Int, _ sentence: String) -> LocalResponse {
        LocalResponse(
            status: status, headers: [LocalHeader("Content-Type", "text/plain; charset=utf-8")],
            body: Array((sentence + "\n").utf8))
    }
}

/// What becomes of a request.
package enum LocalAnswer: Sendable {
    case whole(LocalResponse)
    /// Head now, body as the stream is fed. The body of the head is not used.
    case stream(LocalResponse, EventStream)
    /// Likewise, of a feed that many read.
    case feed(LocalResponse, FeedReader)
    /// Later, through the ticket, without blocking other requests.
    case deferred(ResponseTicket)
    /// The connection becomes a WebSocket. A request that does not ask for one properly is refused by the server itself.
    case webSocket(WebSocketAcceptance)
    /// The connection is reset (RST), and nothing is sent.
    case reset
}
