package import BridgeModel

/// Which grants are under way, and when the next may be tried.
struct GrantQueue: Sendable {
    struct UnderWay: Sendable {
        var session: SessionID
        var devices: [DeviceID]
        var key: KeyName
    }

    /// A restart with many chats must not keep the relay from what is said now.
    static let limit = 2
    private static let firstPause = Duration.seconds(1)
    private static let longestPause = Duration.seconds(60)

    private(set) var isUp = false
    private(set) var underWay: [Int: UnderWay] = [:]
    private(set) var retryAt: Instant?
    private var pause = Self.firstPause
    private var number = 0
    /// Refused for good: not again on this link.
    private var refused: Set<SessionID> = []

    mutating func linkUp() {
        isUp = true
        retryAt = nil
        pause = Self.firstPause
        refused = []
    }

    mutating func linkDown() {
        isUp = false
        retryAt = nil
    }

    /// What is under way may still be answered, with or without the link.
    func mayBegin(at now: Instant) -> Bool {
        isUp && underWay.count < Self.limit && (retryAt.map { $0 <= now } ?? true)
    }

    func mayGrant(_ session: SessionID) -> Bool {
        !refused.contains(session) && !underWay.values.contains { $0.session == session }
    }

    mutating func began(_ grant: UnderWay) -> Int {
        number += 1
        retryAt = nil
        underWay[number] = grant
        return number
    }

    mutating func answered(_ number: Int) -> UnderWay? { underWay.removeValue(forKey: number) }

    mutating func delivered() { pause = Self.firstPause }

    mutating func failed(_ told: Duration?, at now: Instant) {
        guard isUp else { return }
        retryAt = now + max(told ?? .zero, pause)
        pause = min(pause * 2, Self.longestPause)
    }

    mutating func refused(_ session: SessionID) { refused.insert(session) }
}

extension KeyRing {
    /// Chats of which some pinned device lacks the newest key, the oldest first.
    private var owing: [SessionID] {
        let pinned = Set(book.pinned.map(\.id))
        guard !pinned.isEmpty else { return [] }
        return chats.filter { session, chat in
            has(chat.newest.revision) && !pinned.isSubset(of: chat.granted) && grants.mayGrant(session)
        }.sorted { $0.value.number < $1.value.number }.map(\.key)
    }

    mutating func grantOwed(at now: Instant, using random: some SecretRandom) {
        guard grants.mayBegin(at: now) else { return }
        for session in owing {
            guard grants.mayBegin(at: now) else { return }
            guard let chat = chats[session] else { continue }
            var recipients: [KeyGrant.Recipient] = []
            for device in book.pinned where !chat.granted.contains(device.id) {
                // Such a key was refused when the device was announced; a file may have been written by hand.
                guard
                    let box = try? SealedBox.seal(
                        chat.newest.secret, for: device.publicKey, library: library, random: random)
                else { continue }
                recipients.append(.init(device: device.id, wrappedKey: Base64.encode(box)))
            }
            guard !recipients.isEmpty else {
                grants.refused(session)
                continue
            }
            let number = grants.began(.init(session: session, devices: recipients.map(\.device), key: chat.newest.name))
            order(.grant(KeyGrant(number: number, session: session, recipients: recipients, wrappedBy: deviceID)))
        }
    }

    /// A grant may be made twice: the later one says the same.
    package mutating func grantAnswered(
        _ number: Int, _ answer: KeyCallAnswer<GrantReceipt>, at now: Instant, using random: some SecretRandom
    ) {
        guard let grant = grants.answered(number) else { return }
        switch answer {
        case .delivered:
            grants.delivered()
            // Another key, or a device that was revoked meanwhile: it was in vain.
            if chats[grant.session]?.newest.name == grant.key {
                let pinned = Set(book.pinned.map(\.id))
                chats[grant.session]?.granted.formUnion(pinned.intersection(grant.devices))
                changedSlightly(at: now)
            }
        case .later(let told): grants.failed(told, at: now)
        case .refused: grants.refused(grant.session)
        }
        grantOwed(at: now, using: random)
    }
}
