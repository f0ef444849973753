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
            tellOfKeys()
        case .chatGranted: beginReadable()
        case .tell(let news): heard(news)
        case .save, .register, .grant, .acknowledge, .letGo: break
        }
    }

    private func heard(_ news: KeyRingNews) {
        tell(.keys(name, news))
        switch news {
        case .devicePinned: makeChats()
        case .deviceHeld, .deviceChangedKey: tellOfKeys()
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

    /// A changed key and a held device are reported once. The ring keeps what was not said, over a restart too.
    func tellOfKeys() {
        guard let keys, keys.encryption != .off, state.relayIsUp else { return }
        let (change, device, chats) = keys.ask { ($0.untoldChanges.first, $0.untoldDevices.first, $0.chatsForNotices) }
        guard change != nil || device != nil && !chats.isEmpty, keys.beginTelling(at: clock.now) else { return }
        if let change { return tell(of: change, chats, keys) }
        guard let device else { return }
        say(Self.sentence(about: device), once: "device-\(device.id)-\(Hexadecimal.text(device.publicKey))", in: chats)
        {
            [weak self] wasSaid in
            if wasSaid { keys.tell { ring, now, _ in ring.told(of: device, at: now) } }
            self?.endTelling(wasSaid, keys)
        }
    }

    /// In the chat itself, and in another one: the phones that are left may not have the key that the relay passed on.
    private func tell(of change: ChangedKey, _ chats: [SessionID], _ keys: LiveKeys) {
        let device = change.revoked.map { $0.number.map { "device \($0)" } ?? "a device" } ?? "no device"
        let reason =
            change.revoked == nil
            ? "has a new key: the files of an earlier version of the bridge name neither the one before nor a device that was "
                + "revoked. If you neither updated the bridge nor revoked a device, "
            : "has a new key, since the relay says that \(device) was revoked. If you revoked no device, "
        let why = reason + "begin another chat, and look at: sophon-bridge devices list"
        // Phones that are left make a key each, at about the same time.
        let name = "key-\(change.session)-\(device)-\(clock.wallMilliseconds / 3_600_000)"
        let others = chats.filter { $0 != change.session }
        loose.say("This chat \(why)", in: change.session, once: name) { [weak self] said in
            guard let self, said != .unknown else { return self?.endTelling(false, keys) ?? () }
            say("Another chat \(why)", once: name, in: others) { [weak self] wasSaid in
                let isTold = wasSaid || said == .said && others.isEmpty
                if isTold { keys.tell { ring, now, _ in ring.told(of: change, at: now) } }
                self?.endTelling(isTold, keys)
            }
        }
    }

    private func endTelling(_ wasSaid: Bool, _ keys: LiveKeys) {
        keys.endTelling(wasSaid, at: clock.now)
        if wasSaid { tellOfKeys() }
    }

    /// In the first of three chats that takes it.
    private func say(
        _ text: String, once name: String, in chats: [SessionID], tries: Int = 3,
        _ done: @escaping @Sendable (Bool) -> Void
    ) {
        guard let chat = chats.first, tries > 0 else { return done(false) }
        loose.say(text, in: chat, once: name) { [weak self] said in
            guard let self, said != .said else { return done(said == .said) }
            say(text, once: name, in: Array(chats.dropFirst()), tries: tries - 1, done)
        }
    }

    private static func sentence(about device: DeviceBook.Device) -> String {
        "A new device, number \(device.number), asks for the keys of your encrypted chats. It gets none, and reads nothing, until you "
            + "allow it on the bridge's machine: sophon-bridge devices allow \(device.number)"
    }
}
