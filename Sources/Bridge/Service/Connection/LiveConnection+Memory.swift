import AgentKit
import BridgeCore
import Links
import Locking
import RelayProtocol
package import Vocabulary

// Bytes held in memory, and back-pressure at the limit (DESIGN.md#lanes-buckets-pacing).
extension LiveConnection {
    /// Ledger of everything that waits on this connection.
    package var heldBytes: HeldBytes {
        var held = runner?.heldBytes ?? HeldBytes()
        held.agent = agent?.heldBytes ?? 0
        held.updates = relay?.ask { $0.heldBytes } ?? 0
        return held
    }

    /// Stops reading from the agent at the limit, and resumes at three quarters of it. With `always` it repeats an unchanged order too,
    /// because two threads may reach the link in another order than they decided.
    func heedMemory(always: Bool = false) {
        let held = heldBytes
        let change = gate.withLock { $0.holds(held) }
        guard change != nil || always else { return }
        agent?.holdReading(gate.withLock { $0.isClosed })
        if let change { tell(.memory(name, isFull: change == .stopReading, held: held.total)) }
    }
}
