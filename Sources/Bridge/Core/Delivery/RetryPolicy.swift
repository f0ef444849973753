package import Vocabulary

/// The kind of post that a call carries: rules differ by kind, not by content.
package enum PostKind: Hashable, Sendable, CaseIterable {
    case open, text, taskStarted, taskProgress, taskEnded, approval, end, message

    /// Something must be seen in its place, so nothing is dropped without the turn's word.
    package var mustBeSeen: Bool {
        switch self {
        case .open, .approval, .end, .message: true
        case .text, .taskStarted, .taskProgress, .taskEnded: false
        }
    }
}

/// The consequence of an answer.
package enum RetryDecision: Hashable, Sendable {
    case delivered(RelayReceipt)
    /// Same key, same bytes.
    case retry(after: Duration)
    /// The call has arrived, or no retry can help: the lane continues.
    case done(RelayErrorCode)
    case drop(RelayErrorCode)
    /// The same post once more under the next key: the first key is taken by another body.
    case again(RelayErrorCode)
    case askTurn(PostRefusal)
    /// Another bridge has opened the bubble (`Claim`).
    case anothers
    case deadLetter
    case destinationGone(RelayErrorCode)
    case windowClosed
    case stopConnection(RelayErrorCode)
}

/// The one place that decides what an answer means (DESIGN.md#lanes-buckets-pacing, "Retry" and "By code"; relay.md#retry-policy, relay.md#codes).
package struct RetryPolicy: Sendable {
    /// Facts about the call that was answered.
    package struct Tried: Hashable, Sendable {
        package var kind: PostKind
        /// An earlier try may have been applied: its outcome is unknown.
        package var mayHaveLanded = false
        /// Number of tries without a known outcome, counting the present one if it has none.
        package var unknownOutcomes = 0
        /// Number of the body in this place, from 1.
        package var form = 1
        /// An end waits behind it in its lane.
        package var endWaits = false
        /// The body carries a mark, so that a conflict means another bridge (`Claim`).
        package var isMarked = false
        /// The call is given up past this moment.
        package var deadline: Instant

        package init(kind: PostKind, deadline: Instant) {
            self.kind = kind
            self.deadline = deadline
        }
    }

    private static let longestBackOff = Duration.seconds(30)
    /// Pauses after unknown outcomes, with full jitter.
    private static let backOff = BackOff(first: .milliseconds(200), longest: longestBackOff, jitter: 0...1)
    /// The relay forgets keys after a day (relay.md#rules): no call is retried for longer.
    static let longestWait = Duration.seconds(86_400)
    /// A delta that an end waits for is given up after as many unknown outcomes: the end carries its text.
    static let deltaTriesBeforeEnd = 8

    package private(set) var budget = RetryBudget()

    package init() {}

    /// A delta or a task's progress is tried for the first time.
    package mutating func firstTry(_ kind: PostKind) {
        if Self.spendsBudget(kind) { budget.firstTry() }
    }

    package mutating func decide(
        _ outcome: RelayAnswer.Outcome, tried: Tried, at now: Instant, using random: inout some RandomNumberGenerator
    ) -> RetryDecision {
        switch outcome {
        case .delivered(let receipt):
            // An open without the id of its bubble is no answer at all.
            if tried.kind == .open && receipt.message == nil { return afterUnknown(tried, at: now, using: &random) }
            return .delivered(receipt)
        case .unknown:
            return afterUnknown(tried, at: now, using: &random)
        case .refused(let refusal):
            return afterRefusal(refusal, tried: tried, at: now, using: &random)
        }
    }

    /// Whether the fate of the call stays unknown after this answer.
    package static func isUnknown(_ outcome: RelayAnswer.Outcome, kind: PostKind) -> Bool {
        switch outcome {
        case .delivered(let receipt): kind == .open && receipt.message == nil
        case .unknown: true
        case .refused(let refusal): meaning(of: refusal) == .unknown
        }
    }

    /// The relay said that a bucket is empty.
    package static func isRateLimited(_ refusal: RelayRefusal) -> Bool { meaning(of: refusal) == .rateLimited }

    /// The relay refuses whatever this token sends.
    package static func isOfToken(_ refusal: RelayRefusal) -> Bool { meaning(of: refusal) == .connectionLost }

    /// How long the relay asked us to wait; a second if it only refused.
    package static func told(_ refusal: RelayRefusal) -> Duration {
        min(max(refusal.retryAfter ?? .seconds(1), .zero), longestWait)
    }

    // MARK: - By code

    private enum Meaning: Hashable {
        case badCall, connectionLost, destinationGone, windowClosed, conflict, finalized, notAllowed, blocked
        case rateLimited, overloaded, unknown
    }

    private static func meaning(of refusal: RelayRefusal) -> Meaning {
        let meaning = meaning(ofCode: refusal.code, refusal.status)
        switch meaning {
        case .rateLimited, .overloaded, .unknown: return meaning
        // A relay in trouble refuses nothing for good, whatever code it gives.
        case .badCall, .connectionLost, .destinationGone, .windowClosed, .conflict, .finalized, .notAllowed, .blocked:
            return refusal.isFinal ? meaning : Self.meaning(ofStatus: refusal.status)
        }
    }

    private static func meaning(ofCode code: RelayErrorCode, _ status: Int) -> Meaning {
        switch code {
        case .invalidRequest, .payloadTooLarge: .badCall
        case .invalidTokenLocation, .invalidToken, .installationRevoked, .agentNotFound: .connectionLost
        case .permissionDenied: .notAllowed
        case .sessionNotFound, .interactionNotFound, .sessionDeleted: .destinationGone
        case .interactionExpired: .windowClosed
        case .idempotencyConflict: .conflict
        case .messageFinalized: .finalized
        case .contentBlocked: .blocked
        case .rateLimited: .rateLimited
        case .temporarilyUnavailable, .agentDegraded: .overloaded
        case .internalError, .upstreamError: .unknown
        case .other: meaning(ofStatus: status)
        }
    }

    /// Judges a code that relay.md#codes does not list by its status, and refuses this one call at most. A later relay may mean
    /// anything by a 401 or 410 of its own, so that it must end no turn, session or connection.
    private static func meaning(ofStatus status: Int) -> Meaning {
        switch status {
        case 429: .rateLimited
        case 503: .overloaded
        case 408, 425: .unknown
        case 400...499: .notAllowed
        default: .unknown
        }
    }

    private mutating func afterRefusal(
        _ refusal: RelayRefusal, tried: Tried, at now: Instant, using random: inout some RandomNumberGenerator
    ) -> RetryDecision {
        let code = refusal.code
        switch Self.meaning(of: refusal) {
        case .badCall, .notAllowed, .blocked:
            return tried.kind.mustBeSeen ? .askTurn(PostRefusal(refusal)) : .drop(code)
        case .connectionLost:
            return .stopConnection(code)
        case .destinationGone:
            return .destinationGone(code)
        case .windowClosed:
            // A whole message carries no interaction that could expire.
            return tried.kind == .message ? .askTurn(PostRefusal(refusal)) : .windowClosed
        case .conflict:
            return afterConflict(code, tried: tried)
        case .finalized:
            return afterFinalized(code, tried: tried)
        case .rateLimited, .overloaded:
            return afterToldToWait(Self.told(refusal), tried: tried, at: now, using: &random)
        case .unknown:
            return afterUnknown(tried, at: now, using: &random)
        }
    }

    /// The key carries another body: our bug, or a second bridge. A marked placeholder is never made twice, so a conflict of one is
    /// the latter.
    private func afterConflict(_ code: RelayErrorCode, tried: Tried) -> RetryDecision {
        switch tried.kind {
        case .open where tried.isMarked && tried.form == 1: .anothers
        case .open: tried.form == 1 ? .again(code) : .askTurn(PostRefusal(code))
        case .text: .drop(code)
        case .end, .taskStarted, .taskProgress, .taskEnded: .done(code)
        // The turn knows whether the other text may count as this one. A card, or a part of one, has no substitute.
        case .message, .approval: .askTurn(PostRefusal(code))
        }
    }

    /// Nil if the store is tried again. If our own journal has the key with another body, the relay has nothing of the call yet: a post
    /// that a person must see takes the next key, and no call counts as done.
    static func afterFailedSave(_ tried: Tried, keyIsTaken: Bool, at now: Instant) -> RetryDecision? {
        guard now < tried.deadline else { return .deadLetter }
        guard keyIsTaken else { return nil }
        return switch tried.kind {
        case .open, .message:
            tried.form == 1 ? .again(.idempotencyConflict) : .askTurn(PostRefusal(.idempotencyConflict))
        case .end, .approval: .askTurn(PostRefusal(.idempotencyConflict))
        case .text, .taskStarted, .taskProgress, .taskEnded: .drop(.idempotencyConflict)
        }
    }

    /// The bubble has an end already, which is ours only if an earlier try may have landed.
    private func afterFinalized(_ code: RelayErrorCode, tried: Tried) -> RetryDecision {
        switch tried.kind {
        case .text where tried.mayHaveLanded, .end where tried.mayHaveLanded: .done(code)
        case .open, .approval, .end, .message: .askTurn(PostRefusal(code))
        case .text, .taskStarted, .taskProgress, .taskEnded: .drop(code)
        }
    }

    // MARK: - How long

    /// The relay's delay, plus jitter, never less. Nothing was applied, so the retry budget is not touched.
    private func afterToldToWait(
        _ wait: Duration, tried: Tried, at now: Instant, using random: inout some RandomNumberGenerator
    ) -> RetryDecision {
        let jitter = min(max(wait / 10, .milliseconds(50)), .seconds(5)) * Self.fraction(&random)
        // A whole message that was never taken left no key behind that the relay could forget.
        let patience: Duration = tried.kind == .message && !tried.mayHaveLanded ? Self.longestWait : .zero
        guard now + wait <= tried.deadline + patience else { return .deadLetter }
        return .retry(after: wait + jitter)
    }

    private mutating func afterUnknown(
        _ tried: Tried, at now: Instant, using random: inout some RandomNumberGenerator
    ) -> RetryDecision {
        guard now < tried.deadline else { return .deadLetter }
        var wait = Self.backOff.pause(after: tried.unknownOutcomes, using: &random)
        if Self.spendsBudget(tried.kind) {
            if tried.endWaits {
                if tried.kind == .taskProgress || tried.unknownOutcomes >= Self.deltaTriesBeforeEnd {
                    return .deadLetter
                }
                wait = min(wait, LaneBounds.lastDeltaHold)
            } else if !budget.retry() {
                // Progress is not worth more; a delta must not leave a hole, so it waits longest instead.
                if tried.kind == .taskProgress { return .deadLetter }
                wait = Self.longestBackOff * (0.5 + Self.fraction(&random) / 2)
            }
        }
        // The last try of all is made at the deadline.
        return .retry(after: min(wait, tried.deadline - now))
    }

    private static func spendsBudget(_ kind: PostKind) -> Bool { kind == .text || kind == .taskProgress }

    /// A number from 0 up to, not including, 1.
    private static func fraction(_ random: inout some RandomNumberGenerator) -> Double {
        Double(random.next() >> 11) / Double(1 << 53)
    }
}

/// The retries of deltas and progress that an installation may spend: a tenth of the first tries, and ten at the start.
///
/// The budget keeps many lanes from multiplying the load of a relay in trouble. Calls that must arrive do not ask it.
package struct RetryBudget: Hashable, Sendable {
    private static let most = 200

    private var tenths = 100

    package var left: Int { tenths / 10 }

    mutating func firstTry() { tenths = min(tenths + 1, Self.most) }

    mutating func retry() -> Bool {
        guard tenths >= 10 else { return false }
        tenths -= 10
        return true
    }
}
