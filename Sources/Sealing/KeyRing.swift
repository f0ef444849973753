package import BridgeModel

/// The keys of one connection: the device that this bridge is, the devices it gives keys to, and a key for each sealed chat
/// (relay.md#session-key-life-cycle).
///
/// - No key is used, and no update that brought one is acknowledged, before the files have it.
/// - A chat's key is never made where a grant may come: only for chats that this bridge makes itself.
/// - A key is wrapped for pinned devices alone.
/// - A turn goes on under the key that it began with, and a chat's key changes only where a device was revoked, and is reported.
///
/// A value without I/O: events in, orders out. Time and randomness come with the events.
package struct KeyRing: Sendable {
    /// No installation has as many chats; beyond it a relay could fill the memory.
    package static let chatLimit = 10_000

    private let secret: SecretKey
    /// 64 hexadecimal digits.
    package let publicKey: String
    let library: any SealingLibrary
    var registration: Registration
    package internal(set) var book: DeviceBook
    var chats: [SessionID: ChatKeys]
    /// Some chat had a key at some time: what the bridge makes by itself is sealed from then on.
    package private(set) var hasHeldKey: Bool
    var grants = GrantQueue()
    private var saves = SaveLedger()
    private var nextNumber: Int
    private var ready: [(revision: Int, session: SessionID, key: KeyName)] = []
    private var orders: [KeyRingOrder] = []

    /// `pairedAt`, in milliseconds since 1970, where nothing is stored yet.
    package init(
        device secret: SecretKey, stored: StoredKeyRing = StoredKeyRing(), pairedAt: Int64? = nil,
        trustsAllDevices: Bool = false, library: any SealingLibrary
    ) throws(StoredKeyRingFault) {
        self.secret = secret
        self.library = library
        publicKey = Hexadecimal.text(library.publicKey(of: secret))
        book = try stored.book()
        book.trustsAll = trustsAllDevices
        book.pairedAt = book.pairedAt ?? pairedAt
        chats = try stored.chats(library)
        registration = Registration(deviceID: stored.devices?.deviceID.map { DeviceID($0) })
        hasHeldKey = stored.devices?.hasHeldKey ?? !chats.isEmpty
        nextNumber = (chats.values.map(\.number).max() ?? -1) &+ 1
    }

    package mutating func takeOrders() -> [KeyRingOrder] {
        defer { orders = [] }
        return orders
    }

    package var hasOrders: Bool { !orders.isEmpty }
    package var deviceID: DeviceID? { registration.deviceID }

    package var nextWake: Instant? { [registration.retryAt, grants.retryAt, saves.retryAt].compactMap { $0 }.min() }

    mutating func order(_ order: KeyRingOrder) { orders.append(order) }

    // MARK: What the turns ask

    /// Whether the chat has or had a key: its turns are sealed.
    package func isSealed(_ session: SessionID) -> Bool { chats[session] != nil }

    /// The key that a turn of this chat begins with. Nil: there is none that may be used yet.
    package func keyName(for session: SessionID) -> KeyName? {
        chats[session].flatMap { saves.has($0.newest.revision) ? $0.newest.name : nil }
    }

    /// Nil: the key is not there any more, or not on the disk yet.
    package func sealer(_ session: SessionID, _ name: KeyName) -> SessionSealer? {
        guard let key = chats[session]?.key(named: name), saves.has(key.revision) else { return nil }
        return SessionSealer(session, key: key.secret, library: library)
    }

    /// What the user wrote, from its field in the update.
    package func open(_ sealed: String, in session: SessionID, mayBeEmpty: Bool) -> OpenedMessage {
        guard let chat = chats[session], saves.has(chat.newest.revision) else { return .waitsForKey }
        var failure = SealingError.notAuthentic
        for key in chat.all {
            let sealer = SessionSealer(session, key: key.secret, library: library)
            do {
                return .text(try sealer.text(of: sealed, .messages, mayBeEmpty: mayBeEmpty))
            } catch {
                failure = error
                guard error == .notAuthentic else { break }
            }
        }
        return failure == .notAuthentic && chat.change == .expected ? .waitsForKey : .unreadable(failure)
    }

    package mutating func turnBegan(in session: SessionID, under key: KeyName) {
        chats[session]?.turnBegan(under: key)
    }

    package mutating func turnEnded(in session: SessionID, under key: KeyName, at now: Instant) {
        if chats[session]?.turnEnded(under: key) == true { changed(at: now) }
    }

    /// After a start, when every turn that is still open has said so by `turnBegan`.
    package mutating func restored(at now: Instant) {
        var isChanged = false
        for session in chats.keys where chats[session]?.forgetUnused() == true { isChanged = true }
        if isChanged { changed(at: now) }
    }

    // MARK: Chats

    package mutating func keyGranted(
        _ session: SessionID, for device: DeviceID, wrapped: String, _ update: UpdateID, wall: Int64, at now: Instant
    ) {
        // Until the relay has said what this bridge is called, whatever can be opened was meant for it.
        if let ours = deviceID, device != ours { return order(.acknowledge(update)) }
        let secret: SecretKey
        do {
            secret = try unwrap(wrapped)
        } catch {
            let isForAnother = deviceID == nil && error == .notAuthentic
            if !isForAnother { order(.tell(.grantUnreadable(session, error))) }
            return order(.acknowledge(update))
        }
        take(secret, for: session, update, wall: wall, at: now)
    }

    private func unwrap(_ wrapped: String) throws(SealingError) -> SecretKey {
        guard let box = Base64.decode(wrapped) else { throw .badEncoding }
        return try SealedBox.open(box, with: secret, library: library)
    }

    private mutating func take(
        _ secret: SecretKey, for session: SessionID, _ update: UpdateID, wall: Int64, at now: Instant
    ) {
        let key = newKey(secret)
        guard chats[session] != nil else {
            guard chats.count < Self.chatLimit else {
                order(.tell(.tooManyKeys))
                return order(.acknowledge(update))
            }
            // The maker of the key has wrapped it for the current devices.
            add(key, for: session, isOurs: false, granted: Set(book.pinned.map(\.id)))
            return changed(at: now, update)
        }
        switch chats[session]?.granted(key, wall: wall) {
        case .changed:
            order(.tell(.keyChanged(session)))
            chats[session]?.granted = Set(book.pinned.map(\.id))
            ready.append((key.revision, session, key.name))
            changed(at: now, update)
        case .refused:
            order(.tell(.keyRefused(session)))
            order(.acknowledge(update))
        // It may have come before and not be on the disk.
        case .known, nil: settle(update, at: now)
        }
    }

    /// A key for a chat that this bridge makes, which is ready when `keyReady` says so. False: no device could read it, so the chat
    /// has to wait for one.
    package mutating func makeKey(for session: SessionID, at now: Instant, using random: some SecretRandom) -> Bool {
        guard chats[session] == nil else { return true }
        guard !book.pinned.isEmpty, chats.count < Self.chatLimit,
            let secret = SecretKey(random.bytes(SecretKey.length))
        else { return false }
        add(newKey(secret), for: session, isOurs: true, granted: [])
        changed(at: now)
        return true
    }

    /// Its key is forgotten with it.
    package mutating func sessionEnded(_ session: SessionID, _ update: UpdateID? = nil, at now: Instant) {
        ready.removeAll { $0.session == session }
        guard chats.removeValue(forKey: session) != nil else {
            if let update { settle(update, at: now) }
            return
        }
        changed(at: now, update)
    }

    private func newKey(_ secret: SecretKey) -> ChatKeys.Key {
        ChatKeys.Key(secret: secret, name: KeyName(of: secret, library: library), revision: saves.revision + 1)
    }

    private mutating func add(_ key: ChatKeys.Key, for session: SessionID, isOurs: Bool, granted: Set<DeviceID>) {
        chats[session] = ChatKeys(key, number: nextNumber, isOurs: isOurs, granted: granted)
        nextNumber &+= 1
        hasHeldKey = true
        ready.append((key.revision, session, key.name))
    }

    // MARK: Devices

    package mutating func deviceAnnounced(
        _ device: DeviceBook.Device, _ update: UpdateID, wall: Int64, at now: Instant, using random: some SecretRandom
    ) {
        guard device.id != deviceID, Hexadecimal.text(device.publicKey) != publicKey else {
            return order(.acknowledge(update))
        }
        guard library.agree(secret, with: device.publicKey) != nil else {
            order(.tell(.deviceUnusable(device.id)))
            return order(.acknowledge(update))
        }
        switch book.announced(device, wall: wall) {
        case .pinned: order(.tell(.devicePinned(device.id)))
        case .held: order(.tell(.deviceHeld(device.id)))
        case .changedKey: order(.tell(.deviceChangedKey(device.id)))
        case .nothing: return settle(update, at: now)
        case .tooMany:
            order(.tell(.tooManyDevices))
            return order(.acknowledge(update))
        }
        // Under this name none of them has a key yet.
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
        let wasPinned = book.revoked(device)
        for session in chats.keys { chats[session]?.granted.remove(device) }
        if wasPinned {
            order(.tell(.deviceRevoked(device)))
            renewKeys(using: random)
        }
        changed(at: now, update)
    }

    /// What the device knows is not used for what is said from now on: its makers renew the keys of their chats, and we of ours.
    private mutating func renewKeys(using random: some SecretRandom) {
        for (session, chat) in chats {
            guard chat.isOurs, let secret = SecretKey(random.bytes(SecretKey.length)) else {
                chats[session]?.change = .expected
                continue
            }
            let key = newKey(secret)
            chats[session]?.replace(by: key)
            chats[session]?.granted = []
            ready.append((key.revision, session, key.name))
        }
    }

    /// The person allows it. False: there is no such device, or it may already.
    package mutating func allow(_ device: DeviceID, at now: Instant, using random: some SecretRandom) -> Bool {
        guard book.allow(device) else { return false }
        order(.tell(.devicePinned(device)))
        changed(at: now)
        grantOwed(at: now, using: random)
        return true
    }

    // MARK: The files

    private var stored: StoredKeyRing {
        StoredKeyRing(book, chats, deviceID: deviceID, hasHeldKey: hasHeldKey)
    }

    mutating func changed(at now: Instant, _ update: UpdateID? = nil) {
        saves.changed()
        if let update { saves.wait(update) }
        saveIfIdle(at: now)
    }

    /// What costs only a call if it is forgotten: written with the next change, or in a while.
    mutating func changedSlightly(at now: Instant) {
        saves.changed()
        saves.later(at: now)
    }

    /// An update that changed nothing may still depend on a change that is not on the disk yet.
    private mutating func settle(_ update: UpdateID, at now: Instant) {
        guard !saves.isSettled else { return order(.acknowledge(update)) }
        saves.wait(update)
        saveIfIdle(at: now)
    }

    private mutating func saveIfIdle(at now: Instant) {
        guard let revision = saves.next(at: now) else { return }
        order(.save(stored, revision: revision))
    }

    package mutating func saved(_ revision: Int, at now: Instant, using random: some SecretRandom) {
        for update in saves.saved(revision) { order(.acknowledge(update)) }
        for (_, session, key) in ready.filter({ saves.has($0.revision) }) where chats[session]?.newest.name == key {
            order(.keyReady(session, key))
        }
        ready.removeAll { saves.has($0.revision) }
        saveIfIdle(at: now)
        grantOwed(at: now, using: random)
    }

    package mutating func notSaved(_ revision: Int, at now: Instant) {
        for update in saves.failed(at: now) { order(.letGo(update)) }
        order(.tell(.notSaved))
    }

    package mutating func timePassed(at now: Instant, using random: some SecretRandom) {
        if saves.isDue(at: now) { saveIfIdle(at: now) }
        if registration.isDue(at: now) { register(at: now) }
        grantOwed(at: now, using: random)
    }

    func has(_ revision: Int) -> Bool { saves.has(revision) }
}

/// A sealed text of the user.
package enum OpenedMessage: Hashable, Sendable {
    case text(String)
    /// Its key may still come.
    case waitsForKey
    /// It will never be read here.
    case unreadable(SealingError)
}
