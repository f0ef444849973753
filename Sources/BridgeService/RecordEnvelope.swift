package import BridgeCore
package import BridgeModel
import FoundationEssentials

/// Records as bytes: JSON with the version of its form. The clock that decisions are made by begins anew with each start of the
/// machine, so a record says what both clocks showed when it was made, and its moments are moved by the difference when it is
/// read.
package enum RecordEnvelope {
    /// Of what is written. Version 1 is read too.
    package static let version = 2

    private struct Header: Decodable {
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

    // MARK: Turns and openings

    package static func bytes(of record: TurnRecord, now: Instant, wall: Int64) -> [UInt8] {
        bytes(of: Written(version: version, now: now.nanoseconds, wall: wall, content: StoredTurn(record)))
    }

    package static func bytes(of opening: TurnOpening, now: Instant, wall: Int64) -> [UInt8] {
        bytes(of: Written(version: version, now: now.nanoseconds, wall: wall, content: StoredOpening(opening)))
    }

    package static func turn(from bytes: [UInt8], now: Instant, wall: Int64) throws -> TurnRecord {
        let reading = try Reading(bytes, now: now, wall: wall)
        let stored =
            reading.version == 1
            ? try reading.content(VersionOne.Record.self).newest : try reading.content(StoredTurn.self)
        return stored.value
    }

    package static func opening(from bytes: [UInt8], now: Instant, wall: Int64) throws -> TurnOpening {
        let reading = try Reading(bytes, now: now, wall: wall)
        let stored =
            reading.version == 1
            ? try reading.content(VersionOne.Opening.self).newest : try reading.content(StoredOpening.self)
        return stored.value
    }

    private struct Reading {
        let version: Int
        private let data: Data
        private let decoder = JSONDecoder()

        init(_ bytes: [UInt8], now: Instant, wall: Int64) throws {
            data = Data(bytes)
            let header = try decoder.decode(Header.self, from: data)
            guard (1...RecordEnvelope.version).contains(header.version) else {
                throw JournalFailure(
                    .newer, "A record was written by a newer sophon-bridge. Start that version again.")
            }
            version = header.version
            // A wall clock that was set back says nothing about how long it has been.
            let elapsed = max(0, wall.subtractingReportingOverflow(header.wall).partialValue)
            let shift = now.nanoseconds &- elapsed &* 1_000_000 &- header.now
            decoder.userInfo[Instant.shiftKey] = shift
        }

        func content<Content: Decodable>(_ type: Content.Type) throws -> Content {
            try decoder.decode(Read<Content>.self, from: data).content
        }
    }

    // MARK: Names of calls

    package static func bytes(of name: PostName) -> [UInt8] { bytes(of: StoredPostName(name)) }

    package static func name(from bytes: [UInt8]) -> PostName? {
        let (data, decoder) = (Data(bytes), JSONDecoder())
        if let stored = try? decoder.decode(StoredPostName.self, from: data) { return stored.value }
        return (try? decoder.decode(VersionOne.PostName.self, from: data))?.newest.value
    }

    private static func bytes<Content: Encodable>(of content: Content) -> [UInt8] {
        do { return Array(try JSONEncoder().encode(content)) } catch {
            preconditionFailure("a record is always encodable: \(error)")
        }
    }
}
