package import BridgeCore
package import Sealing
package import Vocabulary

/// Sealing for the turns and the journal: seals outgoing calls and records, opens incoming messages and records.
///
/// May be called from any thread, but never under the lock of the bridge.
package struct TurnSealer: Sendable {
    /// Sealer under a chat's key of that name, or nil if the key is gone, or not on the disk yet.
    package var sealer: @Sendable (SessionID, KeyName) -> SessionSealer?
    /// Text of the user, and the key that a turn of this chat begins with.
    package var open: @Sendable (_ sealed: String, SessionID) -> (text: OpenedMessage, key: KeyName?)
    /// `KeyRing.recordKey`, read each time since another installation has another one.
    package var recordKey: @Sendable () -> SecretKey
    package var library: any SealingLibrary
    package var secrets: any SecretRandom
    /// Notes a text that was sealed here, so that it is recognised if it comes back as the user's (`ReplayGuard.said`).
    package var said: @Sendable (String) -> Void = { _ in }

    package init(
        library: any SealingLibrary, secrets: any SecretRandom, recordKey: @escaping @Sendable () -> SecretKey,
        sealer: @escaping @Sendable (SessionID, KeyName) -> SessionSealer?,
        open: @escaping @Sendable (String, SessionID) -> (text: OpenedMessage, key: KeyName?)
    ) {
        self.recordKey = recordKey
        self.library = library
        self.secrets = secrets
        self.sealer = sealer
        self.open = open
    }

    /// Sealed content of the call, or nil if its key is missing and the call cannot be made.
    package func seal(_ call: RelayCall, under seal: CallSeal) -> SealedContent? {
        let sealer = seal.key.flatMap { self.sealer(seal.session, $0) }
        // A placeholder can carry its mark under the key alone.
        let isMarked = call.mark != nil && sealer != nil
        if !isMarked, let empty = SealedContent.withoutKey(of: call) { return empty }
        guard let sealer else { return nil }
        let content = sealer.content(of: call, random: secrets)
        for field in [SealedContent.Field.text, .delta] {
            if let text = content?[field] { said(text) }
        }
        return content
    }

    /// Text of a delta that an earlier process stored. Nil if its key is gone, or the bytes are not those that were stored.
    func text(ofDelta sealed: String, in session: SessionID, under key: KeyName) -> String? {
        guard let sealer = sealer(session, key) else { return nil }
        return try? sealer.text(of: sealed, .messages)
    }

    // MARK: Records

    func seal(record: [UInt8]) -> [UInt8] {
        Envelope.seal(record, with: recordKey(), library: library, random: secrets)
    }

    func open(record: [UInt8]) throws(SealingError) -> [UInt8] {
        try Envelope.open(record, with: recordKey(), library: library)
    }
}
