package import Vocabulary

/// Reads the relay's answers (relay.md#response-envelope, relay.md#headers, relay.md#errors, relay.md#headers-on-every-bridge-response).
///
/// A call is delivered only if the status is 2xx, `ok` is true and the expected member is there, and refused only in the relay's own envelope. Any
/// other answer with any status (HTML of a proxy, half a reply) is an unknown outcome: the relay may have applied the call.
package enum RelayDecoder {
    /// Indispensable member of the answer to a delivered call.
    package enum Expected: Hashable, Sendable { case nothing, message, session, device }

    package static func expected(of call: RelayCall) -> Expected {
        switch call.content {
        case .post(.open), .post(.message): .message
        case .newSession: .session
        case .post, .toolFile: .nothing
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
        guard let envelope = ReplyEnvelope(response.body, readsDevice: expected == .device) else {
            return foreign(response)
        }
        let headers = RelayHeaders(response)
        func made(_ outcome: RelayAnswer.Outcome) -> RelayAnswer {
            RelayAnswer(outcome, rate: headers.rate, request: headers.request, date: headers.date)
        }
        switch envelope.word {
        case .taken:
            guard (200..<300).contains(response.status) else {
                return made(.unknown(reason: "the relay answered HTTP \(response.status) and that all is well"))
            }
            return made(delivered(envelope, expecting: expected))
        case .refused(let name):
            let wait =
                envelope.retryAfter
                ?? headers.retryAfter.flatMap { RetryAfter.parse($0, nowWallMilliseconds: wall) }
            return made(
                .refused(
                    RelayRefusal(
                        status: response.status, code: RelayErrorCode(name: name),
                        message: (envelope.words ?? "").head(bytes: 400), retryAfter: wait,
                        fields: envelope.fields)))
        }
    }

    /// A foreign answer: neither its body nor its headers are the relay's.
    private static func foreign(_ response: HTTPResponse) -> RelayAnswer {
        let answer = ForeignAnswer(status: response.status, body: response.body, server: response.header("Server"))
        return RelayAnswer(.unknown(reason: answer.description), foreign: answer)
    }

    private static func delivered(_ envelope: ReplyEnvelope, expecting expected: Expected) -> RelayAnswer.Outcome {
        var receipt = RelayReceipt(
            message: envelope.message.map { MessageID($0) }, session: envelope.session.map { SessionID($0) },
            repeated: envelope.isRepeat)
        receipt.device = envelope.device.map { DeviceID($0) }
        receipt.publicKeyChanged = envelope.publicKeyChanged
        for name in [envelope.message, envelope.session, envelope.device] {
            if let name, !RelayName.isTaken(name) {
                return .unknown(reason: "the relay's answer has an id of a form that is not taken")
            }
        }
        switch expected {
        case .message where receipt.message == nil: return .unknown(reason: "the relay's answer has no message_id")
        case .session where receipt.session == nil: return .unknown(reason: "the relay's answer has no session_id")
        case .device where receipt.device == nil: return .unknown(reason: "the relay's answer has no device_id")
        case .message, .session, .device, .nothing: return .delivered(receipt)
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
}
