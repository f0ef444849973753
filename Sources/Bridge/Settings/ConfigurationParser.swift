/// JSON parser for the configuration alone: `JSONDecoder` reports neither the position of a fault nor a duplicate key, and accepts a trailing
/// comma. The file is read once, at the start, so that exactness matters here, and speed does not.
package struct ConfigurationParser {
    package struct Fault: Error, Hashable, Sendable {
        package var line: Int
        package var column: Int
        package var found: String
        package var expected: String
    }

    private static let depthLimit = 16
    private let bytes: [UInt8]
    private var index = 0
    private var line = 1
    private var lineStart = 0

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    package static func parse(_ bytes: [UInt8]) throws(Fault) -> ConfigurationValue {
        var parser = ConfigurationParser(bytes)
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { parser.index = 3 }
        let value = try parser.value(depth: 0)
        parser.skipSpace()
        guard parser.byte == nil else { throw parser.fault("the end of the file") }
        return value
    }

    // MARK: Values

    private mutating func value(depth: Int) throws(Fault) -> ConfigurationValue {
        skipSpace()
        let begin = line
        guard depth <= Self.depthLimit else { throw fault("no more than \(Self.depthLimit) values inside one another") }
        guard let byte else { throw fault("a value") }
        let content: ConfigurationValue.Content =
            switch byte {
            case UInt8(ascii: "{"): .members(try members(depth: depth))
            case UInt8(ascii: "["): .list(try list(depth: depth))
            case UInt8(ascii: "\""): .string(try string())
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): .number(try number())
            default: try word()
            }
        return ConfigurationValue(content: content, line: begin)
    }

    private mutating func members(depth: Int) throws(Fault) -> [ConfigurationValue.Member] {
        var members: [ConfigurationValue.Member] = []
        var names: Set<String> = []
        index += 1
        skipSpace()
        if take("}") { return members }
        repeat {
            skipSpace()
            guard byte == UInt8(ascii: "\"") else { throw fault("a key in double quotes") }
            let start = index
            let name = try string()
            // A comment's key may repeat.
            guard names.insert(name).inserted || name.hasPrefix("//") else {
                index = start
                throw Fault(line: line, column: column, found: "\"\(name)\" a second time", expected: "each key once")
            }
            skipSpace()
            guard take(":") else { throw fault("a colon after \"\(name)\"") }
            members.append(.init(name: name, value: try value(depth: depth + 1)))
            skipSpace()
        } while take(",")
        guard take("}") else { throw fault("a comma or a closing brace") }
        return members
    }

    private mutating func list(depth: Int) throws(Fault) -> [ConfigurationValue] {
        var values: [ConfigurationValue] = []
        index += 1
        skipSpace()
        if take("]") { return values }
        repeat {
            values.append(try value(depth: depth + 1))
            skipSpace()
        } while take(",")
        guard take("]") else { throw fault("a comma or a closing bracket") }
        return values
    }

    private mutating func word() throws(Fault) -> ConfigurationValue.Content {
        for (word, content) in [
            ("true", ConfigurationValue.Content.bool(true)), ("false", .bool(false)), ("null", .null),
        ] where bytes[index...].starts(with: word.utf8) {
            index += word.utf8.count
            return content
        }
        throw fault("a value")
    }

    /// A number in the form of RFC 8259, section 6.
    private mutating func number() throws(Fault) -> Double {
        let start = index
        while let byte, "+-.eE0123456789".utf8.contains(byte) { index += 1 }
        let text = String(decoding: bytes[start..<index], as: UTF8.self)
        let hasForm = text.wholeMatch(of: /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/) != nil
        guard hasForm, let value = Double(text), value.isFinite else {
            index = start
            throw fault("a number")
        }
        return value
    }

    // MARK: Strings

    private mutating func string() throws(Fault) -> String {
        let opening = (line: line, column: column)
        index += 1
        var units: [UInt8] = []
        while let byte {
            switch byte {
            case UInt8(ascii: "\""):
                index += 1
                guard let text = String(validating: units, as: UTF8.self) else {
                    throw Fault(
                        line: opening.line, column: opening.column, found: "bytes that are no UTF-8", expected: "text")
                }
                return text
            case UInt8(ascii: "\\"): try appendEscape(to: &units)
            case 0..<0x20: throw fault("the end of the string that begins at column \(opening.column)")
            default:
                units.append(byte)
                index += 1
            }
        }
        throw fault("the end of the string that begins in line \(opening.line), column \(opening.column)")
    }

    private mutating func appendEscape(to units: inout [UInt8]) throws(Fault) {
        index += 1
        guard let byte else { throw fault("a letter after the backslash") }
        let plain: [UInt8: UInt8] = [
            UInt8(ascii: "\""): 0x22, UInt8(ascii: "\\"): 0x5C, UInt8(ascii: "/"): 0x2F, UInt8(ascii: "b"): 0x08,
            UInt8(ascii: "f"): 0x0C, UInt8(ascii: "n"): 0x0A, UInt8(ascii: "r"): 0x0D, UInt8(ascii: "t"): 0x09,
        ]
        if let unit = plain[byte] {
            units.append(unit)
            index += 1
            return
        }
        guard byte == UInt8(ascii: "u") else { throw fault("one of \" \\ / b f n r t u after the backslash") }
        index += 1
        let first = try hexadecimal()
        guard let scalar = Unicode.Scalar(try joined(first)) else { throw fault("a character") }
        units.append(contentsOf: Array(String(Character(scalar)).utf8))
    }

    /// Joins the second half of a surrogate pair to the first.
    private mutating func joined(_ first: UInt32) throws(Fault) -> UInt32 {
        guard (0xD800..<0xDC00).contains(first) else { return first }
        guard take("\\"), take("u") else { throw fault("the second half of a surrogate pair") }
        let second = try hexadecimal()
        guard (0xDC00..<0xE000).contains(second) else { throw fault("the second half of a surrogate pair") }
        return 0x10000 + (first - 0xD800) << 10 + (second - 0xDC00)
    }

    private mutating func hexadecimal() throws(Fault) -> UInt32 {
        let digits = bytes[index...].prefix(4)
        guard digits.count == 4, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
            let value = UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
        else { throw fault("four hexadecimal digits") }
        index += 4
        return value
    }

    // MARK: Bytes

    private var byte: UInt8? { index < bytes.count ? bytes[index] : nil }
    private var column: Int { index - lineStart + 1 }

    private mutating func skipSpace() {
        while let byte, [0x20, 0x09, 0x0A, 0x0D].contains(byte) {
            index += 1
            guard byte == 0x0A else { continue }
            line += 1
            lineStart = index
        }
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard byte == UInt8(ascii: character) else { return false }
        index += 1
        return true
    }

    private func fault(_ expected: String) -> Fault {
        let found =
            switch byte {
            case nil: "the end of the file"
            case 0x0A, 0x0D: "the end of the line"
            case .some(let byte) where (0x21...0x7E).contains(byte): "\(Character(Unicode.Scalar(byte)))"
            case .some: "a character that does not belong there"
            }
        return Fault(line: line, column: column, found: found, expected: expected)
    }
}
