/// A flaw in a document, and the offset of its byte.
struct JSONFault: Error, Hashable, Sendable {
    enum Code: Hashable, Sendable {
        case unexpectedEnd, unexpectedByte, trailingBytes, tooDeep, badNumber, badEscape, badUTF8, duplicateName
    }

    var code: Code
    var offset: Int
}

/// A strict, bounded reader of JSON (RFC 8259) over bytes.
///
/// Stricter than most: no byte order mark, no lone surrogate, no repeated name in one object. A judge must not guess which of two
/// values was meant. `maximumDepth` bounds the recursion; the caller, who owns the bytes, bounds their size.
struct JSONParser {
    static let maximumDepth = 64

    private let bytes: [UInt8]
    private let depthLimit: Int
    private var position = 0
    /// Nil if half a pair is refused. Otherwise it becomes U+FFFD, and is counted.
    private var loneSurrogates: Int?

    private init(_ bytes: [UInt8], _ depthLimit: Int) {
        self.bytes = bytes
        self.depthLimit = depthLimit
    }

    static func parse(_ bytes: [UInt8], depthLimit: Int = JSONParser.maximumDepth) throws(JSONFault) -> JSONValue {
        var parser = JSONParser(bytes, depthLimit)
        return try parser.document()
    }

    /// Parses like JavaScript: half a pair of surrogates, from a text that was cut between the two, is accepted.
    static func parseWithLoneSurrogates(_ bytes: [UInt8]) throws(JSONFault) -> (value: JSONValue, count: Int) {
        var parser = JSONParser(bytes, maximumDepth)
        parser.loneSurrogates = 0
        let value = try parser.document()
        return (value, parser.loneSurrogates ?? 0)
    }

    private mutating func document() throws(JSONFault) -> JSONValue {
        skipSpace()
        let value = try value(depth: 0)
        skipSpace()
        guard position == bytes.count else { throw fault(.trailingBytes) }
        return value
    }

