// An update goes out at its origin, every 5 s until it is acknowledged, and first of all on a new connection (relay.md#delivery-ack-replay, D14).
extension Relay {
    package func pendingUpdates() -> [PendingUpdate] { updates.all }

    /// Acknowledges everything up to and including the id (relay.md#frames-bridge-to-relay).
    package mutating func acknowledge(upTo id: String) {
        for update in updates.acknowledge(upTo: id) { sockets.forget(update) }
    }

    /// Queues any update of relay.md#updates-relay-to-bridge, with a JSON object as payload, and returns its id.
    package mutating func pushUpdate(
        type: String, session: String?, interaction: String?, payload: [UInt8], at now: Moment
    ) -> String {
        let id = updates.nextID
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
            switch counted(faults.strike(.grant, among: [.lateGrant, .noGrant])) {
            case .lateGrant:
                return updates.hold(UpdateQueue.Grant(session: session, interaction: interaction, payload: payload))
            case .noGrant: return
            default: break
            }
        }
        var update = PendingUpdate(
            id: updates.nextID, type: type, installation: options.installation, session: session,
            interaction: interaction, payload: payload, at: now)
        let fault = strikes(on: .update, among: [.flat, .doubled])
        update.isFlat = fault.contains(.flat)
        update.isDoubled = fault.contains(.doubled)
        updates.append(update)
        if type == "session.message" {
            messageQueued(update, at: now)
        } else {
            deliverUpdates(at: now)
        }
    }

    private mutating func messageQueued(_ update: PendingUpdate, at now: Moment) {
        let struck = strikes(on: .message, among: [.secondIdentifier, .backlog, .earlyStop])
        if struck.contains(.secondIdentifier) { updates.appendSecond(of: update) }
        if struck.contains(.backlog) { cutSockets() }
        deliverUpdates(at: now)
        queueHeldGrants(at: now)
        if struck.contains(.earlyStop), let session = update.session {
            userStops(session: session, interaction: update.interaction, at: now)
        }
    }

    /// Passes the faults of grants by, one of which has struck each already.
    mutating func queueHeldGrants(at now: Moment) {
        for grant in updates.takeHeldGrants() {
            updates.append(
                PendingUpdate(
                    id: updates.nextID, type: "session_key_granted", installation: options.installation,
                    session: grant.session, interaction: grant.interaction, payload: grant.payload, at: now))
            deliverUpdates(at: now)
        }
    }

    private mutating func strikes(on target: FaultKind.Target, among kinds: [SocketFault.Kind]) -> [SocketFault.Kind] {
        let struck = faults.strikes(on: target, among: kinds)
        records.struck(struck.count)
        return struck
    }

    mutating func deliverUpdates(at now: Moment) { updates.deliver(on: &sockets, options.socket, at: now) }

    /// Drops updates that no bridge fetched in time, if configured (relay.md#delivery-ack-replay).
    mutating func expireUpdates(at now: Moment) {
        guard let lifetime = options.updateLifetimeMilliseconds, sockets.isEmpty else { return }
        updates.expire(at: now, after: lifetime)
    }
}
