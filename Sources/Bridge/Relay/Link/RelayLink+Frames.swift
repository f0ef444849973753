import JSONReading
import Vocabulary

// Frames of the relay (relay.md#frames-relay-to-bridge, relay.md#updates-relay-to-bridge).
extension RelayLink {
    mutating func read(_ root: FrameNode, size: Int, at now: Instant) {
        let type = root["type"]
        if let request = root["req_id"]?.string { return asked(request, root, type, at: now) }
        if UpdateReader.isUpdate(root, type) { return took(UpdateReader(root), size: size, at: now) }
        guard let type = type?.string else { return unknown.countMalformed() }
        switch type {
        case "ping": orders.append(.send(Array(#"{"type":"pong"}"#.utf8)))
        case "pong": return
        case "ready": ready(root, at: now)
        default: unknown.count("frame", type)
        }
    }

    private mutating func ready(_ root: FrameNode, at now: Instant) {
        guard case .greeting = life.state else { return }
        let named = root["installation_id"]?.string
        let installation = named.flatMap { RelayName.isTaken($0) ? $0 : nil }
        if named != nil, installation == nil { unknown.count("installation with an id that is not taken", "") }
        life.greeted(Ready(installation: installation), silence: Self.silenceLimit, at: now, read: now)
        orders.append(.ready(installation: installation))
    }

    // MARK: Updates

    private mutating func took(_ reader: UpdateReader, size: Int, at now: Instant) {
        guard isLive else { return unknown.count("update before ready", reader.type) }
        guard let (id, isNumber) = reader.id else {
            unknown.count("update with an id that is not taken", reader.type)
            return unknown.countMalformed()
        }
        let isNamed = !reader.hasRefusedName
        let update = isNamed ? reader.read(id, at: now) : nil
        let name = update?.name ?? UpdateLedger.Name(id: id)
        switch ledger.came(name, isNumber: isNumber, bytes: size, at: now) {
        case .isWaiting, .isAcknowledged: return
        case .noRoom: return noRoom()
        case .take: _ = life.withLive { $0.isTellingFull = false }
        }
        guard let update else {
            unknown.countMalformed()
            unknown.count(isNamed ? "malformed update" : "update with an id that is not taken", reader.type)
            return ledger.durable(name, at: now)
        }
        if case .installationRevoked(let reason) = update.payload { return revoked(update, reason, at: now) }
        if update.payload == .other {
            unknown.count("update", update.type)
            ledger.durable(name, at: now)
        }
        orders.append(.update(update))
    }

    private mutating func noRoom() {
        unknown.count("update left for later", "")
        guard life.live?.isTellingFull == false else { return }
        _ = life.withLive { $0.isTellingFull = true }
        orders.append(.note(.full(waiting: ledger.count)))
    }

    private mutating func revoked(_ update: RelayUpdate, _ reason: String?, at now: Instant) {
        ledger.durable(update.name, at: now)
        // An update about an earlier installation is old news.
        if let theirs = update.installation, let ours = life.live?.installation, theirs != ours { return }
        orders.append(.update(update))
        flushAcknowledgement()
        orders.append(.close(code: 1000, reason: "installation revoked"))
        halt(
            Stop(
                kind: .installationRevoked,
                message: "This bridge was removed on the phone\(reason.map { " (\($0))" } ?? "").",
                remedy: Self.pairAgain), at: now)
    }
}

extension RelayUpdate {
    var name: UpdateLedger.Name {
        if case .message(let message, _) = payload { return UpdateLedger.Name(id: id, content: message.id.text) }
        return UpdateLedger.Name(id: id, content: fingerprint)
    }
}
