package import BridgeCore
import FoundationEssentials
import Sealing
package import Vocabulary

/// Records as bytes: JSON with the version of its form. The monotonic clock restarts with each start of the machine, so a record holds the
/// readings of both clocks when it was made, and reading it shifts its moments by the difference.
///
/// A sealed turn's record is sealed too, under a key of this machine alone, and of a message that came sealed only the sealed text is stored:
/// no words can be read in the journal's files, nor in the output of `explain` and `journal export`. Both have version 3, so that a program
/// without sealing leaves them alone and says nothing of them in the open.
package enum RecordEnvelope {
    /// Version of records for turns in the open. The one before it was never released.
    package static let version = 2
    /// Version of records for sealed turns.
    package static let sealedVersion = 3

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

    private struct Sealed: Codable {
        var version: Int
        var now: Int64
        var wall: Int64
        /// Envelope around the content, or nil if there was no sealer.
        var sealed: Data?
    }

    // MARK: Turns and openings

    package static func bytes(
        of record: TurnRecord, now: Instant, wall: Int64, sealer: TurnSealer? = nil
    ) -> [UInt8] {
        guard record.opening.sealing.isSealed else {
            return json(of: Written(version: version, now: now.nanoseconds, wall: wall, content: record))
        }
        let sealed = sealer.map { Data($0.seal(record: json(of: record))) }
        return json(of: Sealed(version: sealedVersion, now: now.nanoseconds, wall: wall, sealed: sealed))
    }

    /// Bytes of an accepted message.
    package static func bytes(of opening: TurnOpening, now: Instant, wall: Int64) -> [UInt8] {
        let isOpen = opening.sealing == .open && opening.sealedText == nil && opening.refusal == nil
        return json(
            of: Written(
                version: isOpen ? version : sealedVersion, now: now.nanoseconds, wall: wall,
                content: opening.unread))
    }

    package static func turn(
        from bytes: [UInt8], now: Instant, wall: Int64, sealer: TurnSealer? = nil
    ) throws -> TurnRecord {
        let reading = try Reading(bytes, now: now, wall: wall)
        return try reading.version == sealedVersion ? reading.sealedTurn(sealer) : reading.content(TurnRecord.self)
    }

    /// True if the record is of a sealed turn, whether or not it can be read.
    static func isSealed(_ bytes: [UInt8]) -> Bool {
        (try? JSONDecoder().decode(Header.self, from: Data(bytes)))?.version == sealedVersion
    }

    package static func opening(from bytes: [UInt8], now: Instant, wall: Int64) throws -> TurnOpening {
        try Reading(bytes, now: now, wall: wall).content(TurnOpening.self)
    }

    /// A record of a version that no released program writes.
    private struct UnknownVersion: Error, CustomStringConvertible {
        var number: Int
        var description: String { "no program that was released writes records of version \(number)" }
    }

    private struct Reading {
        let version: Int
        private let data: Data
        private let decoder = JSONDecoder()

        init(_ bytes: [UInt8], now: Instant, wall: Int64) throws {
            data = Data(bytes)
            let header = try decoder.decode(Header.self, from: data)
            guard header.version <= RecordEnvelope.sealedVersion else {
                throw JournalFailure(
                    .newer, "A record was written by a newer sophon-bridge. Start that version again.")
            }
            guard header.version >= RecordEnvelope.version else { throw UnknownVersion(number: header.version) }
            version = header.version
            // A wall clock that was set back says nothing about the time that has passed.
            let elapsed = max(0, wall.subtractingReportingOverflow(header.wall).partialValue)
            let shift = now.nanoseconds &- elapsed &* 1_000_000 &- header.now
            decoder.userInfo[Instant.shiftKey] = shift
        }

        func sealedTurn(_ sealer: TurnSealer?) throws -> TurnRecord {
            guard let sealed = try decoder.decode(Sealed.self, from: data).sealed, let sealer else {
                throw SealingError.notAuthentic
            }
            return try decoder.decode(TurnRecord.self, from: Data(try sealer.open(record: Array(sealed))))
        }

        func content<Content: Decodable>(_ type: Content.Type) throws -> Content {
            try decoder.decode(Read<Content>.self, from: data).content
        }
    }

    // MARK: Parts

    private struct OpenPart: Codable {
        var version: Int
        var content: KeptParts.Part
    }

    private struct SealedPart: Codable {
        var version: Int
        var sealed: Data?
    }

    /// A part holds no moment, so it needs no clock.
    package static func bytes(
        of part: KeptParts.Part, isSealed: Bool, sealer: TurnSealer? = nil
    ) -> [UInt8] {
        guard isSealed else { return json(of: OpenPart(version: version, content: part)) }
        return json(
            of: SealedPart(version: sealedVersion, sealed: sealer.map { Data($0.seal(record: json(of: part))) }))
    }

    package static func part(from bytes: [UInt8], sealer: TurnSealer? = nil) throws -> KeptParts.Part {
        guard isSealedPart(bytes) else {
            return try JSONDecoder().decode(OpenPart.self, from: Data(bytes)).content
        }
        guard let sealed = try JSONDecoder().decode(SealedPart.self, from: Data(bytes)).sealed, let sealer else {
            throw SealingError.notAuthentic
        }
        return try JSONDecoder().decode(KeptParts.Part.self, from: Data(try sealer.open(record: Array(sealed))))
    }

    private struct PartHeader: Decodable { var version: Int }

    private static func isSealedPart(_ bytes: [UInt8]) -> Bool {
        (try? JSONDecoder().decode(PartHeader.self, from: Data(bytes)))?.version == sealedVersion
    }

    // MARK: Names of calls

    package static func bytes(of name: PostName) -> [UInt8] { json(of: name) }

    package static func name(from bytes: [UInt8]) -> PostName? {
        try? JSONDecoder().decode(PostName.self, from: Data(bytes))
    }

    private static func json<Content: Encodable>(of content: Content) -> [UInt8] {
        do { return Array(try JSONEncoder().encode(content)) } catch {
            preconditionFailure("a record is always encodable: \(error)")
        }
    }
}
