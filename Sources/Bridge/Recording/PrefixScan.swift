/// Scans the members before `"frame":` in a line of the usual form. Anything unusual (escapes, other types, unknown members) ends the scan, and
/// the parser decides.
struct PrefixScan {
    private let bytes: UnsafeRawBufferPointer
    private var position = 0
    private(set) var milliseconds: Int64?
    private(set) var direction: RecordedEntry.Direction?
    private(set) var isRelay = false
    private(set) var stream: Int64?
    /// Offset of the frame.
    private(set) var frame: Int?

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// False if the line has another form.
    mutating func begins() -> Bool {
        guard take(UInt8(ascii: "{")) else { return false }
        for _ in 0..<8 {
            guard let name = string(), take(UInt8(ascii: ":")) else { return false }
            if matches(name, "frame") {
                frame = position
                return milliseconds != nil && direction != nil
            }
            guard value(of: name), take(UInt8(ascii: ",")) else { return false }
        }
        return false
    }

    /// True if the frame holds bytes that are no JSON, as a string.
    var frameIsRaw: Bool {
        guard let frame else { return false }
        let mark: StaticString = "{\"_raw\":"
        let end = min(bytes.count, frame + mark.utf8CodeUnitCount)
        return matches(frame..<end, mark)
    }

    private mutating func value(of name: Range<Int>) -> Bool {
        if matches(name, "at_ms") || matches(name, "stream") {
            guard let number = number() else { return false }
            if matches(name, "at_ms") { milliseconds = number } else { stream = number }
            return true
        }
        guard let text = string() else { return false }
        if matches(name, "dir") {
            direction = matches(text, "in") ? .incoming : matches(text, "out") ? .outgoing : nil
            return direction != nil
        }
        if matches(name, "link") {
            isRelay = matches(text, "relay")
            return isRelay || matches(text, "agent")
        }
        return matches(name, "connection")
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    private mutating func string() -> Range<Int>? {
        guard take(UInt8(ascii: "\"")) else { return nil }
        let start = position
        while position < bytes.count, position - start < 200 {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                position += 1
                return start..<(position - 1)
            case UInt8(ascii: "\\"): return nil
            default: position += 1
            }
        }
        return nil
    }

    private mutating func number() -> Int64? {
        var value: Int64 = 0
        let start = position
        while position < bytes.count, (48...57).contains(bytes[position]), position - start < 18 {
            value = value * 10 + Int64(bytes[position] - 48)
            position += 1
        }
        return position > start ? value : nil
    }

    private func matches(_ range: Range<Int>, _ text: StaticString) -> Bool {
        range.count == text.utf8CodeUnitCount
            && text.withUTF8Buffer { UnsafeRawBufferPointer(rebasing: bytes[range]).elementsEqual($0) }
    }
}
