import Vocabulary

extension String {
    /// Free text from outside, with everything shaped like a secret redacted.
    package var withoutSecrets: String { String(decoding: Redaction().text(Array(utf8)), as: UTF8.self) }
}

/// Redacts the secrets of frames and texts, and leaves every other byte unchanged.
///
/// A string or number under a secret's name, at any depth, is replaced whole. Within any other string, the finds of `SecretShapes` are
/// replaced in place.
struct Redaction {
    static let marker = Array("[redacted]".utf8)

    private let shapes: SecretShapes

    init(known: [String] = []) { shapes = SecretShapes(known: known) }

    func text(_ text: [UInt8]) -> [UInt8] {
        let ranges = shapes.ranges(in: text)
        guard !ranges.isEmpty else { return text }
        var kept: [UInt8] = []
        var position = 0
        for range in ranges {
            kept += text[position..<range.lowerBound] + Self.marker
            position = range.upperBound
        }
        return kept + text[position...]
    }

    /// `json` must be JSON. Line breaks between its tokens become blanks: a recording has one frame a line.
    func frame(_ json: [UInt8]) -> [UInt8] {
        var walk = Walk(json, self)
        return walk.result()
    }

    /// Redacts the inside of a JSON string.
    fileprivate func inside(_ string: ArraySlice<UInt8>) -> [UInt8] {
        guard let plain = PlainString(string) else { return text(Array(string)) }
        let ranges = shapes.ranges(in: plain.bytes)
        guard !ranges.isEmpty else { return Array(string) }
        var kept: [UInt8] = []
        var position = string.startIndex
        for range in ranges {
            kept += string[position..<plain.origins[range.lowerBound]] + Self.marker
            position = plain.origins[range.upperBound]
        }
        return kept + string[position...]
    }
}

/// A string without its escapes, and the origin of each byte, so that the rest keeps its original bytes.
private struct PlainString {
    private(set) var bytes: [UInt8] = []
    /// One more than `bytes`: the last is the end of the string.
    private(set) var origins: [Int] = []

    /// Nil if the string has no escapes.
    init?(_ string: ArraySlice<UInt8>) {
        guard string.contains(UInt8(ascii: "\\")) else { return nil }
        bytes.reserveCapacity(string.count)
        origins.reserveCapacity(string.count + 1)
        var index = string.startIndex
        while index < string.endIndex {
            guard string[index] == UInt8(ascii: "\\"), index + 1 < string.endIndex else {
                append([string[index]], from: index)
                index += 1
                continue
            }
            let isUnicode = string[index + 1] == UInt8(ascii: "u") && index + 6 <= string.endIndex
            append(
                isUnicode ? Self.scalar(string[(index + 2)..<(index + 6)]) : [Self.simple(string[index + 1])],
                from: index)
            index += isUnicode ? 6 : 2
        }
        origins.append(string.endIndex)
    }

    private mutating func append(_ some: [UInt8], from origin: Int) {
        for byte in some {
            bytes.append(byte)
            origins.append(origin)
        }
    }

    private static func simple(_ byte: UInt8) -> UInt8 {
        switch byte {
        case UInt8(ascii: "n"): 10
        case UInt8(ascii: "r"): 13
        case UInt8(ascii: "t"): 9
        case UInt8(ascii: "b"): 8
        case UInt8(ascii: "f"): 12
        default: byte
        }
    }

    /// Secrets are ASCII: halves of a pair need not be joined.
    private static func scalar(_ digits: ArraySlice<UInt8>) -> [UInt8] {
        let value = UInt32(String(decoding: digits, as: UTF8.self), radix: 16) ?? 0xFFFD
        return Array(String(Unicode.Scalar(value) ?? "\u{FFFD}").utf8)
    }
}

/// One pass over a frame.
private struct Walk {
    private struct Level {
        var isObject: Bool
        /// True if everything in the level is the value of a secret's name.
        var isSecret: Bool
        var expectsName: Bool
        /// True if the value of the current member, or the next element, is a secret.
        var nextIsSecret = false
        /// True if a member `name` named a secret: the member `value` is one then.
        var namesSecret = false
        var memberIsName = false
    }

    private let json: [UInt8]
    private let redaction: Redaction
    private var kept: [UInt8] = []
    private var copied = 0
    private var levels: [Level] = []

    init(_ json: [UInt8], _ redaction: Redaction) {
        self.json = json
        self.redaction = redaction
        kept.reserveCapacity(json.count + 32)
    }

    mutating func result() -> [UInt8] {
        var index = 0
        while index < json.count {
            switch json[index] {
            case UInt8(ascii: "\""): index = string(from: index)
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                let isObject = json[index] == UInt8(ascii: "{")
                levels.append(Level(isObject: isObject, isSecret: valueIsSecret, expectsName: isObject))
                index += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                _ = levels.popLast()
                index += 1
            case UInt8(ascii: ","):
                if let last = levels.indices.last { levels[last].expectsName = levels[last].isObject }
                index += 1
            case UInt8(ascii: "-"), 48...57:
                let end = Bytes.run(json, index) { Bytes.isAlphanumeric($0) || Array("+-.".utf8).contains($0) }
                if valueIsSecret { replace(index..<end, by: quoted(Redaction.marker)) }
                index = end
            case 10, 13:
                replace(index..<(index + 1), by: [32])
                index += 1
            default: index += 1
            }
        }
        return kept + json[copied...]
    }

    private var valueIsSecret: Bool { levels.last.map { $0.isSecret || $0.nextIsSecret } ?? false }

    private func quoted(_ bytes: [UInt8]) -> [UInt8] { [UInt8(ascii: "\"")] + bytes + [UInt8(ascii: "\"")] }

    private mutating func replace(_ range: Range<Int>, by bytes: [UInt8]) {
        kept += json[copied..<range.lowerBound] + bytes
        copied = range.upperBound
    }

    private mutating func string(from quote: Int) -> Int {
        var end = quote + 1
        while end < json.count, json[end] != UInt8(ascii: "\"") { end += json[end] == UInt8(ascii: "\\") ? 2 : 1 }
        end = min(end, json.count)
        let inside = json[(quote + 1)..<end]
        let isName = levels.last?.expectsName == true
        if !isName, valueIsSecret {
            if !inside.isEmpty { replace((quote + 1)..<end, by: Redaction.marker) }
        } else {
            let clean = redaction.inside(inside)
            if clean.count != inside.count || !clean.elementsEqual(inside) { replace((quote + 1)..<end, by: clean) }
        }
        let plain = PlainString(inside)?.bytes ?? Array(inside)
        if isName { named(plain) } else { valued(plain) }
        return min(end + 1, json.count)
    }

    private mutating func named(_ name: [UInt8]) {
        guard let last = levels.indices.last else { return }
        levels[last].expectsName = false
        levels[last].memberIsName = ["name", "header", "key"].contains { name.elementsEqual($0.utf8) }
        let isValueOfSecret = levels[last].namesSecret && name.elementsEqual("value".utf8)
        levels[last].nextIsSecret = isValueOfSecret || SecretNames.isSecret(name)
    }

    /// A name also stands in `{"name":"Authorization","value":…}` and `["Authorization",…]`.
    private mutating func valued(_ value: [UInt8]) {
        guard let last = levels.indices.last else { return }
        if !levels[last].isObject {
            levels[last].nextIsSecret = SecretNames.isHeader(value)
        } else if levels[last].memberIsName {
            levels[last].namesSecret = SecretNames.isSecret(value)
        }
    }
}
