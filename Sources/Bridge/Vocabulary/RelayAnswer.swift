/// Outcome of one attempt of a relay call.
package struct RelayAnswer: Hashable, Sendable {
    package enum Outcome: Hashable, Sendable {
        case delivered(RelayReceipt)
        /// The relay understood the call and refused it.
        case refused(RelayRefusal)
        /// The relay may or may not have applied the call: timeout, network error, or an answer that is not the relay's.
        case unknown(reason: String)
    }

    package var outcome: Outcome
    /// Set if something between the bridge and the relay answered in the relay's place.
    package var foreign: ForeignAnswer?
    package var rate: RateReading?
    package var request: RequestID?
    /// The relay's clock, in seconds since 1970.
    package var date: Int64?

    package init(
        _ outcome: Outcome, rate: RateReading? = nil, request: RequestID? = nil, date: Int64? = nil,
        foreign: ForeignAnswer? = nil
    ) {
        self.outcome = outcome
        self.foreign = foreign
        self.rate = rate
        self.request = request
        self.date = date
    }
}

package struct RelayReceipt: Hashable, Sendable {
    /// From `sendMessage`.
    package var message: MessageID?
    /// From `createSession`.
    package var session: SessionID?
    /// The relay had the call already, and repeated its answer.
    package var repeated: Bool
    /// From `devices`: this bridge's device id.
    package var device: DeviceID?
    /// From `devices`: the relay knew another key of this device.
    package var publicKeyChanged = false

    package init(message: MessageID? = nil, session: SessionID? = nil, repeated: Bool = false) {
        self.message = message
        self.session = session
        self.repeated = repeated
    }
}

package struct RelayRefusal: Hashable, Sendable {
    package var status: Int
    package var code: RelayErrorCode
    /// The relay's own words, for the log.
    package var message: String
    /// Wait that the relay asked for: `retry_after_ms`, else `Retry-After` (relay.md#headers-on-every-bridge-response).
    package var retryAfter: Duration?
    /// The paths of `errors[]` (relay.md#envelope-notes).
    package var fields: [String]

    package init(
        status: Int, code: RelayErrorCode, message: String = "", retryAfter: Duration? = nil, fields: [String] = []
    ) {
        self.status = status
        self.code = code
        self.message = message
        self.retryAfter = retryAfter
        self.fields = fields
    }

    /// Whether the refusal is reliable. With a status of 5xx the relay is in trouble, and its word about the call may be wrong (relay.md#codes).
    package var isFinal: Bool { status < 500 }

    /// Whether the text itself is at fault. The relay may accept a shorter one.
    package var concernsText: Bool {
        switch code {
        case .payloadTooLarge: true
        case .invalidRequest: namesText
        case .other: status == 413 || status == 400 && namesText
        case .invalidTokenLocation, .invalidToken, .permissionDenied, .installationRevoked, .sessionNotFound,
            .agentNotFound, .interactionNotFound, .idempotencyConflict, .messageFinalized, .sessionDeleted,
            .interactionExpired, .rateLimited, .contentBlocked, .internalError, .upstreamError,
            .temporarilyUnavailable, .agentDegraded:
            false
        }
    }

    private var namesText: Bool { fields.contains { $0 == "text" || $0.hasPrefix("text.") } }
}

/// An answer outside the relay's envelope (relay.md#response-envelope), from a proxy, a
/// sign-in portal or a wrong server. The call's fate stays unknown.
package struct ForeignAnswer: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Content: String, Hashable, Sendable {
        case nothing = "an empty body"
        case webPage = "a web page"
        case otherJSON = "JSON that is not the relay's"
        case text = "text that is not the relay's"
    }

    package var status: Int
    package var content: Content
    /// The server's name for itself (header `Server`).
    package var server: String?

    package init(status: Int, content: Content, server: String? = nil) {
        self.status = status
        self.content = content
        self.server = server
    }

    package var description: String {
        let name = server.map { " from \($0)" } ?? ""
        return "something between here and the relay answers: HTTP \(status) with \(content.rawValue)\(name)"
    }

    package static let remedy =
        "check SOPHON_BASE_URL, and any proxy, firewall or sign-in page between this machine and the relay"
}

/// The codes (relay.md#codes) that a bridge can meet.
package enum RelayErrorCode: Hashable, Sendable {
    /// `invalid_request` and `validation_failed` are one (relay.md#where-the-sources-disagree).
    case invalidRequest
    case invalidTokenLocation, invalidToken, permissionDenied, installationRevoked
    case sessionNotFound, agentNotFound, interactionNotFound
    case idempotencyConflict, messageFinalized
    case sessionDeleted, interactionExpired
    case payloadTooLarge, rateLimited, contentBlocked
    case internalError, upstreamError, temporarilyUnavailable, agentDegraded
    /// A code that this bridge does not know. The status decides.
    case other(String)
}

/// The rate headers of one response (relay.md#headers-on-every-bridge-response).
package struct RateReading: Hashable, Sendable {
    /// Nil if the response named no bucket, or one that this bridge does not know.
    package var bucket: RelayBucket?
    package var limit: Int?
    package var remaining: Int?
    package var resetAfter: Duration?

    package init(bucket: RelayBucket?, limit: Int? = nil, remaining: Int? = nil, resetAfter: Duration? = nil) {
        self.bucket = bucket
        self.limit = limit
        self.remaining = remaining
        self.resetAfter = resetAfter
    }
}
