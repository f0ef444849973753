package import BridgeModel

/// The devices that the relay has announced, and which of them may be given keys.
///
/// Nothing authenticates the relay here (relay.md#session-key-life-cycle): it can announce a device of its own. So the first devices
/// are pinned as they come, and whatever comes later is held until the person allows it. A device whose key changes is another one.
package struct DeviceBook: Sendable {
    package enum Standing: String, Hashable, Sendable, Codable {
        case pinned
        /// Waits for the person.
        case held
        case revoked
    }

    package struct Device: Hashable, Sendable {
        package var id: DeviceID
        package var publicKey: [UInt8]
        package var label: String?
        package var platform: String?
        package var standing: Standing

        package init(
            id: DeviceID, publicKey: [UInt8], label: String? = nil, platform: String? = nil,
            standing: Standing = .held
        ) {
            self.id = id
            self.publicKey = publicKey
            self.label = label
            self.platform = platform
            self.standing = standing
        }
    }

    package enum AnnouncedAction: Hashable, Sendable {
        case pinned
        case held
        /// It was known, under another key; held now.
        case changedKey
        /// It is known as it is, or no device that keys are for.
        case nothing
        case tooMany
    }

    /// After pairing: the phone that paired has other devices, which are announced by then.
    package static let pairingMilliseconds: Int64 = 10 * 60_000
    static let limit = 64

    package private(set) var devices: [DeviceID: Device]
    /// One was pinned at some time. From then on none is taken without being asked for, even if all are revoked: else a relay would
    /// revoke them and announce its own.
    private(set) var hasPinned: Bool
    /// Milliseconds since 1970; nil: not known, and long ago.
    var pairedAt: Int64?
    /// Every device is pinned: the configuration's `"devices": "trust"`.
    var trustsAll = false

    init(_ devices: [Device] = [], hasPinned: Bool = false, pairedAt: Int64? = nil) {
        self.devices = Dictionary(devices.map { ($0.id, $0) }) { _, last in last }
        self.hasPinned = hasPinned
        self.pairedAt = pairedAt
    }

    var pinned: [Device] { devices.values.filter { $0.standing == .pinned }.sorted { $0.id < $1.id } }

    mutating func announced(_ device: Device, wall: Int64) -> AnnouncedAction {
        var device = device
        // Another bridge reads nothing of ours.
        guard device.platform != "bridge" else { return .nothing }
        if let known = devices[device.id] {
            guard known.publicKey == device.publicKey else {
                device.standing = trustsAll ? .pinned : .held
                devices[device.id] = device
                return .changedKey
            }
            // Back after it was revoked: as if it were new.
            guard known.standing == .revoked else { return .nothing }
        } else if devices.count >= Self.limit {
            return .tooMany
        }
        let isPinned = trustsAll || !hasPinned || isPairing(wall)
        device.standing = isPinned ? .pinned : .held
        hasPinned = hasPinned || isPinned
        devices[device.id] = device
        return isPinned ? .pinned : .held
    }

    /// Whether it was pinned until now.
    mutating func revoked(_ id: DeviceID) -> Bool {
        guard let standing = devices[id]?.standing else { return false }
        devices[id]?.standing = .revoked
        return standing == .pinned
    }

    /// The person says so. False: there is no such device, or it may already.
    mutating func allow(_ id: DeviceID) -> Bool {
        guard let standing = devices[id]?.standing, standing != .pinned else { return false }
        devices[id]?.standing = .pinned
        hasPinned = true
        return true
    }

    private func isPairing(_ wall: Int64) -> Bool {
        guard let pairedAt else { return false }
        let (age, overflow) = wall.subtractingReportingOverflow(pairedAt)
        return !overflow && (0...Self.pairingMilliseconds).contains(age)
    }
}
