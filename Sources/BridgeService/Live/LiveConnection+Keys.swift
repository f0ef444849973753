import BridgeCore
import BridgeModel
import Links
import RelayProtocol
import Sealing

// Sealed chats: what the ring of keys says to the turns, the turns to the ring, and both to people.
extension LiveConnection {
    // MARK: From the ring

    func keysSay(_ order: KeyRingOrder) {
        switch order {
        case .keyReady(let session, _):
            openMessages(in: session)
            tellOfChangedKey(in: session)
        case .chatGranted: beginReadable()
        case .tell(let news): heard(news)
        case .save, .register, .grant, .acknowledge, .letGo: break
        }
    }

    private func heard(_ news: KeyRingNews) {
        tell(.keys(name, news))
        switch news {
        case .devicePinned: makeChats()
        case .deviceHeld, .deviceChangedKey: tellOfHeldDevices()
        case .keyChanged(let session, let device): keys?.keyChanged(session, after: device)
        default: break
        }
    }

    /// Messages that were taken before their key was there. Called when there is a key, and behind each turn that begins without.
    func openMessages(in session: SessionID) {
        guard let keys, let runner, let key = keys.ask({ $0.keyName(for: session) }) else { return }
        var opened: [TurnID: OpenedText] = [:]
        for awaited in runner.ask({ $0.messagesAwaitingKey(in: session) }) {
            switch keys.open(awaited.sealedText, in: session).text {
            case .text(let text):
                opened[awaited.turn] = keys.isOurs(awaited.sealedText) ? .unreadable : .text(text)
            case .unreadable: opened[awaited.turn] = .unreadable
            case .waitsForKey: break
            }
        }
        runner.tell { bridge, now in bridge.keyCame(key, in: session, opened: opened, at: now) }
    }

    // MARK: From the turns

    /// Every turn that is still open has said so.
    func keysAreRestored() {
        keys?.tell { ring, now, secrets in ring.restored(at: now, using: secrets) }
        for session in ask({ $0.sessionsAwaitingKey }) ?? [] { openMessages(in: session) }
    }

    // MARK: Messages

    /// How the turn of a message goes out, and what of the message is to be read. Asked once, before the message is written down;
    /// the key is held until the turn has begun, or never does.
    func seal(_ opening: inout TurnOpening, _ sealedText: String?) {
        guard let keys else {
            opening.sealedText = sealedText
            if sealedText != nil { refuse(&opening, .cameSealed) }
            return
        }
        let session = opening.session
        let (hasKey, key) = keys.ask { ($0.isSealed(session), $0.keyName(for: session)) }
        let encryption = keys.encryption
        opening.sealedText = sealedText
        switch SealingPolicy.verdict(cameSealed: sealedText != nil, hasKey: hasKey, encryption) {
        case .open: return
        case .refusesSealed: refuse(&opening, .cameSealed)
        case .refusesOpen:
            refuse(&opening, .cameOpen)
            // The sentence is sealed where it can be.
            if let key { opening.sealing = .sealed(key) }
        case .sealed:
            opening.sealing = .sealed(key)
            if let sealedText { read(sealedText, into: &opening, keys) }
        }
        if let key = opening.sealing.key { keys.hold(key, in: session, for: opening.id) }
    }

    func refuse(_ opening: inout TurnOpening, _ refusal: MessageRefusal) {
        opening.refusal = refusal
        opening.message?.text = ""
    }

    private func read(_ sealed: String, into opening: inout TurnOpening, _ keys: LiveKeys) {
        let hasFiles = opening.message?.attachments.isEmpty == false
        let (text, key) = keys.open(sealed, in: opening.session, mayBeEmpty: hasFiles)
        opening.sealing = .sealed(key)
        switch text {
        case .text(let text):
            if keys.isOurs(sealed) {
                refuse(&opening, .unreadable)
            } else {
                opening.message?.text = text
            }
        case .unreadable: refuse(&opening, .unreadable)
        case .waitsForKey: opening.sealing = .sealed(nil)
        }
    }

    // MARK: Updates

    /// Acknowledged once the files have what it changed.
    func changeKeys(
        _ update: RelayUpdate, _ event: (inout KeyRing, UpdateID, Instant, any SecretRandom) -> Void
    ) {
        guard let keys else { return acknowledge(update) }
        keys.change(event) { [weak self] isKept in
            guard let self else { return }
            if isKept { acknowledge(update) } else { relay?.tell { link, _ in link.letGo(update) } }
        }
    }

    // MARK: Notices to the phone

    /// In the chat itself, and in another one: the phones that are left may not have the key that the relay passed on.
    private func tellOfChangedKey(in session: SessionID) {
        guard let keys, let (device, label, others) = keys.takeChange(of: session) else { return }
        let name = device?.number.map { "device \($0)\(label.map { " (\($0))" } ?? "")" } ?? "a device"
        let why =
            "has a new key, since the relay says that \(name) was revoked. If you revoked no device, begin another chat, and look at: "
            + "sophon-bridge devices list"
        loose.say("This chat \(why)", in: session)
        if let other = others.first(where: { $0 != session }) { loose.say("Another chat \(why)", in: other) }
    }

    /// A held device is reported once, in a chat that a pinned one reads.
    func tellOfHeldDevices() {
        guard let keys, keys.encryption != .off, state.relayIsUp else { return }
        let (device, chats) = keys.ask { ($0.untoldDevices.first, $0.chatsForNotices) }
        guard let device, let chat = chats.first else { return }
        if keys.beginTelling() { tell(of: device, in: chat, else: Array(chats.dropFirst().prefix(2)), keys) }
    }

    private func tell(
        of device: DeviceBook.Device, in chat: SessionID, else others: [SessionID], _ keys: LiveKeys
    ) {
        loose.say(
            Self.sentence(about: device), in: chat, once: "device-\(device.id)-\(Hexadecimal.text(device.publicKey))"
        ) {
            [weak self] wasSaid in
            guard let self else { return }
            if !wasSaid, let next = others.first {
                return tell(of: device, in: next, else: Array(others.dropFirst()), keys)
            }
            keys.endTelling()
            guard wasSaid else { return }
            keys.tell { ring, now, _ in ring.told(of: device, at: now) }
            tellOfHeldDevices()
        }
    }

    private static func sentence(about device: DeviceBook.Device) -> String {
        let label = device.label.map { ", which calls itself “\(DeviceLabel.plain($0))”," } ?? ""
        return
            "A device\(label) asks for the keys of your encrypted chats. It gets none, and reads nothing, until you allow it on the "
            + "bridge's machine: sophon-bridge devices allow \(device.number)"
    }
}
