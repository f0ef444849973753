import BridgeService
import Crypto
import Locking
import RelayRules
import Sealing
import Simulator
import Vocabulary

/// Both ends of the demo's sealed chats: the user who writes in them, and the bridge that answers.
///
/// The demo's user makes the keys of the chats that the demo begins, the page those of its own. Each key is put in a box for the bridge and for
/// every phone, later ones included: the relay can read none of it.
final class DemoKeys: Sendable {
    private struct State {
        var chats: [SessionID: SecretKey] = [:]
    }

    private let simulator: RelaySimulator
    private let library: OpenSSLSealing
    private let secret: SecretKey
    private let device: (id: String, publicKey: [UInt8])
    private let state = Locked(State())

    init(_ simulator: RelaySimulator) throws {
        library = try OpenSSLSealing()
        self.simulator = simulator
        secret = Self.newKey(library)
        let publicKey = library.publicKey(of: secret)
        device = (
            simulator.bridgeRegisters(publicKey: Hexadecimal.text(publicKey), label: "demo"), publicKey
        )
    }

    private static func newKey(_ library: OpenSSLSealing) -> SecretKey {
        // The length is always right.
        SecretKey(library.bytes(SecretKey.length)) ?? newKey(library)
    }

    // MARK: The bridge's end

    var sealer: TurnSealer {
        TurnSealer(
            library: library, secrets: library, recordKey: { [secret] in secret },
            sealer: { [self] session, name in sealer(session).flatMap { $0.name == name ? $0 : nil } },
            open: { [self] sealed, session in
                let sealer = sealer(session)
                let text = (try? sealer?.text(of: sealed, .messages)).flatMap { $0 }
                return (text.map { .text($0) } ?? .unreadable(.notAuthentic), sealer?.name)
            })
    }

    func sealing(in session: SessionID) -> TurnSealing { sealer(session).map { .sealed($0.name) } ?? .open }

    /// Nil if the chat is not sealed, or the page has not handed its key over.
    private func sealer(_ session: SessionID) -> SessionSealer? {
        state.withLock { $0.chats[session] }.map { SessionSealer(session, key: $0, library: library) }
    }

    func granted(_ session: SessionID, to device: String, box: String) {
        guard device == self.device.id, let bytes = Base64.decode(box),
            let key = try? SealedBox.open(bytes, with: secret, library: library)
        else { return }
        state.withLock { $0.chats[session] = key }
    }

    func phoneAdded(_ id: String, publicKey: String) {
        guard id != device.id, let bytes = Hexadecimal.bytes(publicKey) else { return }
        for (session, key) in state.withLock({ $0.chats }) {
            guard let box = box(of: key, for: bytes) else { continue }
            simulator.bridgeGrants(session: session.text, [(id, box)])
        }
    }

    private func box(of key: SecretKey, for publicKey: [UInt8]) -> String? {
        (try? SealedBox.seal(key, for: publicKey, library: library, random: library)).map { Base64.encode($0) }
    }

    // MARK: The user's end

    /// Nil if the chat is not sealed.
    func sends(_ text: String, in session: SessionID) -> RelaySimulator.UserMessage? {
        guard let sealer = sealer(session) else { return nil }
        let sealed = sealer.seal(text, .messages, random: library)
        return simulator.userSends(sealedText: sealed, session: session.text)
    }

    func startChat() -> SessionID {
        let session = SessionID(simulator.userStartsSession())
        let key = Self.newKey(library)
        state.withLock { $0.chats[session] = key }
        let phones = simulator.phoneDevices.filter { !$0.isRevoked }.compactMap { phone in
            Hexadecimal.bytes(phone.publicKey).map { (phone.id, $0) }
        }
        let boxes = ([(device.id, device.publicKey)] + phones).compactMap { id, publicKey in
            box(of: key, for: publicKey).map { (device: id, box: $0) }
        }
        simulator.userGrants(session: session.text, boxes)
        return session
    }

    /// Text of a sealed field of an event, for the terminal.
    func text(of sealed: String?, _ path: SealedPath, in session: SessionID) -> String? {
        guard let sealed else { return nil }
        return try? sealer(session)?.text(of: sealed, path, mayBeEmpty: true)
    }
}