    private mutating func value(depth: Int) throws(JSONFault) -> JSONValue {
        guard depth < depthLimit else { throw fault(.tooDeep) }
        guard position < bytes.count else { throw fault(.unexpectedEnd) }
        switch bytes[position] {
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try literal("true", .bool(true))
        case UInt8(ascii: "f"): return try literal("false", .bool(false))
        case UInt8(ascii: "n"): return try literal("null", .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
        default: throw fault(.unexpectedByte)
        }
    }

    private mutating func object(depth: Int) throws(JSONFault) -> JSONValue {
        position += 1
        var members: [JSONValue.Member] = []
        var names = NameCheck()
        skipSpace()
        if take("}") { return .object(members) }
        repeat {
            skipSpace()
            let start = position
            guard position < bytes.count else { throw fault(.unexpectedEnd) }
            guard bytes[position] == UInt8(ascii: "\"") else { throw fault(.unexpectedByte) }
            let name = try string()
            guard names.isNew(name, among: members) else { throw JSONFault(code: .duplicateName, offset: start) }
            skipSpace()
            try expect(":")
            skipSpace()
            members.append(JSONValue.Member(name: name, value: try value(depth: depth + 1)))
            skipSpace()
        } while take(",")
        try expect("}")
        return .object(members)
    }

    private mutating func array(depth: Int) throws(JSONFault) -> JSONValue {
        position += 1
        var values: [JSONValue] = []
        skipSpace()
        if take("]") { return .array(values) }
        repeat {
            skipSpace()
            values.append(try value(depth: depth + 1))
            skipSpace()
        } while take(",")
        try expect("]")
        return .array(values)
    }

    private mutating func literal(_ word: StaticString, _ value: JSONValue) throws(JSONFault) -> JSONValue {
        for byte in word.description.utf8 {
            guard position < bytes.count else { throw fault(.unexpectedEnd) }
            guard bytes[position] == byte else { throw fault(.unexpectedByte) }
            position += 1
        }
        return value
    }

    private mutating func number() throws(JSONFault) -> JSONValue {
        let start = position
        _ = take("-")
        if !take("0") { try digits() }
        if take(".") { try digits() }
        if take("e") || take("E") {
            if !take("+") { _ = take("-") }
            try digits()
        }
        return .number(String(decoding: bytes[start..<position], as: UTF8.self))
    }

    private mutating func digits() throws(JSONFault) {
        let start = position
        while position < bytes.count, bytes[position] &- UInt8(ascii: "0") <= 9 { position += 1 }
        guard position > start else { throw fault(.badNumber) }
    }

    // MARK: Strings

    private mutating func string() throws(JSONFault) -> String {
        let start = position + 1
        var end = start
        while end < bytes.count {
            let byte = bytes[end]
            if byte == UInt8(ascii: "\"") {
                position = end + 1
                return try decoded(bytes[start..<end], from: start)
            }
            if byte == UInt8(ascii: "\\") { return try escapedString(from: start, plainUpTo: end) }
            guard byte >= 0x20 else { throw JSONFault(code: .unexpectedByte, offset: end) }
            end += 1
        }
        throw JSONFault(code: .unexpectedEnd, offset: end)
    }

    private mutating func escapedString(from start: Int, plainUpTo end: Int) throws(JSONFault) -> String {
        var content = Array(bytes[start..<end])
        position = end
        while position < bytes.count {
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: "\""):
                position += 1
                return try decoded(content[...], from: start)
            case UInt8(ascii: "\\"):
                try appendEscape(to: &content)
            case 0..<0x20:
                throw fault(.unexpectedByte)
            default:
                content.append(byte)
                position += 1
            }
        }
        throw fault(.unexpectedEnd)
    }

    private mutating func appendEscape(to content: inout [UInt8]) throws(JSONFault) {
        guard position + 1 < bytes.count else { throw fault(.unexpectedEnd) }
        let letter = bytes[position + 1]
        position += 2
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): content.append(letter)
        case UInt8(ascii: "b"): content.append(0x08)
        case UInt8(ascii: "f"): content.append(0x0C)
        case UInt8(ascii: "n"): content.append(0x0A)
        case UInt8(ascii: "r"): content.append(0x0D)
        case UInt8(ascii: "t"): content.append(0x09)
        case UInt8(ascii: "u"): content.append(contentsOf: Array(String(try escapedScalar()).utf8))
        default: throw JSONFault(code: .badEscape, offset: position - 2)
        }
    }

    /// The scalar of `\uXXXX`, or of a pair of them; a surrogate without its other half is refused.
    private mutating func escapedScalar() throws(JSONFault) -> Unicode.Scalar {
        let start = position - 2
        let first = try hexUnit()
        if let scalar = Unicode.Scalar(first) { return scalar }
        let afterFirst = position
        guard first < 0xDC00, position + 1 < bytes.count, bytes[position] == UInt8(ascii: "\\"),
            bytes[position + 1] == UInt8(ascii: "u")
        else { return try loneSurrogate(at: start, endingAt: afterFirst) }
        position += 2
        let second = try hexUnit()
        guard (0xDC00..<0xE000).contains(second),
            let scalar = Unicode.Scalar(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00))
        else { return try loneSurrogate(at: start, endingAt: afterFirst) }
        return scalar
    }

    private mutating func loneSurrogate(at start: Int, endingAt end: Int) throws(JSONFault) -> Unicode.Scalar {
        guard let count = loneSurrogates else { throw JSONFault(code: .badEscape, offset: start) }
        loneSurrogates = count + 1
        position = end
        return "\u{FFFD}"
    }

    private mutating func hexUnit() throws(JSONFault) -> UInt32 {
        var unit: UInt32 = 0
        for _ in 0..<4 {
            guard position < bytes.count else { throw fault(.unexpectedEnd) }
            guard let digit = hexDigit(bytes[position]) else { throw fault(.badEscape) }
            unit = unit << 4 | UInt32(digit)
            position += 1
        }
        return unit
    }

    private func decoded(_ slice: ArraySlice<UInt8>, from start: Int) throws(JSONFault) -> String {
        guard let text = String(validating: slice, as: UTF8.self) else {
            throw JSONFault(code: .badUTF8, offset: start)
        }
        return text
    }

    // MARK: Bytes

    private mutating func skipSpace() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            default: return
            }
        }
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard position < bytes.count, bytes[position] == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private mutating func expect(_ character: Unicode.Scalar) throws(JSONFault) {
        guard position < bytes.count else { throw fault(.unexpectedEnd) }
        guard take(character) else { throw fault(.unexpectedByte) }
    }

    private func fault(_ code: JSONFault.Code) -> JSONFault { JSONFault(code: code, offset: position) }
}

/// Finds a repeated name without comparing all names: objects of a hostile body may have 100,000.
private struct NameCheck {
    private static let fewNames = 12
    private var seen: Set<String> = []

    mutating func isNew(_ name: String, among members: [JSONValue.Member]) -> Bool {
        if members.count < Self.fewNames { return !members.contains { $0.name == name } }
        if seen.isEmpty { seen = Set(members.map(\.name)) }
        return seen.insert(name).inserted
    }
}

/// The value of a hexadecimal digit of either case.
func hexDigit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
}
