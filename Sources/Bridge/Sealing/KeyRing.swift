package import Vocabulary

/// The keys of one connection: this bridge's own device, the devices that receive keys, and
/// a key for each sealed chat (relay.md#session-key-life-cycle).
///
/// - No key is used, and no update that brought one is acknowledged, before the files contain it.
/// - The ring makes a key only for a chat that this bridge makes itself, never for one that may get a grant.
/// - A key is wrapped for pinned devices alone.
/// - A turn continues under the key that it began with. A chat's key, even of one that comes back from the
///   archive, changes only after the revocation of a device, and the chat shows a notice of it.
///
/// A value without I/O: events arrive with time and randomness, and orders leave.
package struct KeyRing: Sendable {
    /// No installation has as many chats. Without a limit a relay could fill the memory.
    package static let chatLimit = 10_000

    private(set) var identity: DeviceIdentity
    let library: any SealingLibrary
    var registration: Registration
    package internal(set) var book: DeviceBook
    var chats: [SessionID: ChatKeys]
    var ended: EndedChats
    /// Some chat had a key at some time, in any installation: from then on the bridge seals the chats that it makes.
    package internal(set) var hasHeldKey: Bool
    /// Installation of these devices and chats, or nil if the token does not name it.
    private(set) var installation: String?
    var grants = GrantQueue()
    private(set) var saves = SaveLedger()
    private var nextNumber: Int
    private var saveNumber: Int
    private var ready: [(revision: Int, session: SessionID, key: KeyName)] = []
    private var orders: [KeyRingOrder] = []

    /// `pairedAt` is in milliseconds since 1970, or nil if it is not known. Stored keys and devices of another
    /// installation are not used, and the first save removes them; its chats stay sealed.
    package init(
        device secret: SecretKey, stored: StoredKeyRing = StoredKeyRing(), pairedAt: Int64? = nil,
        installation: String? = nil, trustsAllDevices: Bool = false, library: any SealingLibrary
    ) throws(StoredKeyRingFault) {
        self.library = library
        identity = DeviceIdentity(secret, library: library)
        // Read the stored keys even if they are not used: a damaged file is reported, not replaced.
        var storedEnded = stored.endedChats
        let (storedBook, storedChats) = (try stored.book(), try stored.chats(&storedEnded, library))
        let isOurs = stored.isOf(installation)
        (book, chats, ended) = (storedBook, storedChats, storedEnded)
        book.trustsAll = trustsAllDevices
        registration = Registration(deviceID: isOurs ? stored.devices?.deviceID.map { DeviceID($0) } : nil)
        hasHeldKey = stored.hasHeldKey
        self.installation = installation ?? stored.devices?.installation
        saveNumber = stored.saveNumber
        nextNumber = (storedChats.values.map(\.number).max() ?? -1) &+ 1
        // Save after an end between the two files, or after an earlier version: each file alone keeps all chats sealed.
        let areMarksOfBoth = ended.allMarks == stored.keys.endedMarks ?? ""
        if !isOurs || stored.isBookOlder || !areMarksOfBoth { saves.changed() }
        book.paired(at: pairedAt, hasHeldKey: hasHeldKey)
        if !isOurs { leaveInstallation() }
    }

    /// 64 hexadecimal digits.
    package var publicKey: String { identity.publicKey }

    package mutating func takeOrders() -> [KeyRingOrder] {
        defer { orders = [] }
        return orders
    }

    /// Key of the sealed turns' records on this machine. It never leaves the machine, and depends on the device's secret.
    package var recordKey: SecretKey { library.derive(Array("sophon-bridge/v1/records".utf8), from: identity.secret) }

    package var hasOrders: Bool { !orders.isEmpty }
    package var deviceID: DeviceID? { registration.deviceID }

    package var nextWake: Instant? { [registration.retryAt, grants.retryAt, saves.retryAt].compactMap { $0 }.min() }

    mutating func order(_ order: KeyRingOrder) { orders.append(order) }

    // MARK: What the turns ask

    /// Whether the chat has or had a key: its turns are sealed.
    package func isSealed(_ session: SessionID) -> Bool { chats[session] != nil || ended.contains(session) }

    /// Key for a new turn of this chat, or nil if no usable one exists yet.
    package func keyName(for session: SessionID) -> KeyName? {
        guard let chat = chats[session], !chat.isEnded, saves.has(chat.newest.revision) else { return nil }
        return chat.newest.name
    }

    /// Whether the files contain the key.
    package func has(_ name: KeyName, of session: SessionID) -> Bool {
        chats[session]?.key(named: name).map { saves.has($0.revision) } ?? false
    }

    /// Nil if the key is gone, or not on the disk yet.
    package func sealer(_ session: SessionID, _ name: KeyName) -> SessionSealer? {
        guard let key = chats[session]?.key(named: name), saves.has(key.revision) else { return nil }
        return SessionSealer(session, key: key.secret, library: library)
    }

    /// Opens the user's text from its field in the update.
    package func open(_ sealed: String, in session: SessionID, mayBeEmpty: Bool) -> OpenedMessage {
        guard let chat = chats[session], !chat.isEnded, saves.has(chat.newest.revision) else { return .waitsForKey }
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
        return failure == .notAuthentic && chat.awaitsKey ? .waitsForKey : .unreadable(failure)
    }

    package mutating func turnBegan(in session: SessionID, under key: KeyName) {
        chats[session]?.turnBegan(under: key)
    }

    package mutating func turnEnded(in session: SessionID, under key: KeyName, at now: Instant) {
        let isForgotten = chats[session]?.turnEnded(under: key) == true
        if forgetEnded(session) || isForgotten { changed(at: now) }
    }

    /// Completes a start, after every open turn has called `turnBegan`.
    package mutating func restored(at now: Instant, using random: some SecretRandom) {
        var isChanged = false
        for session in chats.keys {
            let isForgotten = chats[session]?.forgetUnused() == true
            if forgetEnded(session) || isForgotten { isChanged = true }
        }
        if renewOwnKeys(using: random, where: { $0.awaited != nil }) { isChanged = true }
        if book.isLost, book.pinned.isEmpty { order(.tell(.bookLost)) }
        if book.trustsAll, pinHeld() { isChanged = true }
        if isChanged { changed(at: now) } else { saveIfIdle(at: now) }
        grantOwed(at: now, using: random)
    }

    // MARK: Chats

    package mutating func keyGranted(
        _ session: SessionID, for device: DeviceID, wrapped: String, _ update: UpdateID, wall: Int64, at now: Instant
    ) {
        // Until the relay names this bridge's device id on this link, any grant that opens counts as meant for this bridge: its id may have changed.
        if registration.isCertain, device != deviceID { return order(.acknowledge(update)) }
        let secret: SecretKey
        do {
            secret = try unwrap(wrapped)
        } catch {
            let isForAnother = device != deviceID && error == .notAuthentic
            if !isForAnother { order(.tell(.grantUnreadable(session, error))) }
            return order(.acknowledge(update))
        }
        take(secret, for: session, update, wall: wall, at: now)
    }

    private func unwrap(_ wrapped: String) throws(SealingError) -> SecretKey {
        guard let box = Base64.decode(wrapped) else { throw .badEncoding }
        return try SealedBox.open(box, with: identity.secret, library: library)
    }

    private mutating func take(
        _ secret: SecretKey, for session: SessionID, _ update: UpdateID, wall: Int64, at now: Instant
    ) {
        let key = newKey(secret)
        guard let chat = chats[session] else { return begin(session, under: key, update, at: now) }
        guard !chat.isEnded else { return refuse(session, update) }
        switch chats[session]?.granted(key, wall: wall, phones: book.pinned.count) {
        case .changed(let device, let isFurther):
            tellOfChange(session, after: device, isFurther: isFurther)
            chats[session]?.untold = ChatKeys.UntoldChange(after: device, isFurther: isFurther)
            chats[session]?.granted = Set(book.pinned.map(\.id))
            willBeReady(key, of: session)
            changed(at: now, update)
        case .refused: refuse(session, update)
        // The same key may have come before and not be on the disk.
        case .known, nil: settle(update, at: now)
        }
    }

    /// A chat without a key: a new one, or one that comes back from the archive.
    private mutating func begin(
        _ session: SessionID, under key: ChatKeys.Key, _ update: UpdateID, at now: Instant
    ) {
        let action = ended.granted(key.name, for: session)
        guard action != .refused else { return refuse(session, update) }
        guard chats.count < Self.chatLimit else {
            order(.tell(.tooManyKeys))
            return order(.acknowledge(update))
        }
        add(key, for: session)
        if case .changed(let device) = action {
            tellOfChange(session, after: device)
            chats[session]?.untold = ChatKeys.UntoldChange(after: device)
        }
        changed(at: now, update)
    }

    private mutating func refuse(_ session: SessionID, _ update: UpdateID) {
        order(.tell(.keyRefused(session)))
        order(.acknowledge(update))
    }

    private mutating func tellOfChange(_ session: SessionID, after device: DeviceID?, isFurther: Bool = false) {
        order(.tell(.keyChanged(session, after: device.map { book.numbered($0) }, isFurther: isFurther)))
    }

    /// Makes a key for a chat of this bridge, usable from `chatGranted` on. False if no device could read the chat: it waits
    /// for one. A granted key for it is refused: only a relay could have known of the chat that early.
    package mutating func makeKey(for session: SessionID, at now: Instant, using random: some SecretRandom) -> Bool {
        if let chat = chats[session], chat.isOurs, !chat.isEnded { return true }
        guard !book.pinned.isEmpty, chats.count < Self.chatLimit,
            let secret = SecretKey(random.bytes(SecretKey.length))
        else { return false }
        add(newKey(secret), for: session, isMadeHere: true)
        changed(at: now)
        return true
    }

    /// Forgets the chat's keys; those of open turns when they have ended.
    package mutating func sessionEnded(_ session: SessionID, _ update: UpdateID? = nil, at now: Instant) {
        guard chats[session]?.isEnded == false else {
            if let update { settle(update, at: now) }
            return
        }
        end(session)
        changed(at: now, update)
    }

    /// The whole installation is gone: its chats end, and no key is wrapped for its devices.
    package mutating func installationRevoked(_ update: UpdateID? = nil, at now: Instant) {
        for session in chats.keys { end(session) }
        book.forgetDevices()
        grants.forget()
        changed(at: now, update)
    }

    /// A new token. If it belongs to another installation, forget the old one's devices and keys; the relay must name the device id again.
    package mutating func moved(to installation: String?, pairedAt: Int64?, at now: Instant) {
        let before = (book.hasPinned, book.pairedAt)
        book.paired(at: pairedAt, hasHeldKey: hasHeldKey)
        let isPaired = before != (book.hasPinned, book.pairedAt)
        guard let installation, installation != self.installation else {
            if isPaired { changed(at: now) }
            return
        }
        let isOther = self.installation != nil
        self.installation = installation
        if isOther {
            leaveInstallation()
            ready = []
            registration.forget()
            grants.forget()
        }
        changed(at: now)
    }

    /// The relay decides whose token it is, and the agent's conversations belong to chat ids alone.
    /// So each chat that had a key stays sealed, and accepts no other.
    private mutating func leaveInstallation() {
        book.moves(hasHeldKey: hasHeldKey)
        for session in chats.keys { ended.mark(session) }
        ended.markAll()
        chats = [:]
    }

    /// Pairing made another device secret.
    package mutating func use(device secret: SecretKey, at now: Instant) {
        guard secret != identity.secret else { return }
        identity = DeviceIdentity(secret, library: library)
        registration.forget()
        changed(at: now)
        if grants.isUp, registration.isWanted { register(at: now) }
    }

    private mutating func end(_ session: SessionID) {
        ready.removeAll { $0.session == session }
        chats[session]?.end()
        forgetEnded(session)
    }

    /// True if the chat was forgotten now.
    @discardableResult
    private mutating func forgetEnded(_ session: SessionID) -> Bool {
        guard let chat = chats[session], chat.isEnded, !chat.isInUse else { return false }
        ended.add(
            session,
            EndedChats.Names(
                last: chat.change.isExpected ? nil : chat.awaited ?? chat.newest.name,
                past: chat.past + (chat.change.isExpected ? [chat.newest.name] : []), isOurs: chat.isOurs,
                revoked: chat.change.revoked, untold: chat.untold))
        chats[session] = nil
        return true
    }

    func newKey(_ secret: SecretKey) -> ChatKeys.Key {
        ChatKeys.Key(secret: secret, name: KeyName(of: secret, library: library), revision: saves.revision + 1)
    }

    /// An ended chat of our own continues as ours, and its open turns keep their keys. The maker
    /// of any other chat's key has wrapped it for the current devices.
    private mutating func add(_ key: ChatKeys.Key, for session: SessionID, isMadeHere: Bool = false) {
        willBeReady(key, of: session)
        if chats[session]?.isOurs == true {
            chats[session]?.begin(under: key)
            return
        }
        let earlier = ended.remove(session)
        let isOurs = isMadeHere || earlier?.isOurs == true
        chats[session] = ChatKeys(
            key, past: earlier?.past(before: key.name) ?? [], number: nextNumber, isOurs: isOurs,
            granted: isOurs ? [] : Set(book.pinned.map(\.id)))
        chats[session]?.untold = earlier?.untold
        nextNumber &+= 1
        hasHeldKey = true
    }

    mutating func willBeReady(_ key: ChatKeys.Key, of session: SessionID) {
        ready.append((key.revision, session, key.name))
    }

    // MARK: The files

    private var stored: StoredKeyRing {
        StoredKeyRing(
            book, chats, ended, deviceID: deviceID, hasHeldKey: hasHeldKey, installation: installation,
            saveNumber: saveNumber)
    }

    mutating func changed(at now: Instant, _ update: UpdateID? = nil) {
        saves.changed()
        if let update { saves.wait(update) }
        saveIfIdle(at: now)
    }

    /// A change whose loss costs only a call: saved with the next change, or after a pause.
    mutating func changedSlightly(at now: Instant) {
        saves.changed()
        saves.later(at: now)
    }

    /// An update without a change may still depend on one that is not on the disk yet.
    mutating func settle(_ update: UpdateID, at now: Instant) {
        guard !saves.isSettled else { return order(.acknowledge(update)) }
        saves.wait(update)
        saveIfIdle(at: now)
    }

    private mutating func saveIfIdle(at now: Instant) {
        guard let revision = saves.next(at: now) else { return }
        saveNumber &+= 1
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
        grants.timePassed(at: now)
        grantOwed(at: now, using: random)
    }

    func has(_ revision: Int) -> Bool { saves.has(revision) }
}

/// A sealed text of the user.
package enum OpenedMessage: Hashable, Sendable {
    case text(String)
    /// The chat's key may still come.
    case waitsForKey
    /// This bridge can never read the text.
    case unreadable(SealingError)
}
