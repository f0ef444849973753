package import CSimdjson
package import Vocabulary

/// Parses frames with simdjson. One parser serves one thread. Its nodes are valid until the next frame, and while the parser lives.
package final class FrameParser {
    package let json: OpaquePointer

    package init() {
        guard let json = sb_json_make() else { preconditionFailure("no memory for a JSON parser") }
        self.json = json
    }

    deinit { sb_json_free(json) }

    /// Nil if the frame is no JSON. Nesting has no limit: an agent that asks for a permission forwards what its model
    /// wrote, and an unread frame would be an ask that nobody sees.
    @inlinable package func parse(_ frame: UnsafeRawBufferPointer, capacity: Int) -> FrameNode? {
        guard let start = frame.baseAddress else { return nil }
        var root = sb_node()
        let text = start.assumingMemoryBound(to: CChar.self)
        guard
            sb_json_parse(json, text, frame.count, capacity, &root)
                || sb_json_was_too_deep(json) && sb_json_parse_folded(json, text, frame.count, &root)
        else { return nil }
        return FrameNode(node: root, json: json)
    }
}

/// A value in the last parsed frame. Members become Swift values only on access.
package struct FrameNode {
    // Inlinable throughout: a decoder reads a dozen members of each frame.
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

    /// A member whose name comes from the far side.
    package func member(_ name: String) -> FrameNode? {
        var member = sb_node()
        var name = name
        let found = name.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { sb_node_member(node, $0.baseAddress, $0.count, &member) }
        }
        return found ? FrameNode(node: member, json: json) : nil
    }

    /// Names of the first members of an object, in the object's order.
    package func names(atMost limit: Int) -> [String] {
        var names: [String] = []
        var name = sb_bytes()
        while names.count < limit, sb_node_name(node, names.count, &name) {
            names.append(String(decoding: UnsafeRawBufferPointer(start: name.start, count: name.count), as: UTF8.self))
        }
        return names
    }

    @inlinable package var isObject: Bool { sb_node_kind(node) == sb_object }
    @inlinable package var isArray: Bool { sb_node_kind(node) == sb_array }
    @inlinable package var isNull: Bool { sb_node_kind(node) == sb_null }
    @inlinable package var isNumber: Bool { sb_node_kind(node) == sb_number }

    /// Unescaped bytes of a string, in the parser's memory.
    @inlinable package var bytes: UnsafeRawBufferPointer? {
        var bytes = sb_bytes()
        guard sb_node_string(node, &bytes) else { return nil }
        return UnsafeRawBufferPointer(start: bytes.start, count: bytes.count)
    }

    @inlinable package var string: String? { bytes.map { String(decoding: $0, as: UTF8.self) } }

    /// A whole number within the range, or nil. Every read of a number states a range, because 2^63 - 1 is valid JSON
    /// too, and adding one to it would trap.
    @inlinable package func integer(in range: ClosedRange<Int>) -> Int? {
        var value: Int64 = 0
        guard sb_node_integer(node, &value) else { return nil }
        let number = Int(value)
        return range.contains(number) ? number : nil
    }

    /// A whole number, moved to the nearest bound if it is outside the range.
    @inlinable package func integer(clampedTo range: ClosedRange<Int>) -> Int? {
        var value: Int64 = 0
        guard sb_node_integer(node, &value) else { return nil }
        return min(max(Int(value), range.lowerBound), range.upperBound)
    }

    /// A number within the range, whole or not.
    @inlinable package func number(in range: ClosedRange<Double>) -> Double? {
        var value = 0.0
        guard sb_node_double(node, &value) else { return nil }
        return range.contains(value) ? value : nil
    }

    @inlinable package var flag: Bool? {
        var value = false
        return sb_node_flag(node, &value) ? value : nil
    }

    /// The first 100,000 elements of an array, read in one pass: access by index would start from the front each time.
    @inlinable package var elements: [FrameNode] {
        var cursor = sb_cursor()
        guard sb_array_begin(node, &cursor) else { return [] }
        var elements: [FrameNode] = []
        elements.reserveCapacity(min(sb_node_count(node), 100_000))
        var element = sb_node()
        while elements.count < 100_000, sb_array_next(&cursor, &element) {
            elements.append(FrameNode(node: element, json: json))
        }
        return elements
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

/// Ranges for numbers from a far side.
extension ClosedRange where Bound == Int {
    /// Tokens, sequence numbers and sizes: the integers that JavaScript represents exactly. A sum of up to a thousand fits.
    package static var counts: Self { 0...(1 << 53) }
    /// Milliseconds since 1970, to the year 5138. Differences in microseconds fit an Int64.
    package static var wallMilliseconds: Self { 0...100_000_000_000_000 }
}
