package struct LocalHeader: Hashable, Sendable {
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// One whole request: the handler sees it after the last byte of its body.
package struct LocalRequest: Sendable {
    package var method: String
    /// Path and query exactly as sent, without unescaping.
    package var target: String
    package var headers: [LocalHeader]
    package var body: [UInt8]

    /// Whether the client runs on this machine.
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

    /// The target's part before the question mark.
    package var path: Substring { target.prefix { $0 != "?" } }

    /// First value of a header; the case of its name does not matter.
    package func header(_ name: String) -> String? {
        let wanted = name.lowercased()
        return headers.first { $0.name.lowercased() == wanted }?.value
    }
}

package struct LocalResponse: Sendable {
    package var status: Int
    /// The server sets Content-Length, Transfer-Encoding, Date and Keep-Alive itself, and drops them here.
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

/// A handler's answer to a request.
package enum LocalAnswer: Sendable {
    case whole(LocalResponse)
    /// Head now, body from the stream. The head's own body is unused.
    case stream(LocalResponse, EventStream)
    /// Head now, body from a feed that many read.
    case feed(LocalResponse, FeedReader)
    /// Later, through the ticket, without blocking other requests.
    case deferred(ResponseTicket)
    /// The connection becomes a WebSocket. The server itself refuses a request that is no proper upgrade.
    case webSocket(WebSocketAcceptance)
    /// The connection is reset (RST), without an answer.
    case reset
}
