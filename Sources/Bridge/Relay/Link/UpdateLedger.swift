import Vocabulary

/// Updates received on the current socket, and how far they may be acknowledged.
///
/// - An acknowledgement covers all earlier updates (relay.md#delivery-ack-replay): it goes only as far as all received ones are durable.
/// - At most `limit` updates are pending, with at most `byteLimit` bytes unless there is a single one. The update at the bound and all later ones are
///   left out until the relay sends them again: otherwise a later acknowledgement would cover an update that was never taken.
/// - An update's identity is its id with its content: the counters of relay nodes differ, so the same
///   id with another message is another update (DESIGN.md#a-runs-journey).
/// - An update that could not be made durable is dropped, and taken again when it comes again. No later one is acknowledged before.
/// - Any update that must come again has `resendLimit` for it (`nextDeadline`): the relay may have dropped it, and would block all later ones.
/// - A new socket starts over: the relay redelivers the old one's unacknowledged updates.
struct UpdateLedger {
    struct Name: Hashable {
        var id: UpdateID
        /// The message's own id, or the update's fingerprint. Nil for an unreadable update.
        var content: String?
    }

    private struct Entry {
        var name: Name
        var isNumber: Bool
        var bytes: Int
        var isDurable = false
        /// Time to give up on the dropped update; nil unless it was dropped.
        var resendEnds: Instant?
    }

    /// Treatment of an update that arrived.
    enum Verdict: Hashable { case take, isWaiting, isAcknowledged, noRoom }

    private static let recentLimit = 1_024
    /// Time in which the relay has had six occasions to resend an update (relay.md#delivery-ack-replay). A new socket is better then.
    private static let resendLimit = Duration.seconds(30)

    private let limit: Int
    private let byteLimit: Int
    /// Bytes of the pending updates (`HeldBytes.updates`).
    private(set) var bytes = 0
    /// Ordered by arrival.
    private var entries: [Entry] = []
    private var waiting: Set<Name> = []
    private var recent: Set<Name> = []
    /// The content of `recent` as a ring.
    private var recentOrder: [Name] = []
    private var oldest = 0
    private var gap: Name?
    /// Time to give up on the left-out update; set while there is room for it.
    private var gapEnds: Instant?
    private var acknowledged: Entry?
    private var isAcknowledgementDue = false

    init(limit: Int, byteLimit: Int) {
        self.limit = max(1, limit)
        self.byteLimit = byteLimit
    }

    var count: Int { entries.count }

    /// Time to give up on an update that does not come again.
    var nextDeadline: Instant? {
        let dropped = entries.lazy.compactMap(\.resendEnds).min()
        return [gapEnds, dropped].compactMap(\.self).min()
    }

    private func hasRoom(for bytes: Int) -> Bool {
        entries.count < limit && (entries.isEmpty || self.bytes + bytes <= byteLimit)
    }

    mutating func socketLost() { self = UpdateLedger(limit: limit, byteLimit: byteLimit) }

    /// An update came.
    mutating func came(_ name: Name, isNumber: Bool, bytes: Int, at now: Instant) -> Verdict {
        if waiting.contains(name) { return .isWaiting }
        if let index = entries.firstIndex(where: { $0.name == name }) {
            // The update was dropped, and keeps its place.
            entries[index].resendEnds = nil
            waiting.insert(entries[index].name)
            return .take
        }
        if recent.contains(name) {
            // The update crossed our acknowledgement, or the acknowledgement was lost.
            isAcknowledgementDue = true
            return .isAcknowledged
        }
        guard hasRoom(for: bytes), gap == nil || gap == name else {
            if gap == nil { gap = name }
            return .noRoom
        }
        (gap, gapEnds) = (nil, nil)
        entries.append(Entry(name: name, isNumber: isNumber, bytes: bytes))
        self.bytes += bytes
        waiting.insert(name)
        return .take
    }

    /// The update could not be recorded: take it when it comes again.
    mutating func letGo(_ name: Name, at now: Instant) {
        guard waiting.remove(name) != nil, let index = entries.firstIndex(where: { $0.name == name }) else { return }
        entries[index].resendEnds = now + Self.resendLimit
    }

    /// The update is recorded, or needs no record. The order does not matter; an unknown update belongs to another socket.
    mutating func durable(_ name: Name, at now: Instant) {
        guard waiting.contains(name), let index = entries.firstIndex(where: { $0.name == name }) else { return }
        entries[index].isDurable = true
        let count = entries.prefix { $0.isDurable }.count
        guard count > 0 else { return }
        for entry in entries.prefix(count) {
            waiting.remove(entry.name)
            remember(entry.name)
            bytes -= entry.bytes
        }
        acknowledged = entries[count - 1]
        isAcknowledgementDue = true
        entries.removeFirst(count)
        if gap != nil, gapEnds == nil { gapEnds = now + Self.resendLimit }
    }

    /// The frame to send, once for each advance of the acknowledgement.
    mutating func takeAcknowledgement() -> [UInt8]? {
        guard isAcknowledgementDue, let acknowledged else { return nil }
        isAcknowledgementDue = false
        var frame = JSONObjectWriter()
        frame.string("type", "ack")
        if acknowledged.isNumber {
            frame.raw("up_to_update_id", Array(acknowledged.name.id.text.utf8))
        } else {
            frame.string("up_to_update_id", acknowledged.name.id.text)
        }
        return frame.finish()
    }

    private mutating func remember(_ name: Name) {
        recent.insert(name)
        if recentOrder.count < Self.recentLimit { return recentOrder.append(name) }
        recent.remove(recentOrder[oldest])
        recentOrder[oldest] = name
        oldest = (oldest + 1) % Self.recentLimit
    }
}
