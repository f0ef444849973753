package import Files
import FoundationEssentials
import Glibc
package import Sealing
package import Vocabulary

/// A person's decisions about devices while a bridge runs and holds the keys: files in the state directory, one for each decision.
///
/// The bridge looks for them every few seconds, and when it starts. It removes a file once the files of keys hold the decision, so that
/// neither the bridge nor the command that wrote the file can lose it.
package struct DeviceOrders: Sendable {
    package enum Action: String, Codable, Hashable, Sendable {
        case allow, revoke
    }

    package struct Order: Codable, Hashable, Sendable {
        package var version = 1
        package var connection: String
        package var device: String
        /// The public key that the person saw, in hexadecimal digits: a device with another key is another device.
        package var publicKey: String
        package var action: Action

        package init(_ action: Action, _ device: DeviceBook.Device, of connection: ConnectionName) {
            self.connection = connection.text
            self.device = device.id.text
            publicKey = Hexadecimal.text(device.publicKey)
            self.action = action
        }
    }

    package struct Found: Hashable, Sendable {
        package var path: String
        /// Nil if this version cannot carry the order out.
        package var order: Order?
    }

    private static let prefix = "device-order-"
    private static let suffix = ".json"
    private static let limit = 64
    /// Digits of an order's time in its name.
    private static let digits = 15

    private let directory: String

    package init(stateDirectory: String) { directory = stateDirectory }

    /// Returns the file that holds the order until it is carried out. Its name comes behind those of all pending orders, even after the
    /// clock was set back.
    package func add(
        _ order: Order, wallMilliseconds: Int64 = SystemClock().wallMilliseconds
    ) throws(FileError) -> String {
        let newest = names.compactMap(Self.time(of:)).max() ?? 0
        let time = "\(max(wallMilliseconds, newest + 1))"
        let padding = String(repeating: "0", count: max(0, Self.digits - time.count))
        let path = "\(directory)/\(Self.prefix)t\(padding)\(time)-\(UUID().uuidString)\(Self.suffix)"
        try JSONFile.write(order, to: path)
        return path
    }

    /// Pending orders as they were given: of two orders about one device the later wins. Those of an earlier version have random names
    /// and come first.
    package func pending() -> [Found] {
        names.sorted().prefix(Self.limit).map { name in
            let path = directory + "/" + name
            let read = try? JSONFile.read(Order.self, from: path, remedy: "delete it", ownedBy: geteuid())
            return Found(path: path, order: read?.value.version == 1 ? read?.value : nil)
        }
    }

    private var names: [String] {
        let all = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return all.filter { $0.hasPrefix(Self.prefix) && $0.hasSuffix(Self.suffix) }
    }

    /// Milliseconds since 1970, or nil for a name of an earlier version.
    private static func time(of name: String) -> Int64? {
        let rest = name.dropFirst(prefix.count)
        return rest.hasPrefix("t") ? Int64(rest.dropFirst().prefix(digits)) : nil
    }

    package func remove(_ found: Found) throws(FileError) { try PrivateFile.remove(found.path) }

    package static func isPending(_ path: String) -> Bool { access(path, F_OK) == 0 }
}

extension KeyRing {
    /// Acknowledges `update` once the files hold the order, even if it changes nothing.
    package mutating func carryOut(
        _ order: DeviceOrders.Order, _ update: UpdateID? = nil, at now: Instant, using random: some SecretRandom
    ) -> DeviceBook.ChosenAction {
        let (device, key) = (DeviceID(order.device), Hexadecimal.bytes(order.publicKey) ?? [])
        return switch order.action {
        case .allow: allow(device, key: key, update, at: now, using: random)
        case .revoke: refuse(device, key: key, update, at: now, using: random)
        }
    }
}
