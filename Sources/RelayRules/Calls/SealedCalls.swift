/// A file that the bridge announced: only such a file may the phone ask for in sealed mode (relay.md#relay-to-bridge-rpcs-req_id-frames, relay.md#notifytoolfile).
struct AnnouncedFile: Hashable, Sendable {
    var session: String
    var blindIndex: String
    /// The sealed path, handed back to the bridge in the request.
    var path: String
}

// The methods by which keys and files of sealed sessions are announced (relay.md#devices, relay.md#notifytoolfile).
extension Relay {
    /// Idempotent; another key of the same bridge replaces the first.
    mutating func registerDevice(_ fields: inout Fields) throws(Refusal) -> [UInt8] {
        let key = fields.required("pubkey", atMost: 64)
        _ = fields.required("label")
        if !(key.utf8.count == 64 && key.utf8.allSatisfy { hexDigit($0) != nil && !$0.isASCIIUppercase }) {
            fields.complain("pubkey", .invalidString, "64 lower-case hexadecimal digits", .malformedRequest)
        }
        try fields.check()
        let id = installation.deviceID ?? identifiers.identifier("dev_")
        let isChanged = installation.register(device: id, key: key)
        return JSONWriter.object { result in
            result.field("device_id", id)
            result.field("pubkey_changed", isChanged)
        }
    }

    mutating func addRecipients(_ session: String, _ fields: inout Fields) throws(Refusal) -> [UInt8] {
        _ = fields.optional("wrapped_by_device_id")
        guard case .array(let recipients) = fields.member("recipients"), (1...256).contains(recipients.count) else {
            fields.complain("recipients", .invalidType, "expected a list of 1 to 256", .malformedRequest)
            try fields.check()
            return []
        }
        for (index, recipient) in recipients.enumerated()
        where recipient["device_id"]?.string == nil || recipient["wrapped_session_key"]?.string == nil {
            fields.complain(
                "recipients.\(index)", .invalidType, "needs device_id and wrapped_session_key", .malformedRequest)
        }
        try fields.check()
        try checkSession(session)
        return Array("{}".utf8)
    }

    mutating func announceFile(_ fields: inout Fields) throws(Refusal) -> [UInt8] {
        let session = fields.required("session_id")
        _ = fields.enumeration("tool", ["read", "edit", "write"], required: true)
        _ = fields.integer("size_bytes", 0...Int.max)
        _ = fields.optional("mime")
        let path = fields.required("path_ct", atMost: 16_384)
        _ = fields.required("display_name_ct", atMost: 16_384)
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
