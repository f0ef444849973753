package import BridgeModel
package import CSimdjson

/// Reads frames with simdjson. One parser serves one thread; what it gives is valid until the next frame, and as long as the
/// parser itself.
package final class FrameParser {
    package let json: OpaquePointer

    package init() {
        guard let json = sb_json_make() else { preconditionFailure("no memory for a JSON parser") }
        self.json = json
    }

    deinit { sb_json_free(json) }

    /// Nil when it is no JSON.
    @inlinable package func parse(_ frame: UnsafeRawBufferPointer, capacity: Int) -> FrameNode? {
        guard let start = frame.baseAddress else { return nil }
        var root = sb_node()
        let text = start.assumingMemoryBound(to: CChar.self)
        guard sb_json_parse(json, text, frame.count, capacity, &root) else { return nil }
        return FrameNode(node: root, json: json)
    }
}

/// A value inside the frame that was read last. Only what is asked for becomes a Swift value.
package struct FrameNode {
    // Inlinable throughout: a decoder asks for a dozen members of each frame.
    package let node: sb_node
    package let json: OpaquePointer

    @inlinable package init(node: sb_node, json: OpaquePointer) {
        self.node = node
        self.json = json
    }

    @inlinable package subscript(name: StaticString) -> FrameNode? {
        var member = sb_node()
        let found = name.withUTF8Buffer { bytes in
            bytes.withMemoryRebound(to: CChar.self) { sb_node_member(node, $0.baseAddress, $0.count, &member) }
        }
        return found ? FrameNode(node: member, json: json) : nil
    }

    @inlinable package var isObject: Bool { sb_node_kind(node) == sb_object }
    @inlinable package var isArray: Bool { sb_node_kind(node) == sb_array }
    @inlinable package var isNumber: Bool { sb_node_kind(node) == sb_number }

    /// The bytes of a string, unescaped, in the parser's memory.
    @inlinable package var bytes: UnsafeRawBufferPointer? {
        var bytes = sb_bytes()
        guard sb_node_string(node, &bytes) else { return nil }
        return UnsafeRawBufferPointer(start: bytes.start, count: bytes.count)
    }

    @inlinable package var string: String? { bytes.map { String(decoding: $0, as: UTF8.self) } }

    @inlinable package var integer: Int? {
        var value: Int64 = 0
        return sb_node_integer(node, &value) ? Int(value) : nil
    }

    @inlinable package var double: Double? {
        var value = 0.0
        return sb_node_double(node, &value) ? value : nil
    }

    @inlinable package var flag: Bool? {
        var value = false
        return sb_node_flag(node, &value) ? value : nil
    }

    @inlinable package var elements: [FrameNode] {
        (0..<min(sb_node_count(node), 100_000)).compactMap { index in
            var element = sb_node()
            return sb_node_element(node, index, &element) ? FrameNode(node: element, json: json) : nil
        }
    }

    @inlinable package var compact: JSONText {
        let bytes = sb_node_compact(json, node)
        return JSONText(
            unchecked: String(decoding: UnsafeRawBufferPointer(start: bytes.start, count: bytes.count), as: UTF8.self))
    }

    @inlinable package func holds(_ text: StaticString) -> Bool {
        guard let bytes, bytes.count == text.utf8CodeUnitCount else { return false }
        return text.withUTF8Buffer { $0.elementsEqual(bytes) }
    }

    @inlinable package func equals(_ text: String) -> Bool {
        guard let bytes else { return false }
        return bytes.elementsEqual(text.utf8)
    }
}
