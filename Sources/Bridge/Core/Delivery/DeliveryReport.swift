package import Vocabulary

package enum DeliveryReport: Hashable, Sendable {
    case post(TurnID, PostReport)
    /// The relay refuses this installation for good: nothing is sent from now on.
    case connectionStopped(RelayErrorCode)
    /// A call was dropped; for the log.
    case note(DeliveryNote, TurnID, PostName)
}

/// The relay's objection to a call.
package struct DeliveryNote: Hashable, Sendable {
    package var code: RelayErrorCode
    /// Paths of `errors[]` that the relay found wrong.
    package var fields: [String]
    package var request: RequestID?

    package init(code: RelayErrorCode, fields: [String] = [], request: RequestID? = nil) {
        self.code = code
        self.fields = fields
        self.request = request
    }
}

extension RetryDecision {
    /// The note for the log, besides the report to the turn.
    func report(on answer: RelayAnswer, _ name: PostName, of turn: TurnID) -> DeliveryReport? {
        switch self {
        case .stopConnection(let code):
            return .connectionStopped(code)
        case .drop, .done, .again, .askTurn:
            guard case .refused(let refusal) = answer.outcome else { return nil }
            return .note(DeliveryNote(code: refusal.code, fields: refusal.fields, request: answer.request), turn, name)
        case .delivered, .retry, .deadLetter, .anothers, .destinationGone, .windowClosed:
            return nil
        }
    }
}

/// Counts since the start, for the summary, status and metrics.
package struct DeliveryTally: Hashable, Sendable {
    package var calls: Int { tokensTaken.reduce(0, +) }
    package var deltas: Int { self[tokensOf: .delta] }
    package var delivered = 0
    /// In the order of `RelayBucket.inOrder`.
    package var tokensTaken = [Int](repeating: 0, count: RelayBucket.allCases.count)
    /// Texts and progress that went out with an earlier one.
    package var joined = 0
    package var retries = 0
    /// Answers that asked us to wait: 429 and 503.
    package var refusals = 0
    package var rateLimited = 0
    package var unknownOutcomes = 0
    package var conflicts = 0
    package var deadLetters = 0
    package var dropped = 0
    /// Payloads of cards, and progress, that gave way for want of memory.
    package var payloadsCut = 0
    /// Posts of a lane that cannot take them (after its end, beyond its bound, of no known lane).
    package var notTaken = 0
    /// Answers to calls that are not under way.
    package var strayAnswers = 0

    package subscript(tokensOf bucket: RelayBucket) -> Int { tokensTaken[bucket.index] }
}

extension DeliveryTally {
    mutating func count(_ decision: RetryDecision, wasTold: Bool) {
        switch decision {
        case .done(.idempotencyConflict), .drop(.idempotencyConflict), .again(.idempotencyConflict):
            conflicts += 1
        case .askTurn(let refusal) where refusal.code == .idempotencyConflict: conflicts += 1
        case .delivered, .retry, .done, .drop, .again, .askTurn, .anothers, .deadLetter, .destinationGone,
            .windowClosed, .stopConnection:
            break
        }
        switch decision {
        case .delivered: delivered += 1
        case .drop: dropped += 1
        case .deadLetter: deadLetters += 1
        case .retry: if wasTold { refusals += 1 }
        case .done, .again, .askTurn, .anothers, .destinationGone, .windowClosed, .stopConnection: break
        }
    }
}
