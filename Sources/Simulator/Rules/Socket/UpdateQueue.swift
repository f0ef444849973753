/// Updates wait here until they are acknowledged (relay.md#delivery-ack-replay, D14).
///
/// Invariants: oldest first, and no more than a limit; an id is given once, from the numbers of this
/// node or of the other one that it imitates; a held grant is in no other place.
struct UpdateQueue: Sendable {
    struct Grant: Sendable {
        let session: String?
        let interaction: String?
        let payload: [UInt8]
    }

    private var updates: [PendingUpdate] = []
    private var next = 1
    private var nextOfOtherNode = 1
    /// Grants that a fault holds back until the user's next message has gone out, or the faults are forgotten.
    private var heldGrants: [Grant] = []
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    var all: [PendingUpdate] { updates }
    var count: Int { updates.count }
    /// Id of the next update, even of one that finds no room.
    var nextID: String { String(next) }
    var nextNumber: Int { next }

    /// Prefix of ids that imitate another node's.
    private static let otherNode = "node2-"

    /// `update` has the next id.
    mutating func append(_ update: PendingUpdate) {
        next += 1
        keep(update)
    }

    /// The same update as from another node of the relay.
    mutating func appendSecond(of update: PendingUpdate) {
        var second = update
        second.id = "\(Self.otherNode)\(nextOfOtherNode)"
        nextOfOtherNode += 1
        keep(second)
    }

    private mutating func keep(_ update: PendingUpdate) {
        if updates.count < limit { updates.append(update) }
    }

    /// Removes everything up to and including the id (relay.md#frames-bridge-to-relay), and returns the removed ids.
    mutating func acknowledge(upTo id: String) -> [String] {
        guard let index = updates.firstIndex(where: { $0.id == id }) else { return [] }
        defer { updates.removeFirst(index + 1) }
        return updates[...index].map(\.id)
    }

    /// Whether an id names an update that went out on any connection, acknowledged or not.
    func wasSent(_ id: String) -> Bool {
        if let waiting = updates.first(where: { $0.id == id }) { return waiting.wasSent }
        if let number = Int(id) { return (1..<next).contains(number) }
        guard id.hasPrefix(Self.otherNode), let number = Int(id.dropFirst(Self.otherNode.count)) else { return false }
        return (1..<nextOfOtherNode).contains(number)
    }

    /// Sends the due updates on every open socket, of very many only the first: a bridge that
    /// acknowledges nothing must not receive all of them every 5 s.
    mutating func deliver(on sockets: inout BridgeSockets, _ options: RelayOptions.Socket, at now: Moment) {
        guard !updates.isEmpty else { return }
        for id in sockets.ids where sockets.takesPart(id) {
            for index in updates.indices.prefix(options.window) {
                let due = sockets.isDue(updates[index].id, on: id, at: now, every: options.resendMilliseconds)
                guard let due, due.sends else { continue }
                updates[index].wasSent = true
                let frame = updates[index].isFlat ? updates[index].flatFrame : updates[index].frame
                sockets.send(frame, copies: due.isFirst && updates[index].isDoubled ? 2 : 1, on: id)
            }
        }
    }

    mutating func expire(at now: Moment, after milliseconds: Int64) {
        updates.removeAll { now.milliseconds(since: $0.at) > milliseconds }
    }

    // MARK: Grants

    mutating func hold(_ grant: Grant) { heldGrants.append(grant) }

    mutating func takeHeldGrants() -> [Grant] {
        defer { heldGrants = [] }
        return heldGrants
    }

    mutating func skip(_ ids: Int) {
        next += ids
        nextOfOtherNode += ids
    }
}

// Parts of a relay's state.
extension UpdateQueue {
    func writeNext(to state: inout JSONWriter) {
        state.field("next_update", Int64(next))
        state.field("next_update_of_other_node", Int64(nextOfOtherNode))
    }

    func write(to state: inout JSONWriter) {
        state.array("updates") { list in for update in updates { list.objectElement(update.write) } }
    }

    mutating func restoreNext(_ state: StateReader) throws(StateReader.Fault) {
        next = try state.integer("next_update", from: 1)
        nextOfOtherNode = try state.integer("next_update_of_other_node", from: 1)
    }

    mutating func restore(_ state: StateReader) throws(StateReader.Fault) {
        for reader in try state.list("updates") { updates.append(try PendingUpdate(reader)) }
    }
}
