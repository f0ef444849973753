import BridgeCore
import Links
import RelayProtocol
import Sealing
import Vocabulary

// Sealed chats: what the key ring tells the turns, what the turns tell the ring, and what both tell people.
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

    /// Opens messages that were accepted before their key came. Called when a key comes, and after each turn that begins without one.
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

    /// Called once every restored turn has named its key.
    func keysAreRestored() {
        keys?.tell { ring, now, secrets in ring.restored(at: now, using: secrets) }
        for session in ask({ $0.sessionsAwaitingKey }) ?? [] { openMessages(in: session) }
    }

    // MARK: Messages

    /// Decides how a message's turn is sealed, and which text of the message is read. Called once, before the message is stored;
    /// the key is held until the turn has begun, or will never begin.
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
            // The sentence is sealed too if there is a key.
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

    /// Acknowledges the update once the files of keys have what it changed.
    func changeKeys(
        _ update: RelayUpdate, _ event: (inout KeyRing, UpdateID, Instant, any SecretRandom) -> Void
    ) {
        guard let keys else { return acknowledge(update) }
        keys.change(event) { [weak self] isKept in
            guard let self else { return }
            if isKept { acknowledge(update) } else { relay?.tell { link, now in link.letGo(update, at: now) } }
        }
    }

    // MARK: Notices to the phone

    /// Reports a changed key and a held device once. The ring keeps what was not reported, over a restart too.
    func tellOfKeys() {
        guard let keys, keys.encryption != .off, state.relayIsUp else { return }
        let (changes, devices, chats) = keys.ask {
            ($0.untoldChanges.filter(\.isToBeSaid), $0.untoldDevices, $0.chatsForNotices)
        }
        guard !changes.isEmpty || !devices.isEmpty && !chats.isEmpty, let turn = keys.beginTelling(at: clock.now)
        else { return }
        // Take turns: a notice that no chat takes must not hold up the others.
        let change = changes.isEmpty ? nil : changes[turn % changes.count]
        let device = devices.isEmpty || chats.isEmpty ? nil : devices[turn % devices.count]
        tell(of: change, keys) { [weak self] isChangeSaid in
            self?.tell(of: device, in: chats, keys) { [weak self] isDeviceSaid in
                guard let self else { return }
                keys.endTelling(isChangeSaid && isDeviceSaid, at: clock.now)
                if isChangeSaid, isDeviceSaid { tellOfKeys() }
            }
        }
    }

    /// Reports a changed key in the chat itself and in others: the remaining phones may lack the key that the relay passed on.
    /// Only the report in another chat counts.
    private func tell(of change: ChangedKey?, _ keys: LiveKeys, _ done: @escaping @Sendable (Bool) -> Void) {
        guard let change else { return done(true) }
        let why =
            "has \(change.isFurther ? "yet another" : "a") new key\(Self.reason(of: change)), begin another chat, and look at: "
            + "sophon-bridge devices list"
        let name = "key-\(change.session)-\(change.key)"
        let tellOthers: @Sendable (LooseCalls.Said?) -> Void = { [weak self] itself in
            if itself == .said || itself == .refused {
                keys.tell { ring, now, _ in ring.saidItself(change, at: now) }
            }
            self?.say("Another chat \(why)", once: name, in: change.others.prefix(Self.noticeChats)) { wasSaid in
                let isSaidItself = itself != .unknown
                if isSaidItself, wasSaid { keys.tell { ring, now, _ in ring.told(of: change, at: now) } }
                done(isSaidItself && (wasSaid || change.others.isEmpty))
            }
        }
        if change.isSaidItself { return tellOthers(nil) }
        loose.say("This chat \(why)", in: change.session, once: name, done: tellOthers)
    }

    private static func reason(of change: ChangedKey) -> String {
        guard let revoked = change.revoked else {
            return
                ": the files of an earlier version of the bridge name neither the one before nor a device that was revoked. If you "
                + "neither updated the bridge nor revoked a device"
        }
        let device = revoked.number.map { "device \($0)" } ?? "a device"
        return ", since the relay says that \(device) was revoked. If you revoked no device"
    }

    private func tell(
        of device: DeviceBook.Device?, in chats: [SessionID], _ keys: LiveKeys,
        _ done: @escaping @Sendable (Bool) -> Void
    ) {
        guard let device else { return done(true) }
        let name = "device-\(device.id)-\(Hexadecimal.text(device.publicKey))"
        say(Self.sentence(about: device), once: name, in: chats.prefix(Self.noticeChats)) { wasSaid in
            if wasSaid { keys.tell { ring, now, _ in ring.told(of: device, at: now) } }
            done(wasSaid)
        }
    }

    /// Chats to tell. More than one, since the relay may have made the keys of some.
    private static let noticeChats = 3

    /// Says the text in each of these chats; `done` receives whether one of them took it.
    private func say(
        _ text: String, once name: String, in chats: ArraySlice<SessionID>, wasSaid: Bool = false,
        _ done: @escaping @Sendable (Bool) -> Void
    ) {
        guard let chat = chats.first else { return done(wasSaid) }
        loose.say(text, in: chat, once: name) { [weak self] said in
            self?.say(text, once: name, in: chats.dropFirst(), wasSaid: wasSaid || said == .said, done)
        }
    }

    private static func sentence(about device: DeviceBook.Device) -> String {
        "A new device, number \(device.number), asks for the keys of your encrypted chats. This bridge gives it none until you "
            + "allow it on its machine: sophon-bridge devices allow \(device.number)"
    }
}

extension ChangedKey {
    /// False if the change's own chat has heard of it and no other chat can: `status` alone shows it then.
    fileprivate var isToBeSaid: Bool { !isSaidItself || !others.isEmpty }
}
