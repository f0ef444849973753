package import Files
import FoundationEssentials

/// `status.json` in the state directory, beside the lock.
package enum StatusFile {
    /// An older file was left by a bridge that no longer works (DESIGN.md#journal-and-recovery: it is written every 5 s).
    package static let freshMilliseconds: Int64 = 15_000

    package static func path(in directory: String) -> String { directory + "/status.json" }

    /// Writes the file whole or not at all, for the owner alone. It need not survive a power cut: the next bridge writes its own.
    package static func write(
        _ status: BridgeStatus, in directory: String, hiding secrets: SecretCover = SecretCover()
    ) throws(FileError) {
        try PrivateFile.write(secrets.covered(bytes(of: status)), to: path(in: directory), isDurable: false)
    }

    /// Nil if no bridge has written one.
    package static func read(in directory: String) throws(FileError) -> BridgeStatus? {
        let path = path(in: directory)
        guard let content = try PrivateFile.read(path) else { return nil }
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        guard let status = try? decoder.decode(BridgeStatus.self, from: Data(content.bytes)) else {
            throw FileError(
                .malformed,
                "\(path) is not of this version; restart the bridge, so that it is written anew")
        }
        return status
    }

    /// One JSON object with its keys in order.
    package static func bytes(of status: BridgeStatus) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(status) else {
            preconditionFailure("texts, numbers and lists of them have a JSON form")
        }
        return Array(data)
    }
}
