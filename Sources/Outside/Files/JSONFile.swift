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
            // The decoder's error is dropped: its text may quote a secret from the file.
            throw FileError(.malformed, "\(path) is not what it should be; \(remedy)")
        }
    }

    /// `name` is a fixed name of the temporary file, for a file with one writer: leftovers of a killed process are
    /// overwritten by the next write.
    package static func write(
        _ value: some Encodable, to path: String, through name: String? = nil, atMost limit: Int = PrivateFile.limit
    ) throws(FileError) {
        let bytes = bytes(of: value)
        guard bytes.count <= limit else {
            throw FileError(.tooLarge, "\(path) would be over \(limit) bytes, and is not written")
        }
        try PrivateFile.write(bytes, to: path, through: name)
    }

    /// The file's exact bytes.
    package static func bytes(of value: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(value) else {
            preconditionFailure("texts and lists of them have a JSON form")
        }
        return Array(data)
    }

    /// The form of JavaScript's `toISOString`.
    package static func timestamp(_ wallMilliseconds: Int64) -> String {
        // Half a millisecond more: the format truncates, and a Double may fall just short of the millisecond.
        Date(timeIntervalSince1970: (Double(wallMilliseconds) + 0.5) / 1_000)
            .formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    /// Parses such a timestamp, with or without the fraction. Nil if it is no timestamp, or before 1970.
    package static func wallMilliseconds(_ timestamp: String) -> Int64? {
        let date =
            (try? Date(timestamp, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
            ?? (try? Date(timestamp, strategy: .iso8601))
        return date.flatMap { Int64(exactly: ($0.timeIntervalSince1970 * 1_000).rounded()) }.flatMap {
            $0 < 0 ? nil : $0
        }
    }
}
