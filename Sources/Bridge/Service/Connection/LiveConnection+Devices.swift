import BridgeCore
import Locking
package import Sealing
import Vocabulary

// Devices of a running bridge: what people see of them, and what they decide.
extension LiveConnection {
    /// Figures of keys and devices, or nil if this connection seals nothing.
    package var sealing: BridgeStatus.Sealing? {
        guard let keys else { return nil }
        let (figures, publicKey) = keys.ask { ($0.figures, $0.publicKey) }
        var sealing = BridgeStatus.Sealing(encryption: keys.encryption.rawValue, figures)
        sealing.publicKey = publicKey
        sealing.runsWaiting = runsWaitingForPhone
        sealing.messagesWaiting = ask { $0.sessionsAwaitingKey.count } ?? 0
        return sealing
    }

    /// Carries out a person's decision. `done` receives the outcome, and whether it is on the disk.
    package func carryOut(
        _ order: DeviceOrders.Order, done: @escaping @Sendable (DeviceBook.ChosenAction, _ isKept: Bool) -> Void
    ) {
        guard let keys else { return done(.unknownDevice, true) }
        let chosen = Locked(DeviceBook.ChosenAction.nothing)
        keys.change({ ring, name, now, secrets in
            chosen.withLock { $0 = ring.carryOut(order, name, at: now, using: secrets) }
        }) { isKept in
            done(chosen.withLock { $0 }, isKept)
        }
    }
}
