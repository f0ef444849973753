import BridgeService
import Crypto
import RelayRules
package import Sealing
package import Vocabulary

/// A connection's key files on the virtual disk. A kill loses content that was not yet written.
package final class VirtualKeyFiles: @unchecked Sendable {
    private let disk: VirtualDisk
    package private(set) var stored = StoredKeyRing()
    package private(set) var saves = 0

    init(_ disk: VirtualDisk) { self.disk = disk }

    func save(_ new: StoredKeyRing, done: @escaping @Sendable (Bool) -> Void) {
        disk.write(.synced) { [self] failure in
            if failure == nil {
                stored = new
                saves += 1
            }
            done(failure == nil)
        }
    }
}

/// Phones and keys of a side whose chats are sealed.
package final class WorldSealing: @unchecked Sendable {
    package let files: VirtualKeyFiles
    package var phones: [WorldPhone] = []
    package var encryption = Encryption.auto
    package var trust = DeviceBook.Trust.pin
    package var pairedAt: Int64?
    package let bridgeSecret: SecretKey
    private let seed: UInt64

    init(_ disk: VirtualDisk, seed: UInt64) {
        self.seed = seed
        files = VirtualKeyFiles(disk)
        guard let secret = SecretKey(SeededSecrets(seed).bytes(SecretKey.length)) else {
            preconditionFailure("as many")
        }
        bridgeSecret = secret
    }

    func parts(_ life: Int, token: Secret, alarm: any Alarm) -> LiveKeys.Parts {
        do {
            let library = try OpenSSLSealing()
            let ring = try KeyRing(
                device: bridgeSecret, stored: files.stored, pairedAt: pairedAt, installation: token.namedInstallation,
                trustsAllDevices: trust == .trust || EdgeFaults.trustsAllDevices, library: library)
            var parts = LiveKeys.Parts(
                ring: ring, library: library, secrets: SeededSecrets(seed &+ UInt64(life) &* 7_919), alarm: alarm,
                save: { [files] in files.save($0, done: $1) })
            parts.encryption = encryption
            parts.label = "test machine"
            return parts
        } catch { fatalError("\(error)") }
    }
}

extension WorldSide {
    // MARK: The person, sealed

    /// Adds a phone that seals.
    @discardableResult
    package func addsPhone(_ name: String = "Phone", after: Duration = .zero) -> WorldPhone {
        let phone = WorldPhone(name, seed: random.next())
        sealing.phones.append(phone)
        time.after(after) { [self] in
            phone.register(with: &relay, at: moment)
            pump()
        }
        return phone
    }

    /// Writes in the chat of this number, which begins with a granted key unless it exists. `grantAfter` delays the
    /// grant behind the message.
    package func writesSealed(
        _ text: String, chat: Int = 0, from phone: Int = 0, grantAfter: Duration? = nil, after: Duration
    ) {
        time.after(after) { [self] in
            let phone = sealing.phones[phone]
            let isNew = chats[chat] == nil
            let session = chats[chat] ?? relay.userStartsSession(at: moment)
            if isNew { begins(session, chat, phone, grantAfter) }
            let made = relay.userSends(sealedText: phone.seal(text, in: session), session: session, at: moment)
            note(text, made)
            pump()
        }
    }

    private func begins(_ session: String, _ chat: Int, _ phone: WorldPhone, _ grantAfter: Duration?) {
        begins(chat, in: session)
        phone.makeKey(of: session)
        grants(session, phone, after: grantAfter ?? .zero)
    }

    /// Grants once the bridge is a device.
    private func grants(_ session: String, _ phone: WorldPhone, after: Duration) {
        guard after > .zero || relay.bridgeDevice == nil else {
            return phone.grantToBridge(session, through: &relay, at: moment)
        }
        time.after(max(after, .milliseconds(100))) { [self] in
            grants(session, phone, after: .zero)
            pump()
        }
    }

    /// A hostile relay sends any envelope as a message of the user.
    package func relaySends(_ envelope: String, chat: Int = 0, as text: String, after: Duration) {
        time.after(after) { [self] in
            guard let session = chats[chat] else { return }
            note(text, relay.userSends(sealedText: envelope, session: session, at: moment))
            pump()
        }
    }

    /// A hostile relay grants a key of its own to the bridge, for any chat.
    package func relayGrants(_ key: SecretKey, session: String, after: Duration) {
        time.after(after) { [self] in
            guard let bridge = relay.bridgeDevice, let theirs = Hexadecimal.bytes(bridge.publicKey),
                let library = sealing.phones.first?.library,
                let box = try? SealedBox.seal(key, for: theirs, library: library, random: SeededSecrets(5))
            else { return }
            relay.userGrants(session: session, [(bridge.id, Base64.encode(box))], at: moment)
            pump()
        }
    }

    package func revokes(_ phone: WorldPhone, after: Duration) {
        time.after(after) { [self] in
            relay.userRevokes(device: phone.id, at: moment)
            pump()
        }
    }

    // MARK: The phone

    package func reads(_ phone: WorldPhone, chat: String) -> [String?] {
        phone.takeKeys(from: relay)
        return relay.sessions.first { $0.id == chat }.map { phone.answers(in: $0) } ?? []
    }
}

// A world with one connection.
extension LiveWorld {
    @discardableResult
    package func addsPhone(_ name: String = "Phone", after: Duration = .zero) -> WorldPhone {
        sides[0].addsPhone(name, after: after)
    }
    package func writesSealed(
        _ text: String, chat: Int = 0, from phone: Int = 0, grantAfter: Duration? = nil, after: Duration
    ) {
        sides[0].writesSealed(text, chat: chat, from: phone, grantAfter: grantAfter, after: after)
    }
    package func relaySends(_ envelope: String, chat: Int = 0, as text: String, after: Duration) {
        sides[0].relaySends(envelope, chat: chat, as: text, after: after)
    }
    package func relayGrants(_ key: SecretKey, session: String, after: Duration) {
        sides[0].relayGrants(key, session: session, after: after)
    }
    package func revokes(_ phone: WorldPhone, after: Duration) { sides[0].revokes(phone, after: after) }
    package func reads(_ phone: WorldPhone, chat: String) -> [String?] { sides[0].reads(phone, chat: chat) }
}
