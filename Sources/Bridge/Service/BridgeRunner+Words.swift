import BridgeCore
package import Vocabulary

extension BridgeRunner {
    package static func notSentSentence(_ failure: JournalFailure) -> String {
        "The bridge cannot write to its disk, so the agent was not given this message; please send it again later. "
            + failure.remedyForUser
    }
}

extension StoredCall {
    var heldBytes: Int { HeldBytes.entryCost + body.count }
}

extension CallAttempt.Payload {
    var key: IdempotencyKey? {
        switch self {
        case .fresh(let call): call.key
        case .stored(let key): key
        }
    }
}

extension RelayAnswer.Outcome {
    var isDelivered: Bool { if case .delivered = self { true } else { false } }

    /// Constant words and codes for `explain`, nothing that the user wrote.
    var words: String {
        switch self {
        case .delivered(let receipt): receipt.repeated ? "delivered before" : "delivered"
        case .refused(let refusal): "\(refusal.status) \(refusal.code)"
        case .unknown(let reason): reason
        }
    }
}
