package import Vocabulary

/// Seals and opens the content of one chat under one of its keys (relay.md#key-schedule).
///
/// The initialiser derives the keys of all fields: each piece of text then costs one encryption.
package struct SessionSealer: Sendable {
    package let session: SessionID
    /// Name of the session's key. A turn continues under the key that it began with.
    package let name: KeyName
    private let root: SecretKey
    private let messages: SecretKey
    private let tasks: SecretKey
    private let approvals: SecretKey
    private let library: any SealingLibrary

    package init(_ session: SessionID, key: SecretKey, library: any SealingLibrary) {
        self.session = session
        self.library = library
        root = key
        name = KeyName(of: key, library: library)
        messages = KeySchedule.key(for: .messages, in: session, from: key, library: library)
        tasks = KeySchedule.key(for: .tasks, in: session, from: key, library: library)
        approvals = KeySchedule.key(for: .approvals, in: session, from: key, library: library)
    }

    // MARK: Fields of calls and updates: base64

    package func seal(_ text: String, _ path: SealedPath, random: some SecretRandom) -> String {
        Base64.encode(seal(Array(text.utf8), path, random: random))
    }

    /// Anyone can empty a field: pass `mayBeEmpty` only if an empty text is harmless.
    package func text(
        of sealed: String, _ path: SealedPath, mayBeEmpty: Bool = false
    ) throws(SealingError) -> String {
        guard let bytes = Base64.decode(sealed) else { throw .badEncoding }
        let content = try open(bytes, path)
        guard mayBeEmpty || !content.isEmpty else { throw .empty }
        guard let text = String(validating: content, as: UTF8.self) else { throw .notText }
        return text
    }

    // MARK: Bytes

    package func seal(_ content: [UInt8], _ path: SealedPath, random: some SecretRandom) -> [UInt8] {
        Envelope.seal(content, with: key(for: path), library: library, random: random)
    }

    package func open(_ sealed: [UInt8], _ path: SealedPath) throws(SealingError) -> [UInt8] {
        try Envelope.open(sealed, with: key(for: path), library: library)
    }

    package func blindIndex(ofFile path: String) -> BlindIndex {
        KeySchedule.blindIndex(ofFile: path, in: session, from: root, library: library)
    }

    private func key(for path: SealedPath) -> SecretKey {
        switch path {
        case .messages: messages
        case .tasks: tasks
        case .approvals: approvals
        case .agentFile: KeySchedule.key(for: path, in: session, from: root, library: library)
        }
    }
}

extension KeyName {
    /// Our own scheme: no other program computes the same name.
    package init(of key: SecretKey, library: some SealingLibrary) {
        let code = library.authenticationCode(of: Array("sophon-bridge/key-name".utf8), key: key)
        self.init(Base64URL.encode(Array(code.prefix(9))))
    }
}
