/// Memory that a connection holds for later, in bytes: the ledger of its queues (`LiveConnection.heldBytes`; the
/// machine's part alone is `Bridge.heldBytes` and `BridgeFigures.held`). It counts bytes of the far sides;
/// `entryCost` stands for the few hundred bytes that each entry costs besides.
///
/// Each part has its own bound:
/// - `lanes` and `texts` together: `DeliverySettings.heldBytes`. Above it payloads of cards are cut, oldest progress first, but half of it
///   belongs to the lanes, however much text there is. Ends, messages, approvals and texts are never cut, and may exceed it.
/// - `updates`: `RelayLinkSettings.updateBytes`. Above it updates are dropped, and the relay sends them again.
/// - the total: the memory limit. At it the bridge stops reading from sockets of the agent until `resumes` is reached. Texts alone never
///   reach it (`counted`).
package struct HeldBytes: Hashable, Sendable {
    /// Posts that wait in lanes, and calls that were tried without an answer.
    package var lanes = 0
    /// Text of runs so far, for the end of their turns. Ended turns hold none.
    package var texts = 0
    /// Jobs that the journal's writer has not committed.
    package var journal = 0
    /// Bodies of calls from an earlier process that the relay has not answered.
    package var storedCalls = 0
    /// Frames of the agent between reading and carrying out, and messages that wait for its process.
    package var agent = 0
    /// Updates of the relay that are not durable yet.
    package var updates = 0

    package static let entryCost = 256

    package init() {}

    package var total: Int { lanes + texts + journal + storedCalls + agent + updates }

    /// Bytes that count towards a memory limit. Texts count for at most half of it: only the end of
    /// their runs frees them, and no run ends while reading is stopped.
    package func counted(towards limit: Int) -> Int { total - texts + min(texts, limit / 2) }
}

/// Stops reading from the agent at the memory limit, and continues it at a lower mark: the gap keeps the link from fluttering.
package struct MemoryGate: Hashable, Sendable {
    package enum Change: Hashable, Sendable { case stopReading, goOn }

    /// A new limit counts from the next check on.
    package var limit: Int
    package private(set) var isClosed = false

    package init(limit: Int) { self.limit = limit }

    package var resumes: Int { limit / 4 * 3 }

    /// Nil if nothing changes.
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
