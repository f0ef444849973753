package import Vocabulary

/// The devices that the relay has announced, and which of them may be given keys.
///
/// Nothing authenticates the relay here (relay.md#session-key-life-cycle): it can announce a device of its own. So the first devices
/// are pinned as they come, and whatever comes later is held until the person allows it. A device whose key changes is another one.
package struct DeviceBook: Sendable {
    package enum Standing: String, Hashable, Sendable, Codable {
        case pinned
        /// Waits for the person.
        case held
        /// By the relay.
        case revoked
        /// The person has said no. It stays so, whatever is announced, until they say yes.
        case refused
    }

    /// What becomes of devices that are announced late: the configuration's `devices`.
    package enum Trust: String, Hashable, Sendable, CaseIterable { case pin, trust }

    /// The outcome of a person's order about a device.
    package enum ChosenAction: Hashable, Sendable {
        case done
        /// It was so already.
        case nothing
        case unknownDevice
        /// It has another public key than the one that the person saw.
        case otherKey
    }

    package struct Device: Hashable, Sendable {
        package var id: DeviceID
        package var publicKey: [UInt8]
        package var label: String?
        package var platform: String?
        package var standing: Standing
        /// The phone has had the notice that it is held.
        var isTold: Bool
        /// Names this pair of id and public key to the person, who has no use for an id that the relay chose. Given by the book, and
        /// never to another pair.
        package internal(set) var number = 0

        package init(
            id: DeviceID, publicKey: [UInt8], label: String? = nil, platform: String? = nil,
            standing: Standing = .held, isTold: Bool = false
        ) {
            self.id = id
            self.publicKey = publicKey
            self.label = label
            self.platform = platform
            self.standing = standing
            self.isTold = isTold
        }
    }

    package enum AnnouncedAction: Hashable, Sendable {
        case pinned
        case held
        /// It was known, under another key; held now.
        case changedKey
        /// It is known unchanged, or not a device that keys are for.
        case nothing
        case tooMany
    }

    /// After the first pairing: the phone that paired has other devices, which are announced by then.
    package static let pairingMilliseconds: Int64 = 10 * 60_000
    static let limit = 64

    package private(set) var devices: [DeviceID: Device]
    /// One was pinned at some time. From then on none is taken without being asked for, even if all are revoked: else a relay would
    /// revoke them and announce its own.
    private(set) var hasPinned: Bool
    /// The file of the devices was lost while keys were there, or is an older copy: no device of this installation is pinned unless the
    /// person says so.
    private(set) var isLost: Bool
    private(set) var nextNumber: Int
    /// The first pairing, in milliseconds since 1970; nil: not known, and long ago.
    private(set) var pairedAt: Int64?
    /// Every device is pinned: the configuration's `"devices": "trust"`.
    var trustsAll = false

    init(
        _ devices: [Device] = [], hasPinned: Bool = false, isLost: Bool = false, nextNumber: Int = 1,
        pairedAt: Int64? = nil, trustsAll: Bool = false
    ) {
        self.devices = Dictionary(devices.map { ($0.id, $0) }) { _, last in last }
        self.hasPinned = hasPinned
        self.isLost = isLost
        self.nextNumber = nextNumber
        self.pairedAt = pairedAt
        self.trustsAll = trustsAll
        let numbers = Set(devices.map(\.number))
        self.nextNumber = max(nextNumber, (numbers.max() ?? 0) &+ 1, 1)
        // A file of an earlier version has none, and one that somebody edited may have the same twice.
        if numbers.count < devices.count || numbers.contains(where: { $0 < 1 }) {
            for id in self.devices.keys.sorted() { number(id) }
        }
    }

    private mutating func number(_ id: DeviceID) {
        devices[id]?.number = nextNumber
        nextNumber &+= 1
    }

    /// How people are told of it.
    package func numbered(_ id: DeviceID) -> NumberedDevice { NumberedDevice(id: id, number: devices[id]?.number) }

    var pinned: [Device] { devices(.pinned) }

    package func devices(_ standing: Standing) -> [Device] {
        devices.values.filter { $0.standing == standing }.sorted { $0.id < $1.id }
    }

    mutating func announced(_ device: Device, wall: Int64) -> AnnouncedAction {
        var device = device
        // Another bridge reads nothing of ours.
        guard device.platform != "bridge" else { return .nothing }
        if let known = devices[device.id] {
            guard known.publicKey == device.publicKey else {
                device.standing = known.standing == .refused ? .refused : trustsAll ? .pinned : .held
                devices[device.id] = device
                number(device.id)
                return .changedKey
            }
            // Back after it was revoked: as if it were new.
            guard known.standing == .revoked else { return .nothing }
            device.number = known.number
        } else if !makeRoom() {
            return .tooMany
        }
        let isPinned = trustsAll || !isLost && (!hasPinned || isPairing(wall))
        device.standing = isPinned ? .pinned : .held
        hasPinned = hasPinned || isPinned
        devices[device.id] = device
        if device.number == 0 { number(device.id) }
        return isPinned ? .pinned : .held
    }

    /// Whether it was pinned until now.
    mutating func revoked(_ id: DeviceID) -> Bool {
        guard let standing = devices[id]?.standing else { return false }
        if standing != .refused { devices[id]?.standing = .revoked }
        return standing == .pinned
    }

    /// The person says so. `key`: the public key that they saw; nil: any.
    mutating func choose(_ standing: Standing, for id: DeviceID, key: [UInt8]?) -> ChosenAction {
        guard let known = devices[id] else { return .unknownDevice }
        guard key == nil || key == known.publicKey else { return .otherKey }
        guard known.standing != standing else { return .nothing }
        devices[id]?.standing = standing
        if standing == .pinned { hasPinned = true }
        return .done
    }

    mutating func told(_ id: DeviceID, key: [UInt8]) {
        if devices[id]?.publicKey == key { devices[id]?.isTold = true }
    }

    /// The installation is gone. Later devices are not pinned automatically.
    mutating func forgetDevices() { devices = [:] }

    /// The book is an older copy: who was revoked or refused since is not in it.
    mutating func holdAll() {
        (hasPinned, isLost) = (true, true)
        for device in devices(.pinned) {
            devices[device.id]?.standing = .held
            devices[device.id]?.isTold = false
        }
    }

    /// Another installation is used. Only where nothing was pinned or sealed in the one before, its devices are pinned like the first ones.
    mutating func moves(hasHeldKey: Bool) {
        forgetDevices()
        hasPinned = hasPinned || hasHeldKey
    }

    /// The moment of the newest pairing. The relay can have the person pair again by refusing the token, and announce a device of its own
    /// then: a pairing counts that was made before the first device and the first key. Any later one pins nobody.
    mutating func paired(at wall: Int64?, hasHeldKey: Bool) {
        guard let wall, wall != pairedAt else { return }
        if hasPinned || hasHeldKey || isLost {
            hasPinned = true
        } else {
            pairedAt = wall
        }
    }

    /// Who announces devices without end does not shut out the person's next one: the oldest that is held gives way.
    private mutating func makeRoom() -> Bool {
        if devices.count < Self.limit { return true }
        let held = devices(.held).min { $0.number < $1.number }
        guard let least = devices(.revoked).first ?? held else { return false }
        devices[least.id] = nil
        return true
    }

    private func isPairing(_ wall: Int64) -> Bool {
        guard let pairedAt else { return false }
        let (age, overflow) = wall.subtractingReportingOverflow(pairedAt)
        return !overflow && (0...Self.pairingMilliseconds).contains(age)
    }
}

/// A device in words for people: by its number, since its id is whatever the relay says.
package struct NumberedDevice: Hashable, Sendable, CustomStringConvertible {
    package var id: DeviceID
    /// Nil: it is in the book no more.
    package var number: Int?

    package init(id: DeviceID, number: Int?) {
        self.id = id
        self.number = number
    }

    package var description: String { id.text }
}
