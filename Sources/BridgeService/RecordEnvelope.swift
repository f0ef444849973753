package import BridgeCore
package import BridgeModel
import FoundationEssentials

/// Records as bytes. The clock that decisions are made by begins anew with each start of the machine, so a record says what
/// both clocks showed when it was made, and its moments are moved by the difference when it is read.
package enum RecordEnvelope {
    static let version = 1

    private struct Header: Codable {
        var version: Int
        var now: Int64
        var wall: Int64
    }

    private struct Written<Content: Encodable>: Encodable {
        var version: Int
        var now: Int64
        var wall: Int64
        var content: Content
    }

    private struct Read<Content: Decodable>: Decodable {
        var content: Content
    }

    package static func bytes<Content: Encodable>(of content: Content, now: Instant, wall: Int64) -> [UInt8] {
        bytes(of: Written(version: version, now: now.nanoseconds, wall: wall, content: content))
    }

    package static func read<Content: Decodable>(
        _ type: Content.Type, from bytes: [UInt8], now: Instant, wall: Int64
    ) throws -> Content {
        let data = Data(bytes)
        let decoder = JSONDecoder()
        let header = try decoder.decode(Header.self, from: data)
        guard header.version <= version else {
            throw JournalFailure(.newer, "A record was written by a newer sophon-bridge. Start that version again.")
        }
        // A wall clock that was set back says nothing about how long it has been.
        let elapsed = max(0, wall - header.wall)
        decoder.userInfo[Instant.shiftKey] = now.nanoseconds - elapsed * 1_000_000 - header.now
        return try decoder.decode(Read<Content>.self, from: data).content
    }

    package static func bytes<Content: Encodable>(of content: Content) -> [UInt8] {
        do { return Array(try JSONEncoder().encode(content)) } catch {
            preconditionFailure("a record is always encodable: \(error)")
        }
    }

    package static func name(from bytes: [UInt8]) -> PostName? {
        try? JSONDecoder().decode(PostName.self, from: Data(bytes))
    }
}
