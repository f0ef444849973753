package import Vocabulary

// Devices: announced by the relay, chosen by the person, reported to the phone.
extension KeyRing {
    // MARK: From the relay

    package mutating func deviceAnnounced(
        _ device: DeviceBook.Device, _ update: UpdateID, wall: Int64, at now: Instant, using random: some SecretRandom
    ) {
        guard device.id != deviceID, Hexadecimal.text(device.publicKey) != publicKey else {
            return order(.acknowledge(update))
        }
        guard library.agree(identity.secret, with: device.publicKey) != nil else {
            order(.tell(.deviceUnusable(device.id)))
            return order(.acknowledge(update))
        }
        switch book.announced(device, wall: wall) {
        case .pinned: order(.tell(.devicePinned(book.numbered(device.id))))
        case .held: order(.tell(.deviceHeld(book.numbered(device.id))))
        case .changedKey: order(.tell(.deviceChangedKey(book.numbered(device.id))))
        case .nothing: return settle(update, at: now)
        case .tooMany:
            order(.tell(.tooManyDevices))
            return order(.acknowledge(update))
        }
        // No device has a key under this name yet.
        for session in chats.keys { chats[session]?.granted.remove(device.id) }
        changed(at: now, update)
        grantOwed(at: now, using: random)
    }

    package mutating func deviceRevoked(
        _ device: DeviceID, _ update: UpdateID? = nil, at now: Instant, using random: some SecretRandom
    ) {
        guard book.devices[device] != nil else {
            if let update { settle(update, at: now) }
            return
        }
        if book.revoked(device) {
            order(.tell(.deviceRevoked(book.numbered(device))))
            // The phones that made the other chats' keys make new ones.
            for (session, chat) in chats where !chat.isOurs { chats[session]?.change = .expected(after: device) }
            ended.revoked(device)
            renewOwnKeys(using: random)
        }
        for session in chats.keys { chats[session]?.granted.remove(device) }
        changed(at: now, update)
    }

    /// Makes new keys for chats of this bridge, which a removed device does not know. True if it made one.
    @discardableResult
    mutating func renewOwnKeys(
        using random: some SecretRandom, where isMeant: (ChatKeys) -> Bool = { _ in true }
    ) -> Bool {
        var isChanged = false
        for (session, chat) in chats where chat.isOurs && !chat.isEnded && isMeant(chat) {
            guard let secret = SecretKey(random.bytes(SecretKey.length)) else { continue }
            let key = newKey(secret)
            chats[session]?.replace(by: key)
            chats[session]?.granted = []
            willBeReady(key, of: session)
            isChanged = true
        }
        return isChanged
    }

    /// Figures for `status` and `doctor`.
    package struct Figures: Hashable, Sendable {
        /// The relay has named this bridge's device id on this link.
        package var isRegistered = false
        package var deviceID: DeviceID?
        package var pinned = 0
        package var held = 0
        /// Chats with a key.
        package var sealedChats = 0
        /// Chats with a changed key of which no other chat has shown the notice.
        package var unheardChanges = 0

        package init() {}
    }

    package var figures: Figures {
        var figures = Figures()
        (figures.isRegistered, figures.deviceID) = (registration.isCertain, deviceID)
        (figures.pinned, figures.held) = (book.pinned.count, book.devices(.held).count)
        figures.sealedChats = chats.count
        figures.unheardChanges = chats.values.count(where: { $0.untold != nil && !$0.isEnded })
        return figures
    }

    // MARK: From the person

    /// `key` is the public key that the person saw, or nil for any. `update` names this order; it is acknowledged once the files contain the order.
    package mutating func allow(
        _ device: DeviceID, key: [UInt8]? = nil, _ update: UpdateID? = nil, at now: Instant,
        using random: some SecretRandom
    ) -> DeviceBook.ChosenAction {
        let action = book.choose(.pinned, for: device, key: key)
        guard action == .done else {
            if let update { settle(update, at: now) }
            return action
        }
        order(.tell(.devicePinned(book.numbered(device))))
        changed(at: now, update)
        grantOwed(at: now, using: random)
        return action
    }

