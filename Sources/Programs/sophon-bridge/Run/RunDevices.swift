import BridgeService
import Files
import Locking
import Vocabulary

/// Carries out what `devices allow` and `devices revoke` have left for the bridge that runs.
final class RunDevices: Sendable {
    private let orders: DeviceOrders
    private let log: Log
    private let underWay = Locked<Set<String>>([])

    init(_ configuration: Configuration, _ log: Log) {
        orders = DeviceOrders(stateDirectory: configuration.stateDirectory)
        self.log = log
    }

    func look(_ connections: [LiveConnection]) {
        for found in orders.pending() {
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
                // What is not on the disk yet would be lost with this process, and the order keeps waiting.
                if isKept { remove(found) } else { underWay.withLock { _ = $0.remove(found.path) } }
            }
        }
    }

    private func remove(_ found: DeviceOrders.Found) {
        do {
            try orders.remove(found)
            underWay.withLock { _ = $0.remove(found.path) }
        } catch { log.warning("devices", [("reason", .text(error.message))]) }
    }
}
