import CSimdjson
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
        guard !body.isEmpty, let json = Self.parsers.take() else { return nil }
        defer { Self.parsers.giveBack(json) }
        let isObject = body.withUnsafeBytes { bytes -> Bool in
            var root = sb_node()
            let text = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
            guard sb_json_parse(json, text, bytes.count, bytes.count, &root), sb_node_kind(root) == sb_object else {
                return false
            }
            read(Member(root))
            return true
        }
        guard isObject else { return nil }
    }

    private mutating func read(_ root: Member) {
        ok = root["ok"]?.flag
        let result = root["result"]
        message = (result?["message_id"] ?? result?["id"])?.string
        session = result?["session_id"]?.string
        isRepeat = result?["idempotent"]?.flag ?? false
        guard let error = root["error"] else { return }
        code = error["code"]?.string
        words = error["message"]?.string
        retryAfterMilliseconds = error["retry_after_ms"]?.integer
        fields = (error["errors"]?.elements(atMost: 20) ?? []).compactMap { $0["path"]?.string }
    }
}

/// Parsers that wait for the next reply: making one costs more than reading with it.
private final class ParserShelf: Sendable {
    private struct Parser: @unchecked Sendable {
        // Unchecked: whoever took it from the shelf is the only one that uses it.
        let pointer: OpaquePointer
    }

    private let idle = Locked<[Parser]>([])
    private static let limit = 4

    func take() -> OpaquePointer? { idle.withLock { $0.popLast() }?.pointer ?? sb_json_make() }

    func giveBack(_ pointer: OpaquePointer) {
        let parser = Parser(pointer: pointer)
        let isKept = idle.withLock { idle in
            guard idle.count < Self.limit else { return false }
            idle.append(parser)
            return true
        }
        if !isKept { sb_json_free(pointer) }
    }
}

/// A value of the reply.
private struct Member {
    private let node: sb_node

    init(_ node: sb_node) { self.node = node }

    subscript(name: StaticString) -> Member? {
        var member = sb_node()
        let found = name.withUTF8Buffer { bytes in
            bytes.withMemoryRebound(to: CChar.self) { sb_node_member(node, $0.baseAddress, $0.count, &member) }
        }
        return found ? Member(member) : nil
    }

    var flag: Bool? {
        var value = false
        return sb_node_flag(node, &value) ? value : nil
    }

    var integer: Int64? {
        var value: Int64 = 0
        return sb_node_integer(node, &value) ? value : nil
    }

    var string: String? {
        var bytes = sb_bytes()
        guard sb_node_string(node, &bytes) else { return nil }
        return String(decoding: UnsafeRawBufferPointer(start: bytes.start, count: bytes.count), as: UTF8.self)
    }

    func elements(atMost limit: Int) -> [Member] {
        (0..<min(limit, sb_node_count(node))).compactMap { index in
            var element = sb_node()
            return sb_node_element(node, index, &element) ? Member(element) : nil
        }
    }
}
