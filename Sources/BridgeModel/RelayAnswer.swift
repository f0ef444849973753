/// What one attempt of a relay call came to.
package struct RelayAnswer: Hashable, Sendable {
    package enum Outcome: Hashable, Sendable {
        case delivered(RelayReceipt)
        /// The relay understood and said no.
        case refused(RelayRefusal)
        /// Nobody knows whether it was applied: time-out, network error, 5xx, or a 2xx without the expected JSON.
        case unknown(reason: String)
    }

    package var outcome: Outcome
    package var rate: RateReading?
    package var request: RequestID?

    package init(_ outcome: Outcome, rate: RateReading? = nil, request: RequestID? = nil) {
        self.outcome = outcome
        self.rate = rate
        self.request = request
    }
}

package struct RelayReceipt: Hashable, Sendable {
    /// From `sendMessage`.
    package var message: MessageID?
    /// From `createSession`.
    package var session: SessionID?
    /// The relay had it already, and repeated its answer.
    package var repeated: Bool

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
    /// How long it asked us to wait: `retry_after_ms`, else `Retry-After` (relay sheet 11.2).
    package var retryAfter: Duration?
    /// The paths of `errors[]`, for the log.
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
}

/// The codes of the relay sheet, 10.2, that a bridge can meet.
package enum RelayErrorCode: Hashable, Sendable {
    /// `invalid_request` and `validation_failed` are one (sheet, D9).
    case invalidRequest
    case invalidTokenLocation, invalidToken, permissionDenied, installationRevoked
    case sessionNotFound, agentNotFound, interactionNotFound
    case idempotencyConflict, messageFinalized
    case sessionDeleted, interactionExpired
    case payloadTooLarge, rateLimited, contentBlocked
    case internalError, upstreamError, temporarilyUnavailable, agentDegraded
    /// A code this bridge does not know; the status decides.
    case other(String)
}

/// The rate headers of one response (relay sheet 11.2).
package struct RateReading: Hashable, Sendable {
    /// Nil: the response named no bucket.
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
