/// Writes compact JSON straight into bytes, without a tree in between. Absent fields are omitted,
/// never `null` (relay.md#json-rules); `nullField` writes an explicit null.
struct JSONWriter {
    private(set) var bytes: [UInt8] = []
    private var needsComma = false

    static func object(_ fields: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter()
        writer.bytes.reserveCapacity(256)
        writer.enclosed("{", "}", fields)
        return writer.bytes
    }

    // MARK: Fields of an object

    mutating func field(_ name: String, _ value: String?) {
        guard let value else { return }
        begin(name)
        appendString(value)
    }

    mutating func field(_ name: String, _ value: Int64) {
        begin(name)
        bytes.append(contentsOf: String(value).utf8)
    }

    mutating func field(_ name: String, _ value: Bool) {
        begin(name)
        bytes.append(contentsOf: (value ? "true" : "false").utf8)
    }

    /// Writes a value that is JSON already.
    mutating func field(_ name: String, json text: String?) {
        guard let text else { return }
        begin(name)
        bytes.append(contentsOf: text.utf8)
    }

    mutating func field(_ name: String, json: [UInt8]) {
        begin(name)
        bytes.append(contentsOf: json)
    }

    mutating func nullField(_ name: String) {
        begin(name)
        bytes.append(contentsOf: "null".utf8)
    }

    mutating func object(_ name: String, _ fields: (inout JSONWriter) -> Void) {
        begin(name)
        enclosed("{", "}", fields)
    }

    mutating func array(_ name: String, _ elements: (inout JSONWriter) -> Void) {
        begin(name)
        enclosed("[", "]", elements)
    }

    // MARK: Elements of an array

    mutating func objectElement(_ fields: (inout JSONWriter) -> Void) {
        separate()
        enclosed("{", "}", fields)
    }

    mutating func element(json: [UInt8]) {
        separate()
        bytes.append(contentsOf: json)
    }

    // MARK: Values

    mutating func append(_ value: JSONValue) {
        switch value {
        case .null: bytes.append(contentsOf: "null".utf8)
        case .bool(let flag): bytes.append(contentsOf: (flag ? "true" : "false").utf8)
        case .number(let text): bytes.append(contentsOf: text.utf8)
        case .string(let text): appendString(text)
        case .array(let values):
            enclosed("[", "]") { writer in
                for value in values {
                    writer.separate()
                    writer.append(value)
                }
            }
        case .object(let members):
            enclosed("{", "}") { writer in
                for member in members {
                    writer.begin(member.name)
                    writer.append(member.value)
                }
            }
        }
    }

    private mutating func enclosed(
        _ open: Unicode.Scalar, _ close: Unicode.Scalar, _ content: (inout JSONWriter) -> Void
    ) {
        bytes.append(UInt8(ascii: open))
        needsComma = false
        content(&self)
        bytes.append(UInt8(ascii: close))
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
    }

    private mutating func begin(_ name: String) {
        separate()
        appendString(name)
        bytes.append(UInt8(ascii: ":"))
    }

    private mutating func appendString(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(byte)
            case 0x0A: bytes.append(contentsOf: "\\n".utf8)
            case 0x0D: bytes.append(contentsOf: "\\r".utf8)
            case 0x09: bytes.append(contentsOf: "\\t".utf8)
            case 0..<0x20:
                bytes.append(contentsOf: "\\u00".utf8)
                bytes.append(Self.hexDigits[Int(byte >> 4)])
                bytes.append(Self.hexDigits[Int(byte & 15)])
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static let hexDigits = Array("0123456789abcdef".utf8)
}
