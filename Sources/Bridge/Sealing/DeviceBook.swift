package import Vocabulary

/// The devices that the relay has announced, and which of them may receive keys.
///
/// Nothing authenticates the relay here (relay.md#session-key-life-cycle): it can announce a device of its own. The book therefore pins the
/// first devices and holds every later one until the person allows it. A device with a changed key is another one.
package struct DeviceBook: Sendable {
    package enum Standing: String, Hashable, Sendable, Codable {
        case pinned
        /// The device waits for the person.
        case held
        /// The relay revoked the device.
        case revoked
        /// The person refused the device. Announcements change nothing until the person allows it.
        case refused
    }

    /// Treatment of devices that are announced late: the configuration's `devices`.
    package enum Trust: String, Hashable, Sendable, CaseIterable { case pin, trust }

    /// The outcome of a person's order about a device.
    package enum ChosenAction: Hashable, Sendable {
        case done
        /// The order changed nothing.
        case nothing
        case unknownDevice
        /// The device's public key differs from the one that the person saw.
        case otherKey
    }

    package struct Device: Hashable, Sendable {
        package var id: DeviceID
        package var publicKey: [UInt8]
        package var label: String?
        package var platform: String?
        package var standing: Standing
        /// Whether a phone has shown the notice that the device is held.
        var isTold: Bool
        /// The person's name for this pair of id and public key, since the relay chooses the id. The book assigns it, and never to another pair.
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
        /// The device was known under another key. Held now, unless it is refused or all devices are trusted.
        case changedKey
        /// The device is known and unchanged, or is another bridge.
        case nothing
        case tooMany
    }

    /// Time after the first pairing in which the relay announces the other devices of the phone that paired.
    package static let pairingMilliseconds: Int64 = 10 * 60_000
    static let limit = 64

    package private(set) var devices: [DeviceID: Device]
    /// Whether a device was ever pinned. From then on none is pinned unasked, even if all are
    /// revoked: a relay could revoke them all and announce its own.
    private(set) var hasPinned: Bool
    /// The devices' file was lost while keys existed, or is an older copy: only the person pins devices of this installation.
    private(set) var isLost: Bool
    private(set) var nextNumber: Int
    /// The first pairing in milliseconds since 1970, or nil if it is unknown and long ago.
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
        // A file of an earlier version has no numbers, and an edited one may have the same number twice.
        if numbers.count < devices.count || numbers.contains(where: { $0 < 1 }) {
            for id in self.devices.keys.sorted() { number(id) }
        }
    }

    private mutating func number(_ id: DeviceID) {
        devices[id]?.number = nextNumber
        nextNumber &+= 1
    }

    /// The device in words for people.
    package func numbered(_ id: DeviceID) -> NumberedDevice { NumberedDevice(id: id, number: devices[id]?.number) }

    var pinned: [Device] { devices(.pinned) }

    package func devices(_ standing: Standing) -> [Device] {
        devices.values.filter { $0.standing == standing }.sorted { $0.id < $1.id }
    }

    mutating func announced(_ device: Device, wall: Int64) -> AnnouncedAction {
        var device = device
        // Another bridge reads none of our chats.
        guard device.platform != "bridge" else { return .nothing }
        if let known = devices[device.id] {
            guard known.publicKey == device.publicKey else {
                device.standing = known.standing == .refused ? .refused : trustsAll ? .pinned : .held
                hasPinned = hasPinned || device.standing == .pinned
                devices[device.id] = device
                number(device.id)
                return .changedKey
            }
            // A revoked device that comes back counts as new.
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

    /// Whether the device was pinned before.
    mutating func revoked(_ id: DeviceID) -> Bool {
        guard let standing = devices[id]?.standing else { return false }
        if standing != .refused { devices[id]?.standing = .revoked }
        return standing == .pinned
    }

    /// The person's order. `key` is the public key that they saw, or nil for any.
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

    /// The installation is gone. `hasPinned` stays: once a device was pinned, no other is pinned unasked.
    mutating func forgetDevices() { devices = [:] }

    /// The book is an older copy and may lack later revocations and refusals.
    mutating func holdAll() {
        (hasPinned, isLost) = (true, true)
        for device in devices(.pinned) {
            devices[device.id]?.standing = .held
            devices[device.id]?.isTold = false
        }
    }

    /// Another installation is in use. Its first devices are pinned only if the installation before had neither a pinned device nor a key.
    mutating func moves(hasHeldKey: Bool) {
        forgetDevices()
        hasPinned = hasPinned || hasHeldKey
    }

    /// Notes the newest pairing. A relay can refuse the token, have the person pair again, and announce a device of its own then.
    /// So a pairing counts only before the first device and the first key; a later one pins no device.
    mutating func paired(at wall: Int64?, hasHeldKey: Bool) {
        guard let wall, wall != pairedAt else { return }
        if hasPinned || hasHeldKey || isLost {
            hasPinned = true
        } else {
            pairedAt = wall
        }
    }

    /// Endless announcements must not keep the person's next device out: the oldest held device gives way.
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

/// A device in words for people: by its number, since the relay chooses its id.
package struct NumberedDevice: Hashable, Sendable, CustomStringConvertible {
    package var id: DeviceID
    /// Nil if the book no longer has the device.
    package var number: Int?

    package init(id: DeviceID, number: Int?) {
        self.id = id
        self.number = number
    }

    package var description: String { id.text }
}
