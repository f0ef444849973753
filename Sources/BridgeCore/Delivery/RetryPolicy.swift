package import BridgeModel

/// The one place that decides what an answer means for its call (DESIGN, section 8; relay sheet 10.2).
package enum RetryPolicy {
    package enum Verdict: Hashable, Sendable {
        case delivered(RelayReceipt)
        /// It is there already, whoever put it.
        case done
        /// Same key, same bytes, as told by the relay.
        case retryAsTold(after: Duration)
        /// Same key, same bytes; nobody knows whether it was applied.
        case retryUnknown
        /// Give up this one call.
        case drop(RelayErrorCode)
        /// The preview ends: what the phone shows can no longer be continued safely.
        case stopPreview
        /// Another form of the open, once.
        case reopen
        case askTurn(RelayErrorCode)
        case destinationGone(RelayErrorCode)
        case windowClosed
        case stopConnection(RelayErrorCode)
    }

    package static func verdict(on answer: RelayAnswer, for name: PostName, tries: Int) -> Verdict {
        switch answer.outcome {
        case .delivered(let receipt): .delivered(receipt)
        case .unknown: .retryUnknown
        case .refused(let refusal): verdict(on: refusal, for: name, tries: tries)
        }
    }

    private static func verdict(on refusal: RelayRefusal, for name: PostName, tries: Int) -> Verdict {
        switch refusal.code {
        case .rateLimited, .temporarilyUnavailable, .agentDegraded:
            .retryAsTold(after: min(refusal.retryAfter ?? .seconds(1), .seconds(3600)))
        case .internalError, .upstreamError: .retryUnknown
        case .invalidToken, .installationRevoked, .agentNotFound, .invalidTokenLocation:
            .stopConnection(refusal.code)
        case .sessionNotFound, .interactionNotFound, .sessionDeleted: .destinationGone(refusal.code)
        case .interactionExpired: .windowClosed
        case .messageFinalized: finalized(name, tries: tries)
        case .idempotencyConflict: conflict(name)
        case .contentBlocked, .invalidRequest, .payloadTooLarge: shape(name, refusal.code)
        case .permissionDenied: mustBeSeen(name) ? .askTurn(refusal.code) : .drop(refusal.code)
        case .other: other(refusal, name)
        }
    }

    private static func finalized(_ name: PostName, tries: Int) -> Verdict {
        switch name {
        // Tried before: an earlier try of ours ended it. On its first try our text is not there.
        case .end: tries > 1 ? .done : .askTurn(.messageFinalized)
        case .text: .stopPreview
        case .open, .taskStarted, .taskProgress, .taskEnded, .approval, .message: .drop(.messageFinalized)
        }
    }

    private static func conflict(_ name: PostName) -> Verdict {
        switch name {
        case .open: .reopen
        case .text: .stopPreview
        case .end, .taskStarted, .taskProgress, .taskEnded, .approval, .message: .done
        }
    }

    private static func shape(_ name: PostName, _ code: RelayErrorCode) -> Verdict {
        switch name {
        case .open, .end, .message: .askTurn(code)
        case .text: .stopPreview
        case .taskStarted, .taskProgress, .taskEnded, .approval: .drop(code)
        }
    }

    private static func other(_ refusal: RelayRefusal, _ name: PostName) -> Verdict {
        switch refusal.status {
        case 401: .stopConnection(refusal.code)
        case 410: .destinationGone(refusal.code)
        case 429: .retryAsTold(after: min(refusal.retryAfter ?? .seconds(1), .seconds(3600)))
        case 500...: .retryUnknown
        default: mustBeSeen(name) ? .askTurn(refusal.code) : .drop(refusal.code)
        }
    }

    private static func mustBeSeen(_ name: PostName) -> Bool {
        switch name {
        case .open, .end, .message: true
        case .text, .taskStarted, .taskProgress, .taskEnded, .approval: false
        }
    }

    /// Exponential back-off with full jitter, 0.2 s to 30 s. The floor keeps a lost reply from being asked again in the same
    /// millisecond.
    package static func backOff(tries: Int, using random: inout some RandomNumberGenerator) -> Duration {
        let ceiling = min(30.0, 0.2 * Double(1 << min(max(tries, 1), 10)))
        return .nanoseconds(Int64(Double.random(in: 0.2...max(0.2, ceiling), using: &random) * 1e9))
    }

    /// What is added to a wait the relay asked for: up to a tenth of it and a quarter of a second, never less than none.
    package static func jitter(on wait: Duration, using random: inout some RandomNumberGenerator) -> Duration {
        wait + .nanoseconds(Int64(Double.random(in: 0...1, using: &random) * (wait.seconds * 0.1 + 0.25) * 1e9))
    }
}

/// What keeps retries of things that may be lost (deltas, progress) from making an outage worse: each retry costs one, each
/// delivered call earns a tenth.
package struct RetryBudget: Sendable, Hashable {
    private static let most = 50.0
    private var left = Self.most

    package init() {}

    package mutating func earned() { left = min(Self.most, left + 0.1) }

    package mutating func spend() -> Bool {
        guard left >= 1 else { return false }
        left -= 1
        return true
    }
}
