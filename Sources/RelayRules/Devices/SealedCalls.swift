/// A file that the bridge announced: only such a file may the phone ask for in sealed mode (relay.md#relay-to-bridge-rpcs-req_id-frames, relay.md#notifytoolfile).
struct AnnouncedFile: Hashable, Sendable {
    var session: String
    var blindIndex: String
    /// The sealed path, handed back to the bridge in the request.
    var path: String
}

// The methods by which keys and files of sealed sessions are announced (relay.md#devices,
// relay.md#sessionssession_idrecipients, relay.md#notifytoolfile).
extension Relay {
    /// Idempotent; another key of the same bridge replaces the first, and what was wrapped for that one is dropped.
    mutating func registerDevice(_ fields: inout Fields, at now: Moment) throws(Refusal) -> [UInt8] {
        let key = fields.publicKey()
        let label = fields.required("label")
        try fields.check()
        let (id, isChanged) = bridgeRegisters(publicKey: key, label: label, at: now)
        return Self.receipt(id, isChanged: isChanged)
    }

    /// For a bridge in the same process, and for the call.
    package mutating func bridgeRegisters(
        publicKey key: String, label: String, at now: Moment
    ) -> (device: String, keyChanged: Bool) {
        let known = installation.devices.bridge
        let id = known?.id ?? identifiers.identifier("dev_")
        let isChanged = installation.devices.registerBridge(id: id, key: key, label: label)
        if known == nil || isChanged, let bridge = installation.devices.bridge {
            // It may be another program, which has not heard of the devices there are.
            for phone in installation.devices.phones where !phone.isRevoked { queueAnnouncement(of: phone, at: now) }
            announce(bridge, at: now)
        }
        return (id, isChanged)
    }

    static func receipt(_ device: String, isChanged: Bool) -> [UInt8] {
        JSONWriter.object { result in
            result.field("device_id", device)
            result.field("pubkey_changed", isChanged)
        }
    }

    mutating func addRecipients(_ session: String, _ fields: inout Fields, at now: Moment) throws(Refusal) -> [UInt8] {
        let grant = try recipients(&fields, areJudged: true)
        try checkSession(session)
        if let maker = grant.maker, maker != installation.devices.bridge?.id {
            throw Refusal(
                status: 403, code: "permission_denied", message: "\(maker) is not this bridge's device.",
                breach: .unknownDevice)
        }
        try take(grant, for: session, breach: .unknownDevice, at: now)
        return Array("{}".utf8)
    }

    mutating func announceFile(_ fields: inout Fields) throws(Refusal) -> [UInt8] {
        let session = fields.required("session_id")
        _ = fields.enumeration("tool", ["read", "edit", "write"], required: true)
        _ = fields.integer("size_bytes", 0...Int.max)
        _ = fields.optional("mime")
        let path = fields.requiredEnvelope("path_ct", atMost: 16_384)
        _ = fields.requiredEnvelope("display_name_ct", atMost: 16_384)
        let index = fields.required("path_blind_idx", atMost: 22)
        if index.utf8.count != 22 {
            fields.complain("path_blind_idx", .invalidString, "22 characters", .malformedRequest)
        }
        try fields.check()
        try checkSession(session)
        chats.announce(
            AnnouncedFile(session: session, blindIndex: index, path: path), limit: options.announcedFileLimit)
        return Array("{}".utf8)
    }
}
