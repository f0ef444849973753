package import BridgeModel
import Locking

/// A journal that lives as long as the process.
package final class MemoryJournal: TurnJournal {
    private let seen = Locked<Set<MessageID>>([])

    package init() {}

    package func submit(
        _ entries: [JournalEntry], _ durability: Durability, done: (@Sendable (JournalFailure?) -> Void)?
    ) {
        done?(nil)
    }

    package func accept(
        _ message: AcceptedMessage, done: @escaping @Sendable (Result<Acceptance, JournalFailure>) -> Void
    ) {
        let isNew = seen.withLock { $0.insert(message.message).inserted }
        done(.success(isNew ? .fresh : .known))
    }

    package func load() -> JournalContents { JournalContents() }
    package func purge(before wall: Int64) {}
}
