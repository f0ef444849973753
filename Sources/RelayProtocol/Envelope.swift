import JSONReading
import Locking

/// The envelope of a reply (relay sheet 1.4), read with simdjson: with `JSONDecoder` the reply cost more than all the rest of a
/// call.
struct Envelope {
    private static let parsers = ParserShelf()
    private(set) var ok: Bool?
    private(set) var message: String?
    private(set) var session: String?
    private(set) var isRepeat = false
    private(set) var code: String?
    private(set) var words: String?
    private(set) var retryAfterMilliseconds: Int64?
    private(set) var fields: [String] = []

    /// Nil when it is no JSON object.
    init?(_ body: [UInt8]) {
        guard !body.isEmpty else { return nil }
        let parser = Self.parsers.take()
        defer { Self.parsers.giveBack(parser) }
        let isObject = body.withUnsafeBytes { bytes -> Bool in
            guard let root = parser.parse(bytes, capacity: bytes.count), root.isObject else { return false }
            read(root)
            return true
        }
        guard isObject else { return nil }
    }

    private mutating func read(_ root: FrameNode) {
        ok = root["ok"]?.flag
        let result = root["result"]
        message = (result?["message_id"] ?? result?["id"])?.string
        session = result?["session_id"]?.string
        isRepeat = result?["idempotent"]?.flag ?? false
        guard let error = root["error"] else { return }
        code = error["code"]?.string
        words = error["message"]?.string
        retryAfterMilliseconds = (error["retry_after_ms"]?.integer(in: .wallMilliseconds)).map(Int64.init)
        fields = (error["errors"]?.elements ?? []).prefix(20).compactMap { $0["path"]?.string }
    }
}

/// Parsers that wait for the next reply: making one costs more than reading with it.
private final class ParserShelf: Sendable {
    private struct Idle: @unchecked Sendable {
        // Unchecked: whoever took it from the shelf is the only one that uses it.
        let parser: FrameParser
    }

    private let idle = Locked<[Idle]>([])
    private static let limit = 4

    func take() -> FrameParser { idle.withLock { $0.popLast() }?.parser ?? FrameParser() }

    func giveBack(_ parser: FrameParser) {
        let parser = Idle(parser: parser)
        idle.withLock { idle in
            if idle.count < Self.limit { idle.append(parser) }
        }
    }
}
