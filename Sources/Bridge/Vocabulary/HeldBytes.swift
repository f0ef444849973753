/// What a connection holds in memory for later, in bytes: the ledger of its queues (`LiveConnection.heldBytes`; the part of the
/// machine alone is `Bridge.heldBytes` and `BridgeFigures.held`). What counts is what the far sides wrote; the few hundred bytes
/// that each entry costs besides are counted with `entryCost`.
///
/// Each part has its own bound:
/// - `lanes` and `texts` together: `DeliverySettings.heldBytes`; above it payloads of cards are cut, oldest progress first, but
///   half of it is the lanes' own, however much text there is. Ends, messages, approvals and texts are never cut, so they may go
///   above it.
/// - `updates`: `RelayLinkSettings.updateBytes`; above it updates are left out, and the relay sends them again.
/// - all together: the memory limit; at it nothing more is read from the agent until `resumes` is reached. Texts alone never reach it
///   (`counted`).
package struct HeldBytes: Hashable, Sendable {
    /// Posts that wait in lanes, and calls that were tried and not answered.
    package var lanes = 0
    /// What runs have said so far, for the end of their turns; ended turns hold none.
    package var texts = 0
    /// Jobs that the journal's writer has not committed.
    package var journal = 0
    /// Bodies of calls from an earlier process that the relay has not answered.
    package var storedCalls = 0
    /// Frames of the agent that were read and not yet carried out, and messages that wait for its process.
    package var agent = 0
    /// Updates of the relay that are not durable yet.
    package var updates = 0

    package static let entryCost = 256

    package init() {}

    package var total: Int { lanes + texts + journal + storedCalls + agent + updates }

    /// What counts towards a memory limit. Texts are at most half of it: they go when their runs end, and no run ends while nothing
    /// is read.
    package func counted(towards limit: Int) -> Int { total - texts + min(texts, limit / 2) }
}

/// When reading from the agent stops for want of memory, and when it continues: a gap between the two, so that the link does not
/// flutter.
package struct MemoryGate: Hashable, Sendable {
    package enum Change: Hashable, Sendable { case stopReading, goOn }

    /// Another one counts from the next look on.
    package var limit: Int
    package private(set) var isClosed = false

    package init(limit: Int) { self.limit = limit }

    package var resumes: Int { limit / 4 * 3 }

    /// Nil: nothing changes.
    package mutating func holds(_ held: HeldBytes) -> Change? {
        let bytes = held.counted(towards: limit)
        if !isClosed, bytes >= limit {
            isClosed = true
            return .stopReading
        }
        if isClosed, bytes <= resumes {
            isClosed = false
            return .goOn
        }
        return nil
    }
}
