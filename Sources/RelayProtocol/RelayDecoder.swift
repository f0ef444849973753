package import BridgeModel

/// Reads what the relay answered (relay sheet 1.4, 1.5, 10, 11.2).
///
/// A call is delivered only if the status is 2xx, `ok` is true and the expected member is there. A 2xx that is anything else
/// (HTML of a proxy, half a reply) is an unknown outcome: the call may have been applied.
package enum RelayDecoder {
    /// What a delivered call must bring.
    package enum Expected: Hashable, Sendable { case nothing, message, session }

    package static func expected(of call: RelayCall) -> Expected {
        switch call {
        case .sendMessage: .message
        case .createSession: .session
        case .sendMessageDelta, .sendMessageEnd, .createTask, .updateTask, .finishTask, .requestApproval: .nothing
        }
    }

    package static func answer(to result: Result<HTTPResponse, HTTPFailure>, expecting expected: Expected, wall: Int64)
        -> RelayAnswer
    {
        switch result {
        case .failure(let failure): RelayAnswer(.unknown(reason: failure.message))
        case .success(let response): answer(to: response, expecting: expected, wall: wall)
        }
    }

    private static func answer(to response: HTTPResponse, expecting expected: Expected, wall: Int64) -> RelayAnswer {
        let headers = RelayHeaders(response)
        func made(_ outcome: RelayAnswer.Outcome) -> RelayAnswer {
            RelayAnswer(outcome, rate: headers.rate, request: headers.request)
        }
        guard let envelope = Envelope(response.body) else {
            return made(withoutEnvelope(response, headers, wall: wall))
        }
        if (200..<300).contains(response.status), envelope.ok == true {
            return made(delivered(envelope, expecting: expected))
        }
        guard response.status >= 400 || envelope.ok == false else {
            return made(
                .unknown(reason: "the relay answered \(response.status) without saying whether it took the call"))
        }
        return made(refused(response, envelope, headers, wall: wall))
    }

    private static func delivered(_ envelope: Envelope, expecting expected: Expected) -> RelayAnswer.Outcome {
        let receipt = RelayReceipt(
            message: envelope.message.map { MessageID($0) }, session: envelope.session.map { SessionID($0) },
            repeated: envelope.isRepeat)
        switch expected {
        case .message where receipt.message == nil: return .unknown(reason: "the relay's answer has no message_id")
        case .session where receipt.session == nil: return .unknown(reason: "the relay's answer has no session_id")
        case .message, .session, .nothing: return .delivered(receipt)
        }
    }

    private static func refused(
        _ response: HTTPResponse, _ envelope: Envelope?, _ headers: RelayHeaders, wall: Int64
    ) -> RelayAnswer.Outcome {
        let hint = envelope?.retryAfterMilliseconds.flatMap { milliseconds -> Duration? in
            (0...3_600_000).contains(milliseconds) ? .milliseconds(milliseconds) : nil
        }
        let wait = hint ?? headers.retryAfter.flatMap { RetryAfter.parse($0, nowWallMilliseconds: wall) }
        let code = envelope?.code.map(RelayErrorCode.init(name:)) ?? RelayErrorCode(status: response.status)
        return .refused(
            RelayRefusal(
                status: response.status, code: code, message: String((envelope?.words ?? "").prefix(400)),
                retryAfter: wait, fields: envelope?.fields ?? []))
    }

    /// Something between us and the relay answered, or the reply was cut: only the status is left to go by.
    private static func withoutEnvelope(
        _ response: HTTPResponse, _ headers: RelayHeaders, wall: Int64
    ) -> RelayAnswer.Outcome {
        let looksLikeHTML = response.body.first { !($0 == 32 || (9...13).contains($0)) } == UInt8(ascii: "<")
        let what = looksLikeHTML ? "a web page" : response.body.isEmpty ? "nothing" : "no JSON"
        let reason =
            "the relay's address answered \(response.status) with \(what); check that base_url is the relay's and no proxy stands in between"
        switch response.status {
        case 429, 503: return refused(response, nil, headers, wall: wall)
        case 400..<500: return refused(response, nil, headers, wall: wall)
        default: return .unknown(reason: reason)
        }
    }
}

extension RelayErrorCode {
    package init(name: String) {
        self =
            switch name {
            case "invalid_request", "validation_failed": .invalidRequest
            case "invalid_token_location": .invalidTokenLocation
            case "invalid_token": .invalidToken
            case "permission_denied": .permissionDenied
            case "installation_revoked": .installationRevoked
            case "session_not_found": .sessionNotFound
            case "agent_not_found": .agentNotFound
            case "interaction_not_found": .interactionNotFound
            case "idempotency_conflict": .idempotencyConflict
            case "message_finalized": .messageFinalized
            case "session_deleted": .sessionDeleted
            case "interaction_expired": .interactionExpired
            case "payload_too_large": .payloadTooLarge
            case "rate_limited": .rateLimited
            case "content_blocked": .contentBlocked
            case "internal_error": .internalError
            case "upstream_error": .upstreamError
            case "temporarily_unavailable": .temporarilyUnavailable
            case "agent_degraded": .agentDegraded
            default: .other(String(name.prefix(64)))
            }
    }

    /// What a status means when no code came with it. A 403 or 404 without an envelope is a proxy's rather than the relay's
    /// and says nothing about the session: it stays unnamed.
    package init(status: Int) {
        self =
            switch status {
            case 400: .invalidRequest
            case 401: .invalidToken
            case 413: .payloadTooLarge
            case 429: .rateLimited
            case 451: .contentBlocked
            case 500: .internalError
            case 502, 504: .upstreamError
            case 503: .temporarilyUnavailable
            default: .other("http_\(status)")
            }
    }
}
