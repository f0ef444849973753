package import BridgeCore
package import Sealing
package import Vocabulary

/// What the bridge asks of the keys of its chats: what goes out in sealed turns, what came in, and what the journal keeps of both.
///
/// Asked from any thread, and never under the lock of the bridge.
package struct TurnSealer: Sendable {
    /// Of a chat's key by its name; nil: the key is not there any more, or not on the disk yet.
    package var sealer: @Sendable (SessionID, KeyName) -> SessionSealer?
    /// What the user wrote, and the key that a turn of this chat begins with.
    package var open: @Sendable (_ sealed: String, SessionID) -> (text: OpenedMessage, key: KeyName?)
    /// `KeyRing.recordKey`, asked each time: another installation's is another one.
    package var recordKey: @Sendable () -> SecretKey
    package var library: any SealingLibrary
    package var secrets: any SecretRandom
    /// A text that was sealed here, so that it is known should it come back as the user's (`ReplayGuard.said`).
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

    /// What the call says, sealed; nil: it needs a key that is not there, and the call is not made.
    package func seal(_ call: RelayCall, under seal: CallSeal) -> SealedContent? {
        let sealer = seal.key.flatMap { self.sealer(seal.session, $0) }
        // A placeholder that says whose it is does so under the key alone.
        let isMarked = call.mark != nil && sealer != nil
        if !isMarked, let empty = SealedContent.withoutKey(of: call) { return empty }
        guard let sealer else { return nil }
        let content = sealer.content(of: call, random: secrets)
        for field in [SealedContent.Field.text, .delta] {
            if let text = content?[field] { said(text) }
        }
        return content
    }

    /// Of a delta that an earlier process stored. Nil: its key is not there any more, or it is not what was stored.
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
