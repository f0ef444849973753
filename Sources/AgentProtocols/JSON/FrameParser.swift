import BridgeModel
import CSimdjson

/// Reads frames with simdjson. One parser serves one decoder; what it gives is valid until the next frame.
final class FrameParser {
    private let json: OpaquePointer

    init() {
        guard let json = sb_json_make() else { preconditionFailure("no memory for a JSON parser") }
        self.json = json
    }

    deinit { sb_json_free(json) }

    /// Nil when it is no JSON.
    func parse(_ frame: UnsafeRawBufferPointer, capacity: Int) -> FrameNode? {
        guard let start = frame.baseAddress else { return nil }
        var root = sb_node()
        let text = start.assumingMemoryBound(to: CChar.self)
        guard sb_json_parse(json, text, frame.count, capacity, &root) else { return nil }
        return FrameNode(node: root, json: json)
    }
}

/// A value inside the frame that was read last. Only what is asked for becomes a Swift value.
struct FrameNode {
    fileprivate let node: sb_node
    fileprivate let json: OpaquePointer

    subscript(name: StaticString) -> FrameNode? {
        var member = sb_node()
        let found = name.withUTF8Buffer { bytes in
            bytes.withMemoryRebound(to: CChar.self) { sb_node_member(node, $0.baseAddress, $0.count, &member) }
        }
        return found ? FrameNode(node: member, json: json) : nil
    }

    var isObject: Bool { sb_node_kind(node) == sb_object }
    var isArray: Bool { sb_node_kind(node) == sb_array }

    /// The bytes of a string, unescaped, in the parser's memory.
    var bytes: UnsafeRawBufferPointer? {
        var bytes = sb_bytes()
        guard sb_node_string(node, &bytes) else { return nil }
        return UnsafeRawBufferPointer(start: bytes.start, count: bytes.count)
    }

    var string: String? { bytes.map { String(decoding: $0, as: UTF8.self) } }

    var integer: Int? {
        var value: Int64 = 0
        return sb_node_integer(node, &value) ? Int(value) : nil
    }

    var double: Double? {
        var value = 0.0
        return sb_node_double(node, &value) ? value : nil
    }

    var flag: Bool? {
        var value = false
        return sb_node_flag(node, &value) ? value : nil
    }

    var elements: [FrameNode] {
        (0..<min(sb_node_count(node), 100_000)).compactMap { index in
            var element = sb_node()
            return sb_node_element(node, index, &element) ? FrameNode(node: element, json: json) : nil
        }
    }

    var compact: JSONText {
        let bytes = sb_node_compact(json, node)
        return JSONText(
            unchecked: String(decoding: UnsafeRawBufferPointer(start: bytes.start, count: bytes.count), as: UTF8.self))
    }

    func holds(_ text: StaticString) -> Bool {
        guard let bytes, bytes.count == text.utf8CodeUnitCount else { return false }
        return text.withUTF8Buffer { $0.elementsEqual(bytes) }
    }

    func equals(_ text: String) -> Bool {
        guard let bytes else { return false }
        return bytes.elementsEqual(text.utf8)
    }

    /// The text of a `content`: a string, or the `text` of its blocks of type text, joined without separators.
    var contentText: String? {
        if let string { return string }
        guard sb_node_kind(node) == sb_array else { return nil }
        return elements.reduce(into: "") { text, block in
            if block["type"]?.holds("text") == true { text += block["text"]?.string ?? "" }
        }
    }
}