    /// Stops wrapping keys for the device. It keeps its keys: only phones can make new ones for
    /// chats that they began, and the relay does not hear of the refusal.
    package mutating func refuse(
        _ device: DeviceID, key: [UInt8]? = nil, _ update: UpdateID? = nil, at now: Instant,
        using random: some SecretRandom
    ) -> DeviceBook.ChosenAction {
        let standing = book.devices[device]?.standing
        let wasPinned = standing == .pinned
        let action = book.choose(.refused, for: device, key: key)
        // A held device has the id under another key.
        let isConfirmed = [.done, .nothing].contains(action) && (standing == .revoked || standing == .refused)
        let wasNews = isConfirmed && confirmRevocation(of: device)
        guard action == .done else {
            if wasNews { changed(at: now) }
            if let update { settle(update, at: now) }
            return action
        }
        order(.tell(.deviceRefused(book.numbered(device))))
        for session in chats.keys { chats[session]?.granted.remove(device) }
        if wasPinned { renewOwnKeys(using: random) }
        changed(at: now, update)
        return action
    }

    /// The person knows of the revocation: keys that followed it need no notice. True if some needed one.
    private mutating func confirmRevocation(of device: DeviceID) -> Bool {
        var isNews = false
        for (session, chat) in chats {
            guard let untold = chat.untold, untold.device == nil || untold.device == device else { continue }
            chats[session]?.untold = nil
            isNews = true
        }
        return isNews
    }

    package mutating func use(_ trust: DeviceBook.Trust, at now: Instant, using random: some SecretRandom) {
        book.trustsAll = trust == .trust
        guard book.trustsAll, pinHeld() else { return }
        changed(at: now)
        grantOwed(at: now, using: random)
    }

    @discardableResult
    mutating func pinHeld() -> Bool {
        let held = book.devices(.held)
        for device in held {
            _ = book.choose(.pinned, for: device.id, key: nil)
            order(.tell(.devicePinned(book.numbered(device.id))))
        }
        return !held.isEmpty
    }

    // MARK: Notices to the phone

    /// The held devices without a notice on a phone.
    package var untoldDevices: [DeviceBook.Device] { book.devices(.held).filter { !$0.isTold } }

    package mutating func told(of device: DeviceBook.Device, at now: Instant) {
        book.told(device.id, key: device.publicKey)
        changedSlightly(at: now)
    }

    /// Changed keys of which no other chat has shown the notice.
    package var untoldChanges: [ChangedKey] {
        guard chats.values.contains(where: { $0.untold != nil }) else { return [] }
        let others = chatsForNotices { $0.isOurs || $0.change.isExpected }
        return chats.compactMap { session, chat in
            guard let untold = chat.untold, let key = keyName(for: session) else { return nil }
            return ChangedKey(
                session: session, key: key, revoked: untold.device.map { book.numbered($0) },
                isFurther: untold.isFurther, isSaidItself: untold.isSaidItself, others: others)
        }.sorted { $0.session < $1.session }
    }

    /// The chat itself has shown the notice; another one must follow.
    package mutating func saidItself(_ change: ChangedKey, at now: Instant) {
        guard chats[change.session]?.newest.name == change.key else { return }
        chats[change.session]?.untold?.isSaidItself = true
        changed(at: now)
    }

    package mutating func told(of change: ChangedKey, at now: Instant) {
        guard chats[change.session]?.newest.name == change.key else { return }
        chats[change.session]?.untold = nil
        changedSlightly(at: now)
    }

    /// Chats that a person reads, the surest first: chats that this bridge made, since it wrapped their keys for a
    /// pinned device itself; then the oldest of the others, since a relay can begin some when it has something to hide.
    /// A device that receives no new keys still has those of the chats that it began.
    package var chatsForNotices: [SessionID] { chatsForNotices { _ in true } }

    private func chatsForNotices(_ isMeant: (ChatKeys) -> Bool) -> [SessionID] {
        let readable = chats.filter { session, chat in
            keyName(for: session) != nil && chat.untold == nil && isMeant(chat) && (!chat.isOurs || isGranted(session))
        }
        return readable.sorted {
            ($0.value.isOurs ? 0 : 1, $0.value.number) < ($1.value.isOurs ? 0 : 1, $1.value.number)
        }.map(\.key)
    }
}

/// A chat's key that came after the revocation of a device, or for a chat whose key files of an earlier version lack.
package struct ChangedKey: Hashable, Sendable {
    package var session: SessionID
    package var key: KeyName
    /// The revoked device, or nil if files of an earlier version name neither a device nor the previous key.
    package var revoked: NumberedDevice?
    /// Another phone's key came before this one.
    package var isFurther: Bool
    package var isSaidItself: Bool
    /// Chats that still have their key from before that revocation.
    package var others: [SessionID]
}
