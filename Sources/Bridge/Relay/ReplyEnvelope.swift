import JSONReading
import Locking
import Vocabulary

/// The relay's envelope (relay.md#response-envelope), read with simdjson: `JSONDecoder` made the reply cost more than the rest of a call.
///
/// Only an answer in the envelope is the relay's: `ok` is a boolean and, if it is false, `error.code` is text. A
/// proxy can send any status and may answer in JSON: no weaker check distinguishes the two.
struct ReplyEnvelope {
    enum Word: Hashable {
        case taken
        case refused(code: String)
    }

    private static let parsers = ParserShelf()
    private(set) var word: Word
    private(set) var message: String?
    private(set) var session: String?
    private(set) var isRepeat = false
    private(set) var device: String?
    private(set) var publicKeyChanged = false
    private(set) var words: String?
    private(set) var retryAfterMilliseconds: Int64?
    private(set) var fields: [String] = []

    /// Nil if the answer is not the relay's. Only answers to registrations are searched for a device, since the other answers are many.
    init?(_ body: [UInt8], readsDevice: Bool = false) {
        guard !body.isEmpty else { return nil }
        let parser = Self.parsers.take()
        defer { Self.parsers.giveBack(parser) }
        let read = body.withUnsafeBytes { bytes -> ReplyEnvelope? in
            guard let root = parser.parse(bytes, capacity: bytes.count), root.isObject else { return nil }
            return ReplyEnvelope(root, readsDevice)
        }
        guard let read else { return nil }
        self = read
    }

    private init?(_ root: FrameNode, _ readsDevice: Bool) {
        guard let ok = root["ok"]?.flag else { return nil }
        if ok {
            word = .taken
            let result = root["result"]
            message = (result?["message_id"] ?? result?["id"])?.string
            session = result?["session_id"]?.string
            isRepeat = result?["idempotent"]?.flag ?? false
            guard readsDevice else { return }
            // Whole or not at all, like every id.
            device = result?["device_id"]?.string.flatMap { (1...256).contains($0.utf8.count) ? $0 : nil }
            publicKeyChanged = result?["pubkey_changed"]?.flag ?? false
            return
        }
        guard let error = root["error"], let code = error["code"]?.string else { return nil }
        word = .refused(code: code)
        words = error["message"]?.string
        retryAfterMilliseconds = (error["retry_after_ms"]?.integer(in: .wallMilliseconds)).map(Int64.init)
        fields = (error["errors"]?.elements ?? []).prefix(20).compactMap { $0["path"]?.string }
    }

    /// Code of a refusal.
    var code: RelayErrorCode? { if case .refused(let code) = word { RelayErrorCode(name: code) } else { nil } }

    /// Wait that the relay asks for, at most the life of a key (relay.md#rules).
    var retryAfter: Duration? {
        retryAfterMilliseconds.flatMap {
            $0 < 0 ? nil : min(.milliseconds(min($0, Int64.max / 1_000_000)), RetryAfter.longest)
        }
    }
}

/// Parsers that wait for the next reply: making a parser costs more than reading with it.
private final class ParserShelf: Sendable {
    private struct Idle: @unchecked Sendable {
        // Unchecked: only the caller that took the parser from the shelf uses it.
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
