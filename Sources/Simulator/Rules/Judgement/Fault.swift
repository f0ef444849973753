/// An injected fault: it strikes the next calls of a method, and counts as no breach of the rules.
package struct Fault: Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        case rateLimited(retryAfterMilliseconds: Int64, namesBucket: Bool)
        case status(Int, retryAfterMilliseconds: Int64?)
        /// The connection is reset before the write takes effect.
        case reset
        case slow(milliseconds: Int)
        /// The connection is reset after the write took effect.
        case replyLost
        case html
        /// Half a reply, after the write took effect.
        case truncated
        /// A reply of 10 MB, after the write took effect.
        case huge
        /// 429 whose `Retry-After` is this text.
        case oddRetryAfter(String)
        case redirect
        case unauthorized
        /// A refusal in the relay's envelope; `path` names the one entry of `errors[]` (relay.md#envelope-notes).
        case refused(status: Int, code: String, path: String? = nil)
        /// Something between the bridge and the relay answers, and nothing takes effect.
        case page(ProxyPage, status: Int)
        /// Something between the two answers after the write took effect: the relay's own answer is lost.
        case pageAfter(ProxyPage, status: Int)
        // Faults beside the call, which is answered normally.
        case socketsClosed(code: Int)
        case socketsCut
        case socketsSilent
        case socketsHalfOpen
        /// The streams of the phones end and the ring is emptied: a phone that comes back finds a gap (relay.md#resume).
        case phoneAway
        /// All connections end after the call took effect, and for so long none is accepted.
        case restart(milliseconds: Int)
    }

    package var kind: Kind
    /// The method to strike, or nil for any bridge method. `pairing/start`, `pairing/poll` and `healthz` are struck only by name.
    package var method: String?
    package var count: Int

    package init(_ kind: Kind, method: String? = nil, count: Int = 1) {
        self.kind = kind
        self.method = method
        self.count = count
    }
}

extension Fault.Kind {
    /// Whether the fault answers in the relay's place, and nothing takes effect.
    var answersInstead: Bool {
        switch self {
        case .rateLimited, .status, .reset, .html, .oddRetryAfter, .redirect, .unauthorized, .refused, .page: true
        case .slow, .replyLost, .truncated, .huge, .pageAfter, .socketsClosed, .socketsCut, .socketsSilent,
            .socketsHalfOpen, .phoneAway, .restart:
            false
        }
    }

    /// Name of the kind in `FaultKind`. A refusal has its code as its name.
    package var name: String {
        switch self {
        case .rateLimited: "429"
        case .status(let status, _): String(status)
        case .reset: "reset"
        case .slow: "slow"
        case .replyLost: "reply_lost"
        case .html: "html"
        case .truncated: "truncated"
        case .huge: "huge"
        case .oddRetryAfter: "retry_after_soon"
        case .redirect: "redirect"
        case .unauthorized: "401"
        case .refused(_, let code, _): code
        case .page(.html, _): "proxy_html"
        case .page(.empty, _): "proxy_empty"
        case .page(.json, _): "proxy_json"
        case .pageAfter: "proxy_after"
        case .socketsClosed: "close"
        case .socketsCut: "drop"
        case .socketsSilent: "silence"
        case .socketsHalfOpen: "freeze"
        case .phoneAway: "phone_away"
        case .restart: "restart"
        }
    }
}

/// Orders to the server of the connections, besides answers and frames.
package enum EdgeOrder: Hashable, Sendable {
    /// End the phones' event streams.
    case cutPhones
    /// End all connections, and accept none for so long.
    case restart(milliseconds: Int)
}
