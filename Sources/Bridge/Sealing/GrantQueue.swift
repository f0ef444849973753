package import Vocabulary

/// Grants under way, and the time of the next try.
struct GrantQueue: Sendable {
    struct UnderWay: Sendable {
        var session: SessionID
        var devices: [DeviceID]
        var key: KeyName
    }

    /// A restart with many chats must not occupy the relay while people wait for answers.
    static let limit = 2
    /// Less than half of the relay's bucket (relay.md#buckets, bucket `default`), since other calls share it.
    private static let burst = 10.0
    private static let perSecond = 4.0

    private(set) var isUp = false
    private(set) var underWay: [Int: UnderWay] = [:]
    private(set) var retryAt: Instant?
    private var backOff = BackOff(first: .seconds(1), longest: .seconds(60))
    private var level = Self.burst
    private var levelAt: Instant?
    private var number = 0
    /// Recipients that the relay refused for good: no further try on this link.
    private var refused: Set<Recipient> = []
    /// Chats of a refused call for several devices: each device gets a call of its own.
    private var apart: Set<SessionID> = []

    struct Recipient: Hashable {
        var session: SessionID
        var device: DeviceID
    }

    mutating func linkUp(at now: Instant) {
        isUp = true
        fill(at: now)
        retryAt = roomAt(now)
        backOff.succeeded()
        (refused, apart) = ([], [])
    }

    mutating func linkDown() {
        isUp = false
        retryAt = nil
    }

    /// A grant under way may still be answered, with or without the link.
    func mayBegin(at now: Instant) -> Bool {
        isUp && underWay.count < Self.limit && (retryAt.map { $0 <= now } ?? true)
    }

    func isUnderWay(_ session: SessionID) -> Bool { underWay.values.contains { $0.session == session } }

    /// Devices that may be tried for the chat, of those that lack the key.
    func owed(_ devices: some Sequence<DeviceBook.Device>, _ session: SessionID) -> [DeviceBook.Device] {
        let owed = devices.filter { !refused.contains(Recipient(session: session, device: $0.id)) }
        return apart.contains(session) ? Array(owed.prefix(1)) : owed
    }

    /// The devices or chats of the grants under way are gone.
    mutating func forget() {
        underWay = [:]
        (refused, apart) = ([], [])
    }

    mutating func began(_ grant: UnderWay, at now: Instant) -> Int {
        number += 1
        underWay[number] = grant
        fill(at: now)
        level -= 1
        retryAt = roomAt(now)
        return number
    }

    private mutating func fill(at now: Instant) {
        if let levelAt { level = min(Self.burst, level + Self.perSecond * max(0, (now - levelAt).seconds)) }
        levelAt = now
    }

    /// Time at which the rate allows a call, or nil if it allows one now.
    private func roomAt(_ now: Instant) -> Instant? {
        level >= 1 ? nil : now + .milliseconds(Int64((1 - level) / Self.perSecond * 1_000) + 1)
    }

    /// A grant that was held back is tried now. Without one there is no moment to wake for.
    mutating func timePassed(at now: Instant) {
        if let moment = retryAt, moment <= now { retryAt = nil }
    }

    mutating func answered(_ number: Int) -> UnderWay? { underWay.removeValue(forKey: number) }

    mutating func delivered() { backOff.succeeded() }

    mutating func failed(_ told: Duration?, at now: Instant) {
        guard isUp else { return }
        retryAt = now + max(told ?? .zero, backOff.next())
    }

    /// The refused device, or nil if the call had several.
    mutating func refused(_ devices: [DeviceID], _ session: SessionID) -> DeviceID? {
        guard devices.count == 1, let device = devices.first else {
            apart.insert(session)
            return nil
        }
        refused.insert(Recipient(session: session, device: device))
        return device
    }
}

extension KeyRing {
    /// Devices that lack the chat's newest key and may receive it.
    private func owed(_ session: SessionID) -> [DeviceBook.Device] {
        guard let chat = chats[session], !chat.isEnded, has(chat.newest.revision) else { return [] }
        return grants.owed(book.pinned.lazy.filter { !chat.granted.contains($0.id) }, session)
    }

    /// Whether each pinned device that can receive the key of this chat of our own has it, and at least one does.
    package func isGranted(_ session: SessionID) -> Bool {
        guard let chat = chats[session], chat.isOurs, !chat.isEnded, has(chat.newest.revision) else { return false }
        return book.pinned.contains { chat.granted.contains($0.id) } && owed(session).isEmpty
    }

    mutating func grantOwed(at now: Instant, using random: some SecretRandom) {
        guard grants.mayBegin(at: now), !book.pinned.isEmpty else { return }
        // Oldest chat first.
        let owing = chats.filter { !grants.isUnderWay($0.key) && !owed($0.key).isEmpty }
            .sorted { $0.value.number < $1.value.number }.map(\.key)
        for session in owing {
            guard grants.mayBegin(at: now) else { return }
            guard let chat = chats[session] else { continue }
            var recipients: [KeyGrant.Recipient] = []
            for device in owed(session) {
                guard
                    let box = try? SealedBox.seal(
                        chat.newest.secret, for: device.publicKey, library: library, random: random)
                else {
                    // The announcement refuses such a public key; a file may have been edited.
                    _ = grants.refused([device.id], session)
                    continue
                }
                recipients.append(.init(device: device.id, wrappedKey: Base64.encode(box)))
            }
            guard !recipients.isEmpty else { continue }
            let number = grants.began(
                .init(session: session, devices: recipients.map(\.device), key: chat.newest.name), at: now)
            order(.grant(KeyGrant(number: number, session: session, recipients: recipients, wrappedBy: deviceID)))
        }
    }

    /// Two grants of the same key are harmless: the later one repeats the earlier.
    package mutating func grantAnswered(
        _ number: Int, _ answer: KeyCallAnswer<GrantReceipt>, at now: Instant, using random: some SecretRandom
    ) {
        guard let grant = grants.answered(number) else { return }
        switch answer {
        case .delivered:
            grants.delivered()
            // A grant counts for the chat's newest key and for devices that are still pinned.
            if chats[grant.session]?.newest.name == grant.key {
                let pinned = Set(book.pinned.map(\.id))
                chats[grant.session]?.granted.formUnion(pinned.intersection(grant.devices))
                changedSlightly(at: now)
            }
        case .later(let told): grants.failed(told, at: now)
        case .refused:
            if let device = grants.refused(grant.devices, grant.session) {
                order(.tell(.grantRefused(grant.session, book.numbered(device))))
            }
        }
        if isGranted(grant.session) { order(.chatGranted(grant.session)) }
        grantOwed(at: now, using: random)
    }
}
