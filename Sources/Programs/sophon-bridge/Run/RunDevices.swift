import BridgeService
import Files
import Locking
import Vocabulary

/// Carries out the orders that `devices allow` and `devices revoke` left for the running bridge.
final class RunDevices: Sendable {
    private let orders: DeviceOrders
    private let log: Log
    private let underWay = Locked<Set<String>>([])
    /// Orders whose files could not be removed.
    private let left = Locked<Set<String>>([])

    init(_ configuration: Configuration, _ log: Log) {
        orders = DeviceOrders(stateDirectory: configuration.stateDirectory)
        self.log = log
    }

    func look(_ connections: [LiveConnection]) {
        var devices: Set<String> = []
        for found in orders.pending() where !left.withLock({ $0.contains(found.path) }) {
            // A decision waits for an earlier one about its device: the later must win.
            if let order = found.order, !devices.insert("\(order.connection) \(order.device)").inserted { continue }
            guard underWay.withLock({ $0.insert(found.path).inserted }) else { continue }
            guard let order = found.order,
                let connection = connections.first(where: { $0.name.text == order.connection })
            else {
                log.warning("an order about a device that this bridge cannot carry out", [("file", .text(found.path))])
                remove(found)
                continue
            }
            connection.carryOut(order) { [self] action, isKept in
                log.info(
                    "devices",
                    [
                        ("connection", .text(order.connection)), ("device", .text(order.device)),
                        ("order", .text(order.action.rawValue)), ("outcome", .text("\(action)")),
                    ])
                // An outcome that is not on the disk would be lost with this process: keep the order.
                if isKept { remove(found) } else { underWay.withLock { _ = $0.remove(found.path) } }
            }
        }
    }

    private func remove(_ found: DeviceOrders.Found) {
        do {
            try orders.remove(found)
        } catch {
            left.withLock { _ = $0.insert(found.path) }
            log.warning(
                "an order about a device is carried out again at the next start, unless its file is deleted",
                [("reason", .text(error.message))])
        }
        underWay.withLock { _ = $0.remove(found.path) }
    }
}
