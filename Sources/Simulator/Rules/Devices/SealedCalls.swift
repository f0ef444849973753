/// A file that the bridge announced. In sealed mode the phone may request only such files
/// (relay.md#relay-to-bridge-rpcs-req_id-frames, relay.md#notifytoolfile).
struct AnnouncedFile: Hashable, Sendable {
    var session: String
    /// Nil if the file was announced in the open.
    var blindIndex: String?
    /// Path from the announcement. The request hands a sealed one back to the bridge.
    var path: String
    /// Empty in older states, like the tool.
    var name = ""
    var tool = ""
    var mimeType: String?
    var size: Int?

    /// Compares session and blind index, or path (relay.md#notifytoolfile).
    func isSame(as other: Self) -> Bool {
        session == other.session && blindIndex == other.blindIndex && (blindIndex != nil || path == other.path)
    }

    /// Writes the file for the phone, in a form of ours: the app's is not documented.
    func describe(to data: inout JSONWriter) {
        let isSealed = blindIndex != nil
        data.field("session_id", session)
        data.field("tool", tool)
        if let size { data.field("size_bytes", Int64(size)) }
        data.field("mime", mimeType)
        data.field(isSealed ? "path_ct" : "path", path)
        data.field(isSealed ? "display_name_ct" : "display_name", name)
        data.field("blind_idx", blindIndex)
    }
}

// Methods that announce keys and files of sealed sessions (relay.md#devices, relay.md#sessionssession_idrecipients, relay.md#notifytoolfile).
extension Relay {
    /// Idempotent. Another key of the same bridge replaces the first, and drops the boxes for it.
    mutating func registerDevice(_ fields: inout Fields, at now: Moment) throws(Refusal) -> [UInt8] {
        let key = fields.publicKey()
        let label = fields.required("label")
        try fields.check()
        let (id, isChanged) = bridgeRegisters(publicKey: key, label: label, at: now)
        return Self.receipt(id, isChanged: isChanged)
    }

    /// Registers the bridge's device, for the call and for a bridge in the same process.
    package mutating func bridgeRegisters(
        publicKey key: String, label: String, at now: Moment
    ) -> (device: String, keyChanged: Bool) {
        let known = installation.devices.bridge
        let id = known?.id ?? identifiers.identifier("dev_")
        let isChanged = installation.devices.registerBridge(id: id, key: key, label: label)
        if known == nil || isChanged, let bridge = installation.devices.bridge {
            // Announce all phones: the bridge may be another program, which has not heard of them.
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

    mutating func announceFile(_ fields: inout Fields, at now: Moment) throws(Refusal) -> [UInt8] {
        let session = fields.required("session_id")
        let tool = fields.enumeration("tool", ["read", "edit", "write"], required: true) ?? ""
        let size = fields.integer("size_bytes", 0...Int.max)
        let mimeType = fields.optional("mime")
        var file: AnnouncedFile
        // The sealed form is the documented one; the plain twins may take its place.
        if fields.member("path") != nil, fields.member("path_ct") == nil {
            file = AnnouncedFile(session: session, blindIndex: nil, path: fields.required("path", atMost: 16_384))
            file.name = fields.required("display_name", atMost: 16_384)
        } else {
            let path = fields.requiredEnvelope("path_ct", atMost: 16_384)
            let name = fields.requiredEnvelope("display_name_ct", atMost: 16_384)
            let index = fields.required("path_blind_idx", atMost: 22)
            if index.utf8.count != 22 {
                fields.complain("path_blind_idx", .invalidString, "22 characters", .malformedRequest)
            }
            file = AnnouncedFile(session: session, blindIndex: index, path: path, name: name)
        }
        (file.tool, file.mimeType, file.size) = (tool, mimeType, size)
        try fields.check()
        try checkSession(session)
        chats.announce(file, limit: options.announcedFileLimit)
        publish("file_announced", at: now) { file.describe(to: &$0) }
        return Array("{}".utf8)
    }
}
