import Crypto
package import RelayRules
package import Sealing
package import Vocabulary

/// The person's phone as far as sealing goes: a device with the keys of its chats. It shares the bridge's ciphers but
/// none of its decisions.
package final class WorldPhone: @unchecked Sendable {
    package let name: String
    package private(set) var id = ""
    package let secret: SecretKey
    /// Keys by session, newest last.
    package private(set) var keys: [String: [SecretKey]] = [:]
    /// Sealed texts in the order of their making, for a relay that sends one again.
    package private(set) var made: [String] = []
    private var taken: Set<String> = []
    private var random: SeededGenerator
    package let library: any SealingLibrary

    package init(_ name: String, seed: UInt64) {
        do { library = try OpenSSLSealing() } catch { fatalError("\(error)") }
        self.name = name
        random = SeededGenerator(seed: seed)
        secret = Self.key(&random)
    }

    package var publicKey: String { Hexadecimal.text(library.publicKey(of: secret)) }

    private static func key(_ random: inout SeededGenerator) -> SecretKey {
        let bytes = (0..<SecretKey.length).map { _ in UInt8.random(in: 0...255, using: &random) }
        guard let key = SecretKey(bytes) else { preconditionFailure("asked for as many") }
        return key
    }

    private var source: SeededSecrets { SeededSecrets(random.next()) }

    package func register(with relay: inout Relay, at now: Moment) {
        id = relay.userAddsDevice(publicKey: publicKey, label: name, platform: "ios", at: now)
    }

    // MARK: Chats

    /// Adds a key to the chat, perhaps its first.
    package func makeKey(of session: String) { keys[session, default: []].append(Self.key(&random)) }

    package func forgetKey(of session: String) { keys[session] = nil }

    /// The chat's newest key wrapped for a device, or nil if the chat has none or the public key is malformed.
    package func box(_ session: String, for publicKey: String) -> String? {
        guard let key = keys[session]?.last, let theirs = Hexadecimal.bytes(publicKey) else { return nil }
        return (try? SealedBox.seal(key, for: theirs, library: library, random: source)).map { Base64.encode($0) }
    }

    package func grantToBridge(_ session: String, through relay: inout Relay, at now: Moment) {
        guard let bridge = relay.bridgeDevice, let box = box(session, for: bridge.publicKey) else { return }
        relay.userGrants(session: session, [(bridge.id, box)], by: id, at: now)
    }

    /// Takes the keys that were wrapped for this phone since the last look.
    package func takeKeys(from relay: Relay) {
        for wrapped in relay.wrappedKeys(of: id) where taken.insert(wrapped.box).inserted {
            guard let box = Base64.decode(wrapped.box),
                let key = try? SealedBox.open(box, with: secret, library: library)
            else { continue }
            keys[wrapped.session, default: []].append(key)
        }
    }

    // MARK: Words

    package func seal(_ text: String, in session: String) -> String {
        guard let key = keys[session]?.last else { preconditionFailure("the chat has no key") }
        let sealed = SessionSealer(SessionID(session), key: key, library: library).seal(text, .messages, random: source)
        made.append(sealed)
        return sealed
    }

    /// Nil if no key opens it.
    package func read(_ sealed: String, in session: String, _ path: SealedPath = .messages) -> String? {
        for key in (keys[session] ?? []).reversed() {
            let sealer = SessionSealer(SessionID(session), key: key, library: library)
            if let text = try? sealer.text(of: sealed, path, mayBeEmpty: true) { return text }
        }
        return nil
    }

    /// The agent's bubbles and messages in a chat as the person sees them, with nil for one that cannot be read.
    package func answers(in chat: PhoneSession) -> [String?] {
        chat.messages.filter { $0.role == .agent }.map { message in
            message.sealedText.map { read($0, in: chat.id) } ?? message.text
        }
    }
}

/// The same bytes for the same seed.
package final class SeededSecrets: SecretRandom, @unchecked Sendable {
    private var generator: SeededGenerator

    package init(_ seed: UInt64) { generator = SeededGenerator(seed: seed) }

    package func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }
}
