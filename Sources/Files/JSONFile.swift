import FoundationEssentials

/// A private file with one JSON value.
package enum JSONFile {
    package static func read<Value: Decodable>(
        _ type: Value.Type, from path: String, remedy: String, atMost limit: Int = PrivateFile.limit,
        ownedBy owner: UInt32? = nil
    ) throws(FileError) -> (value: Value, warning: String?)? {
        guard let content = try PrivateFile.read(path, atMost: limit, ownedBy: owner) else { return nil }
        do {
            return (try JSONDecoder().decode(type, from: Data(content.bytes)), content.warning)
        } catch {
            // What the decoder says of it may show a secret.
            throw FileError(.malformed, "\(path) is not what it should be; \(remedy)")
        }
    }

    package static func write(_ value: some Encodable, to path: String) throws(FileError) {
        try PrivateFile.write(bytes(of: value), to: path)
    }

    /// As it is written.
    package static func bytes(of value: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(value) else {
            preconditionFailure("texts and lists of them have a JSON form")
        }
        return Array(data)
    }

    /// As JavaScript's `toISOString` writes it.
    package static func timestamp(_ wallMilliseconds: Int64) -> String {
        // Half a millisecond more, because the format cuts off what a Double falls short of.
        Date(timeIntervalSince1970: (Double(wallMilliseconds) + 0.5) / 1_000)
            .formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}
