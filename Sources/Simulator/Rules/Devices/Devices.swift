/// A device of the user, or the bridge (relay.md#device-identity).
package struct Device: Hashable, Sendable {
    package let id: String
    /// 64 hexadecimal digits.
    package internal(set) var publicKey: String
    package internal(set) var label: String?
    /// `bridge` for the bridge's own device.
    package internal(set) var platform: String?
    package internal(set) var isRevoked = false

    static let bridgePlatform = "bridge"
}

/// A chat's key in a box for one device. The relay cannot open it.
package struct WrappedKey: Hashable, Sendable {
    package let session: String
    package let device: String
    /// A sealed box in base64.
    package let box: String
    /// Device that the grant names as its maker; unchecked for a phone's grant.
    package let wrappedBy: String?
    package let at: Moment
}

/// The devices of the bridge and the user, and the keys of sealed chats in their boxes (relay.md#session-key-life-cycle).
///
/// Invariants: an id is given once, and a revoked device keeps its own; a device has only the newest box of a chat's key;
/// there is no box for a revoked device, nor one for a public key that the device no longer has.
struct Devices: Sendable {
    private(set) var bridge: Device?
    /// Oldest first.
    private(set) var phones: [Device] = []
    private var boxes: [String: [String: WrappedKey]] = [:]

    subscript(id: String) -> Device? { bridge?.id == id ? bridge : phones.first { $0.id == id } }

    func phone(withKey key: String) -> Device? { phones.first { $0.publicKey == key } }

    /// Newest boxes of the device, one for each chat.
    func keys(of device: String) -> [WrappedKey] {
        boxes.values.compactMap { $0[device] }.sorted { ($0.at, $0.session) < ($1.at, $1.session) }
    }

    // MARK: Coming and going

    /// True if the key replaces another one.
    mutating func registerBridge(id: String, key: String, label: String?) -> Bool {
        let isChanged = bridge.map { $0.publicKey != key } ?? false
        if isChanged { dropBoxes(of: id) }
        bridge = Device(id: id, publicKey: key, label: label, platform: Device.bridgePlatform)
        return isChanged
    }

    /// Adds a phone, or replaces the key and words of a known one.
    mutating func registerPhone(_ device: Device) {
        guard let index = phones.firstIndex(where: { $0.id == device.id }) else { return phones.append(device) }
        if phones[index].publicKey != device.publicKey { dropBoxes(of: device.id) }
        phones[index] = device
    }

    mutating func revoke(phone id: String) {
        guard let index = phones.firstIndex(where: { $0.id == id }) else { return }
        phones[index].isRevoked = true
        dropBoxes(of: id)
    }

    // MARK: Keys

    mutating func keep(_ key: WrappedKey) { boxes[key.session, default: [:]][key.device] = key }

    mutating func forget(session: String) { boxes[session] = nil }

    private mutating func dropBoxes(of device: String) {
        for session in boxes.keys { boxes[session]?[device] = nil }
    }
}

// A part of a relay's state.
extension Devices {
    func writeBridge(to installation: inout JSONWriter) {
        installation.field("device_id", bridge?.id)
        installation.field("device_key", bridge?.publicKey)
        installation.field("device_label", bridge?.label)
    }

    func write(to state: inout JSONWriter) {
        state.array("devices") { list in
            for device in phones {
                list.objectElement { item in
                    item.field("id", device.id)
                    item.field("key", device.publicKey)
                    item.field("label", device.label)
                    item.field("platform", device.platform)
                    item.field("is_revoked", device.isRevoked)
                }
            }
        }
        state.array("wrapped_keys") { list in
            for (_, keys) in boxes.sorted(by: { $0.key < $1.key }) {
                for (_, key) in keys.sorted(by: { $0.key < $1.key }) {
                    list.objectElement { item in
                        item.field("session", key.session)
                        item.field("device", key.device)
                        item.field("box", key.box)
                        item.field("wrapped_by", key.wrappedBy)
                        item.moment("at", key.at)
                    }
                }
            }
        }
    }

    mutating func restoreBridge(_ installation: StateReader) throws(StateReader.Fault) {
        guard let id = try installation.optional("device_id"), let key = try installation.optional("device_key")
        else { return }
        _ = registerBridge(id: id, key: key, label: try installation.optional("device_label"))
    }

    /// States of versions before phones' devices have neither list.
    mutating func restore(_ state: StateReader) throws(StateReader.Fault) {
        for reader in try state.has("devices") ? state.list("devices") : [] {
            let id = try reader.string("id")
            guard self[id] == nil else { throw reader.fault("id", "stands twice") }
            phones.append(
                Device(
                    id: id, publicKey: try reader.string("key"), label: try reader.optional("label"),
                    platform: try reader.optional("platform"), isRevoked: try reader.flag("is_revoked")))
        }
        for reader in try state.has("wrapped_keys") ? state.list("wrapped_keys") : [] {
            let device = try reader.string("device")
            guard self[device] != nil else { throw reader.fault("device", "is not known") }
            keep(
                WrappedKey(
                    session: try reader.string("session"), device: device, box: try reader.string("box"),
                    wrappedBy: try reader.optional("wrapped_by"), at: try reader.moment("at")))
        }
    }
}
