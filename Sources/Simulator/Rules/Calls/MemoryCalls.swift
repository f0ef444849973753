// `getMemory` and `setMemory`. The documentation has only their names and the bucket (relay.md#named-but-undocumented-for-bridges);
// the bodies are those of the RFC's `memoryRead` and `memoryWrite`. One namespace for the installation.
extension Relay {
    /// relay.md#size-limits.
    private static let memoryValueLimit = 16_384

    /// `{keys: […]}`, or `{key_pattern: "notes.*"}` with a star at the end for any rest. All entries without either.
    func getMemory(_ fields: inout Fields) throws(Refusal) -> [UInt8] {
        _ = fields.optional("installation_id")
        let pattern = fields.optional("key_pattern")
        var wanted: Set<String>?
        if let member = fields.member("keys") {
            guard case .array(let keys) = member, keys.allSatisfy({ $0.string != nil }) else {
                fields.complain("keys", .invalidType, "expected a list of strings", .malformedRequest)
                try fields.check()
                return []
            }
            wanted = Set(keys.compactMap(\.string))
        }
        try fields.check()
        let found = installation.entries { key in
            wanted?.contains(key) ?? pattern.map { Self.matches(key, $0) } ?? true
        }
        return JSONWriter.object { result in
            result.array("entries") { list in
                for (key, entry) in found {
                    list.objectElement { element in
                        element.field("key", key)
                        element.field("value", json: entry.value)
                        element.field("updated_at", entry.at.milliseconds)
                    }
                }
            }
        }
    }

    mutating func setMemory(_ fields: inout Fields, at now: Moment) throws(Refusal) -> [UInt8] {
        _ = fields.optional("installation_id")
        guard case .array(let entries) = fields.member("entries"), !entries.isEmpty else {
            fields.complain("entries", .invalidType, "expected a list of {key, value}", .malformedRequest)
            try fields.check()
            return []
        }
        var written: [(key: String, value: String)] = []
        for (index, entry) in entries.enumerated() {
            guard let key = entry["key"]?.string, (1...256).contains(key.utf8.count), let value = entry["value"] else {
                fields.complain("entries.\(index)", .invalidType, "needs key and value", .malformedRequest)
                continue
            }
            let text = value.text
            if text.utf8.count > Self.memoryValueLimit {
                fields.complain("entries.\(index).value", .tooBig, "at most 16 KB", .oversized)
            }
            written.append((key, text))
        }
        if installation.memoryCount(with: written.map(\.key)) > options.memoryLimit {
            fields.complain("entries", .tooBig, "at most \(options.memoryLimit) keys are kept", .oversized)
        }
        try fields.check()
        for entry in written { installation.write(entry.value, as: entry.key, at: now) }
        return JSONWriter.object { $0.field("written", Int64(written.count)) }
    }

    private static func matches(_ key: String, _ pattern: String) -> Bool {
        pattern.hasSuffix("*") ? key.hasPrefix(pattern.dropLast()) : key == pattern
    }
}
