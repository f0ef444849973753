package import BridgeModel

extension BridgeRunner {
    package static func notSentSentence(_ failure: JournalFailure) -> String {
        "The bridge cannot write to its disk, so the agent was not given this message; please send it again later. "
            + failure.remedyForUser
    }
}

extension StoredCall {
    var heldBytes: Int { HeldBytes.entryCost + body.count }
}
