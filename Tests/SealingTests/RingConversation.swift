import Crypto
import Sealing
import Testing
import Vocabulary

/// A `KeyRing` in a conversation: events in, orders out as short lines, time moved by hand.
struct RingConversation {
    let bench: Bench
    var ring: KeyRing
    var now = Instant.zero
    /// Milliseconds since 1970.
    var wall: Int64
    /// The files of the newest `save` order, with their revision.
    var saved: StoredKeyRing?
    var revision = 0
    var grants: [KeyGrant] = []
    /// Number of the newest registration call.
    var registration = 0
    private var updates = 0

    static let pairedAt: Int64 = 1_770_000_000_000
    private static let ours: UInt8 = 200

    /// A ring that was paired `minutesAfterPairing` ago.
    init(
        stored: StoredKeyRing = StoredKeyRing(), trusts: Bool = false, minutesAfterPairing: Int64 = 1,
        installation: String? = nil, pairedAt: Int64? = Self.pairedAt
    ) throws {
        bench = try Bench()
        wall = Self.pairedAt + minutesAfterPairing * 60_000
        ring = try KeyRing(
            device: try bench.key(Self.ours), stored: stored, pairedAt: pairedAt, installation: installation,
            trustsAllDevices: trusts, library: bench.library)
    }

    var publicKey: [UInt8] {
        get throws { bench.library.publicKey(of: try bench.key(Self.ours)) }
    }

    /// The phone whose secret is the byte `number`.
    func phone(_ number: UInt8, id: String? = nil) throws -> DeviceBook.Device {
        DeviceBook.Device(
            id: DeviceID(id ?? "phone-\(number)"), publicKey: bench.library.publicKey(of: try bench.key(number)),
            label: "Phone \(number)", platform: "ios")
    }

    /// The chat key of the byte `key`, wrapped for this bridge.
    func wrapped(_ key: UInt8) throws -> String { try wrapped(try bench.key(key)) }

    func wrapped(_ secret: SecretKey) throws -> String {
        Base64.encode(
            try SealedBox.seal(secret, for: try publicKey, library: bench.library, random: bench.library))
    }

    func name(_ key: UInt8) throws -> KeyName { KeyName(of: try bench.key(key), library: bench.library) }

    private mutating func update() -> UpdateID {
        updates += 1
        return UpdateID("\(updates)")
    }

    // MARK: Events

    mutating func linkUp() -> [String] { tell { $0.linkUp(at: $1, using: $2) } }

    mutating func linkDown() -> [String] { tell { ring, _, _ in ring.linkDown() } }

    mutating func registered(_ id: String = "bridge-1", keyChanged: Bool = false) -> [String] {
        let number = registration
        return tell { ring, now, _ in
            ring.registrationAnswered(
                number, .delivered(RegistrationReceipt(device: DeviceID(id), keyChanged: keyChanged)), at: now)
        }
    }

    mutating func registrationFailed(_ answer: KeyCallAnswer<RegistrationReceipt>) -> [String] {
        let number = registration
        return tell { ring, now, _ in ring.registrationAnswered(number, answer, at: now) }
    }

    mutating func announced(_ device: DeviceBook.Device) -> [String] {
        let (update, wall) = (update(), wall)
        return tell { $0.deviceAnnounced(device, update, wall: wall, at: $1, using: $2) }
    }

    mutating func revoked(_ id: String) -> [String] {
        let update = update()
        return tell { $0.deviceRevoked(DeviceID(id), update, at: $1, using: $2) }
    }

    mutating func allow(_ id: String) -> [String] {
        tell { ring, now, random in _ = ring.allow(DeviceID(id), at: now, using: random) }
    }

    mutating func refuse(_ id: String) -> [String] {
        tell { ring, now, random in _ = ring.refuse(DeviceID(id), at: now, using: random) }
    }

    /// A pairing leaves a token of `installation` at this moment.
    mutating func paired(with installation: String) -> [String] {
        let wall = wall
        return tell { ring, now, _ in ring.moved(to: installation, pairedAt: wall, at: now) }
    }

    mutating func restored() -> [String] { tell { $0.restored(at: $1, using: $2) } }

    mutating func granted(_ session: String, _ key: UInt8, device: String = "bridge-1") throws -> [String] {
        granted(session, wrapped: try wrapped(key), device: device)
    }

    mutating func granted(_ session: String, wrapped: String, device: String = "bridge-1") -> [String] {
        let (update, wall) = (update(), wall)
        return tell { ring, now, _ in
            ring.keyGranted(
                SessionID(session), for: DeviceID(device), wrapped: wrapped, update, wall: wall, at: now)
        }
    }

    mutating func ended(_ session: String) -> [String] {
        let update = update()
        return tell { ring, now, _ in ring.sessionEnded(SessionID(session), update, at: now) }
    }

    mutating func makeKey(_ session: String) -> [String] {
        tell { ring, now, random in _ = ring.makeKey(for: SessionID(session), at: now, using: random) }
    }

    mutating func kept() -> [String] {
        let revision = revision
        return tell { $0.saved(revision, at: $1, using: $2) }
    }

    mutating func notKept() -> [String] {
        let revision = revision
        return tell { ring, now, _ in ring.notSaved(revision, at: now) }
    }

    /// Saves until the ring asks for no further save.
    mutating func allKept() -> [String] {
        var lines = kept()
        while lines.contains("save") { lines = lines.filter { $0 != "save" } + kept() }
        return lines
    }

    mutating func answered(_ number: Int, _ answer: KeyCallAnswer<GrantReceipt>) -> [String] {
        tell { $0.grantAnswered(number, answer, at: $1, using: $2) }
    }

    mutating func pass(_ duration: Duration) -> [String] {
        now = now + duration
        return tell { $0.timePassed(at: $1, using: $2) }
    }

    mutating func turnBegan(_ session: String) throws -> KeyName {
        let name = try #require(ring.keyName(for: SessionID(session)))
        ring.turnBegan(in: SessionID(session), under: name)
        return name
    }

    mutating func turnEnded(_ session: String, _ name: KeyName) -> [String] {
        tell { ring, now, _ in ring.turnEnded(in: SessionID(session), under: name, at: now) }
    }

    mutating func tell(_ event: (inout KeyRing, Instant, OpenSSLSealing) -> Void) -> [String] {
        event(&ring, now, bench.library)
        return ring.takeOrders().map { line(of: $0) }
    }

    /// Another process that reads the saved files.
    func restarted(installation: String? = nil, pairedAt: Int64? = Self.pairedAt) throws -> RingConversation {
        var next = try RingConversation(
            stored: try #require(saved), installation: installation, pairedAt: pairedAt)
        next.wall = wall
        return next
    }

    // MARK: Orders

    private mutating func line(of order: KeyRingOrder) -> String {
        switch order {
        case .save(let stored, let revision):
            saved = stored
            self.revision = revision
            return "save"
        case .register(_, let number):
            registration = number
            return "register"
        case .grant(let grant):
            grants.append(grant)
            return
                "grant \(grant.number) \(grant.session) to \(grant.recipients.map(\.device.text).joined(separator: ","))"
        case .acknowledge(let update): return "acknowledge \(update)"
        case .letGo(let update): return "let go \(update)"
        case .keyReady(let session, _): return "ready \(session)"
        case .chatGranted(let session): return "chat granted \(session)"
        case .tell(.keyChanged(let session, let device, let isFurther)):
            return "tell keyChanged(\(session)) after \(device?.id.text ?? "no device")\(isFurther ? " again" : "")"
        case .tell(let news): return "tell \(news)"
        }
    }
}
