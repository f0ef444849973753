import Vocabulary

/// Updates received on the current socket, and up to where they may be acknowledged.
///
/// - An acknowledgement covers everything before it (relay.md#delivery-ack-replay): it goes only as far as all that was received is durable.
/// - At most `limit` updates are pending, and at most `byteLimit` bytes of them unless it is a single one. The update at the bound
///   and all later ones are left out until they are resent: otherwise a later acknowledgement would cover what was never taken.
/// - An update is known by its id and by what it is: the counters of relay nodes differ, so the same id with another message is
///   another update (DESIGN.md#a-runs-journey).
/// - One that could not be made durable is dropped: it is redelivered and taken again; nothing after it is acknowledged before.
/// - A new socket starts over: the unacknowledged updates of the old one are redelivered.
struct UpdateLedger {
    struct Name: Hashable {
        var id: UpdateID
        /// The message's own id, or the update's fingerprint; nil: it cannot be read.
        var content: String?
    }

    private struct Entry {
        var name: Name
        var isNumber: Bool
        var bytes: Int
        var isDurable = false
    }

    /// What to do with an update that came.
    enum Verdict: Hashable { case take, isWaiting, isAcknowledged, noRoom }

    private static let recentLimit = 1_024
    /// After this the relay has had six occasions to send the left-out update again (relay.md#delivery-ack-replay); then a new socket is better.
    private static let gapLimit = Duration.seconds(30)

    private let limit: Int
    private let byteLimit: Int
    /// Of those that wait (`HeldBytes.updates`).
    private(set) var bytes = 0
    /// In the order they came.
    private var entries: [Entry] = []
    private var waiting: Set<Name> = []
    private var recent: Set<Name> = []
    /// The same as `recent`, as a ring.
    private var recentOrder: [Name] = []
    private var oldest = 0
    private var gap: Name?
    /// When to give up on it; set while there is room for it.
    private(set) var gapEnds: Instant?
    private var acknowledged: Entry?
    private var isAcknowledgementDue = false

    init(limit: Int, byteLimit: Int) {
        self.limit = max(1, limit)
        self.byteLimit = byteLimit
    }

    var count: Int { entries.count }

    private func hasRoom(for bytes: Int) -> Bool {
        entries.count < limit && (entries.isEmpty || self.bytes + bytes <= byteLimit)
    }

    mutating func socketLost() { self = UpdateLedger(limit: limit, byteLimit: byteLimit) }

    /// An update came.
    mutating func came(_ name: Name, isNumber: Bool, bytes: Int, at now: Instant) -> Verdict {
        if waiting.contains(name) { return .isWaiting }
        if let index = entries.firstIndex(where: { $0.name == name }) {
            // It was dropped, and keeps its place.
            waiting.insert(entries[index].name)
            return .take
        }
        if recent.contains(name) {
            // It crossed our acknowledgement, or that one was lost.
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

    /// It could not be recorded: when it comes again it is taken again.
    mutating func letGo(_ name: Name) { waiting.remove(name) }

    /// It is recorded, or needs no record. In any order; what is not known is another socket's.
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
        if gap != nil, gapEnds == nil { gapEnds = now + Self.gapLimit }
    }

    /// The frame to send, once for each time that something was to be acknowledged.
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
