import BridgeModel

/// What came on the present socket, and up to where it may be acknowledged.
///
/// - An acknowledgement covers everything before it (relay sheet 3.4): it goes only as far as all that was received is durable.
/// - At most `limit` updates wait. What comes then is left out, and everything that comes after it too, until it comes again:
///   otherwise a later acknowledgement would cover what was never taken.
/// - A new socket begins anew: what was not acknowledged on the old one comes again.
struct UpdateLedger {
    private struct Entry {
        var id: UpdateID
        var isNumber: Bool
        var isDurable = false
    }

    /// What to do with an update that came.
    enum Verdict: Hashable { case take, isWaiting, isAcknowledged, noRoom }

    private static let recentLimit = 1_024
    /// After this the relay has had six occasions to send the left-out update again (sheet 3.4); then a new socket is better.
    private static let gapLimit = Duration.seconds(30)

    private let limit: Int
    /// In the order they came.
    private var entries: [Entry] = []
    private var waiting: Set<UpdateID> = []
    private var recent: Set<UpdateID> = []
    /// The same as `recent`, as a ring.
    private var recentOrder: [UpdateID] = []
    private var oldest = 0
    private var gap: UpdateID?
    /// When to give up on it; set while there is room for it.
    private(set) var gapEnds: Instant?
    private var acknowledged: Entry?
    private var isAcknowledgementDue = false

    init(limit: Int) { self.limit = max(1, limit) }

    var count: Int { entries.count }
    private var hasRoom: Bool { entries.count < limit }

    mutating func socketLost() { self = UpdateLedger(limit: limit) }

    /// An update came.
    mutating func came(_ id: UpdateID, isNumber: Bool, at now: Instant) -> Verdict {
        if waiting.contains(id) { return .isWaiting }
        if recent.contains(id) {
            // It crossed our acknowledgement, or that one was lost.
            isAcknowledgementDue = true
            return .isAcknowledged
        }
        guard hasRoom, gap == nil || gap == id else {
            if gap == nil { gap = id }
            return .noRoom
        }
        (gap, gapEnds) = (nil, nil)
        entries.append(Entry(id: id, isNumber: isNumber))
        waiting.insert(id)
        return .take
    }

    /// It is recorded, or needs no record. In any order; what is not known is another socket's.
    mutating func durable(_ id: UpdateID, at now: Instant) {
        guard waiting.contains(id), let index = entries.firstIndex(where: { $0.id == id }) else { return }
        entries[index].isDurable = true
        let count = entries.prefix { $0.isDurable }.count
        guard count > 0 else { return }
        for entry in entries.prefix(count) {
            waiting.remove(entry.id)
            remember(entry.id)
        }
        acknowledged = entries[count - 1]
        isAcknowledgementDue = true
        entries.removeFirst(count)
        if gap != nil, gapEnds == nil { gapEnds = now + Self.gapLimit }
    }

    /// The frame to send, once for each time that something was to be acknowledged.
    mutating func takeAcknowledgement() -> [UInt8]? {
        guard isAcknowledgementDue, let acknowledged else { return nil }
        isAcknowledgementDue = false
        var frame = JSONObjectWriter()
        frame.string("type", "ack")
        if acknowledged.isNumber {
            frame.raw("up_to_update_id", Array(acknowledged.id.text.utf8))
        } else {
            frame.string("up_to_update_id", acknowledged.id.text)
        }
        return frame.finish()
    }

    private mutating func remember(_ id: UpdateID) {
        recent.insert(id)
        if recentOrder.count < Self.recentLimit { return recentOrder.append(id) }
        recent.remove(recentOrder[oldest])
        recentOrder[oldest] = id
        oldest = (oldest + 1) % Self.recentLimit
    }
}
