// Updates wait here until they are acknowledged; each goes out when it arises, every 5 s while it is not acknowledged, and
// first thing on a new connection (relay.md#delivery-ack-replay, D14).
extension Relay {
    package func pendingUpdates() -> [PendingUpdate] { updates }

    /// Everything up to and including the id (relay.md#frames-bridge-to-relay).
    package mutating func acknowledge(upTo id: String) {
        guard let index = updates.firstIndex(where: { $0.id == id }) else { return }
        for update in updates[...index] {
            for socket in socketOrder { sockets[socket]?.forget(update.id) }
        }
        updates.removeFirst(index + 1)
    }

    /// Any update of section 4; the payload is a JSON object. Its id.
    package mutating func pushUpdate(
        type: String, session: String?, interaction: String?, payload: [UInt8], at now: Moment
    ) -> String {
        let id = String(nextUpdate)
        queueUpdate(type, session: session, interaction: interaction, payload: payload, at: now)
        return id
    }

    mutating func queueUpdate(
        _ type: String, session: String?, interaction: String?, at now: Moment, _ payload: (inout JSONWriter) -> Void
    ) {
        queueUpdate(type, session: session, interaction: interaction, payload: JSONWriter.object(payload), at: now)
    }

    mutating func queueUpdate(_ type: String, session: String?, interaction: String?, payload: [UInt8], at now: Moment)
    {
        if type == "session_key_granted" {
            switch strike(.grant, among: [.lateGrant, .noGrant]) {
            case .lateGrant: return heldGrants.append((session, interaction, payload))
            case .noGrant: return
            default: break
            }
        }
        var update = PendingUpdate(
            id: String(nextUpdate), type: type, installation: options.installation, session: session,
            interaction: interaction, payload: payload, at: now)
        nextUpdate += 1
        let fault = strikes(on: .update, among: [.flat, .doubled])
        update.isFlat = fault.contains(.flat)
        update.isDoubled = fault.contains(.doubled)
        append(update)
        if type == "session.message" {
            messageQueued(update, at: now)
        } else {
            deliverUpdates(at: now)
        }
    }

    private mutating func messageQueued(_ update: PendingUpdate, at now: Moment) {
        let faults = strikes(on: .message, among: [.secondIdentifier, .backlog, .earlyStop])
        if faults.contains(.secondIdentifier) {
            var second = update
            second.id = "\(Self.otherNode)\(nextUpdateOfOtherNode)"
            nextUpdateOfOtherNode += 1
            append(second)
        }
        if faults.contains(.backlog) { cutSockets() }
        deliverUpdates(at: now)
        let grants = heldGrants
        heldGrants = []
        for grant in grants {
            queueHeldGrant(grant.session, grant.interaction, grant.payload, at: now)
        }
        if faults.contains(.earlyStop), let session = update.session {
            userStops(session: session, interaction: update.interaction, at: now)
        }
    }

    /// Past the faults of grants, one of which has struck it already.
    private mutating func queueHeldGrant(_ session: String?, _ interaction: String?, _ payload: [UInt8], at now: Moment)
    {
        append(
            PendingUpdate(
                id: String(nextUpdate), type: "session_key_granted", installation: options.installation,
                session: session, interaction: interaction, payload: payload, at: now))
        nextUpdate += 1
        deliverUpdates(at: now)
    }

    /// One of each kind that is planned, and what the mix draws.
    private mutating func strikes(on target: FaultKind.Target, among kinds: [SocketFault.Kind]) -> [SocketFault.Kind] {
        var struck = kinds.filter { kind in takeSocketFault { $0 == kind } != nil }
        if let drawn = faultMix?.drawForSocket(target) {
            tally.faults += 1
            struck.append(drawn)
        }
        return struck
    }

    /// What begins the ids that pretend to be another node's.
    private static let otherNode = "node2-"

    private mutating func append(_ update: PendingUpdate) {
        if updates.count < options.updateLimit { updates.append(update) }
    }

    /// Whether an id stands for an update that went out, on whatever connection, acknowledged or not.
    func wasSent(_ id: String) -> Bool {
        if let waiting = updates.first(where: { $0.id == id }) { return waiting.wasSent }
        if let number = Int(id) { return (1..<nextUpdate).contains(number) }
        guard id.hasPrefix(Self.otherNode), let number = Int(id.dropFirst(Self.otherNode.count)) else { return false }
        return (1..<nextUpdateOfOtherNode).contains(number)
    }

    /// Sends what is due on every open socket; of very many only the first, so that a bridge which acknowledges nothing is
    /// not sent all of them every 5 s.
    mutating func deliverUpdates(at now: Moment) {
        guard !updates.isEmpty else { return }
        for id in socketOrder where takesPart(id) {
            for index in updates.indices.prefix(options.socket.window) {
                let due = sockets[id]?.isDue(updates[index].id, at: now, every: options.socket.resendMilliseconds)
                guard let due, due.sends else { continue }
                updates[index].wasSent = true
                let frame = updates[index].isFlat ? updates[index].flatFrame : updates[index].frame
                let copies = due.isFirst && updates[index].isDoubled ? 2 : 1
                for _ in 0..<copies { order(id, .send(frame)) }
                sockets[id]?.updatesSent += copies
            }
        }
    }

    /// Drops updates that were not fetched in time, where configured (relay.md#delivery-ack-replay).
    mutating func expireUpdates(at now: Moment) {
        guard let lifetime = options.updateLifetimeMilliseconds, sockets.isEmpty else { return }
        updates.removeAll { now.milliseconds(since: $0.at) > lifetime }
    }
}

package struct PendingUpdate: Sendable, Hashable {
    package var id: String
    package var type: String
    var installation: String
    var session: String?
    var interaction: String?
    /// JSON.
    var payload: [UInt8]
    var at: Moment
    var wasSent = false
    var isFlat = false
    var isDoubled = false

    /// The whole frame, nested (relay.md#frames-relay-to-bridge, D2).
    package var frame: [UInt8] {
        JSONWriter.object { frame in
            frame.field("type", "update")
            frame.object("update") { update in
                update.field("update_id", id)
                update.field("type", type)
                update.field("interaction_id", interaction)
                update.field("session_id", session)
                update.field("installation_id", installation)
                update.field("created_at", at.iso8601)
                update.field("payload", json: payload)
            }
        }
    }

    /// The RFC's form: one level, a whole number as id, `ts` in milliseconds (relay.md#wrapper, D2, D3).
    var flatFrame: [UInt8] {
        JSONWriter.object { frame in
            if let number = Int64(id) { frame.field("update_id", number) } else { frame.field("update_id", id) }
            frame.field("type", type)
            frame.field("agent_id", "agt_Simulator0000001")
            frame.field("interaction_id", interaction)
            frame.field("session_id", session)
            frame.field("installation_id", installation)
            frame.field("ts", at.milliseconds)
            frame.field("payload", json: payload)
        }
    }
}
