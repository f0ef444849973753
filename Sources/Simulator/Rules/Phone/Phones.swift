/// The phones' input: the ring of events, and orders to the server of their streams.
///
/// Invariants: the ids of the ring rise, and all are below `next`; the ring is no longer than its limit; no id is given twice.
struct Phones: Sendable {
    private var ring: [PhoneEvent] = []
    private var next: UInt64 = 1
    private var orders: [EdgeOrder] = []
    /// Events published since the last `takeAll`, or nil if the options do not keep them.
    private var untaken: [PhoneEvent]?
    private let limit: Int

    init(limit: Int, keepsAll: Bool) {
        self.limit = limit
        untaken = keepsAll ? [] : nil
    }

    var lastID: UInt64 { next - 1 }
    var count: Int { ring.count }

    /// The events of the ring after an id, or the whole ring if the id is nil, unknown or evicted (relay.md#gaps-and-what-the-emulator-should-do).
    func events(after id: UInt64?) -> [PhoneEvent] {
        guard let id, id < next, let first = ring.first, id + 1 >= first.id else {
            return id == lastID ? [] : ring
        }
        // Search from the end: most callers want the last events. Ids have a gap after a restored state.
        let known = ring.lastIndex { $0.id <= id }
        return Array(ring[(known.map { $0 + 1 } ?? ring.startIndex)...])
    }

    mutating func publish(_ type: String, _ data: [UInt8], at now: Moment) {
        let event = PhoneEvent(id: next, type: type, data: data, at: now)
        ring.append(event)
        untaken?.append(event)
        next += 1
        if ring.count > limit { ring.removeFirst(ring.count - limit) }
    }

    /// All events since the last call, even those that the ring has lost.
    mutating func takeAll() -> [PhoneEvent] {
        guard let all = untaken, !all.isEmpty else { return [] }
        untaken = []
        return all
    }

    mutating func expire(at now: Moment, after milliseconds: Int64) {
        while let first = ring.first, now.milliseconds(since: first.at) > milliseconds { ring.removeFirst() }
    }

    /// Empties the ring: all phones were offline for longer than it reaches back.
    mutating func lose() {
        ring = []
        orders.append(.cutPhones)
    }

    mutating func restart(milliseconds: Int) { orders.append(.restart(milliseconds: milliseconds)) }

    mutating func takeOrders() -> [EdgeOrder] {
        defer { orders = [] }
        return orders
    }

    mutating func skip(_ ids: UInt64) { next += ids }
}

// Parts of a relay's state.
extension Phones {
    func writeNext(to state: inout JSONWriter) { state.field("next_event", json: String(next)) }

    func writeRing(to state: inout JSONWriter) {
        state.array("ring") { list in for event in ring { list.objectElement(event.write) } }
    }

    mutating func restoreNext(_ state: StateReader) throws(StateReader.Fault) {
        next = try state.number("next_event", from: 1)
    }

    mutating func restoreRing(_ state: StateReader) throws(StateReader.Fault) {
        for reader in try state.list("ring") { ring.append(try PhoneEvent(reader)) }
    }

    var isInOrder: Bool {
        zip(ring, ring.dropFirst()).allSatisfy { $0.id < $1.id } && ring.last.map { $0.id < next } ?? true
    }
}
