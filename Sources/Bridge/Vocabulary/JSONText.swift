/// A JSON value as text. Its maker has checked it: a body may contain it verbatim.
package struct JSONText: Hashable, Sendable {
    package let text: String

    package init(unchecked text: String) { self.text = text }

    /// A JSON string with the content `value`.
    package static func string(_ value: String) -> JSONText {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(value.utf8.count + 2)
        appendString(value, to: &bytes)
        return JSONText(unchecked: String(decoding: bytes, as: UTF8.self))
    }

    /// Appends `value` as a JSON string in UTF-8. Escapes only the characters that RFC 8259 requires: equal values always give equal bytes.
    package static func appendString(_ value: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        var value = value
        value.withUTF8 { text in
            // Most text needs no escape: append it run by run.
            var start = 0
            for index in 0..<text.count {
                let byte = unsafe text[index]
                guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else { continue }
                unsafe bytes.append(contentsOf: UnsafeBufferPointer(rebasing: text[start..<index]))
                appendEscape(of: byte, to: &bytes)
                start = index + 1
            }
            unsafe bytes.append(contentsOf: UnsafeBufferPointer(rebasing: text[start...]))
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func appendEscape(of byte: UInt8, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case 0x0A: bytes.append(UInt8(ascii: "n"))
        case 0x0D: bytes.append(UInt8(ascii: "r"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        case 0..<0x20: appendControl(byte, to: &bytes)
        default: bytes.append(byte)
        }
    }

    private static func appendControl(_ byte: UInt8, to bytes: inout [UInt8]) {
        let digits = Array("0123456789abcdef".utf8)
        bytes.append(contentsOf: Array("u00".utf8))
        bytes.append(digits[Int(byte >> 4)])
        bytes.append(digits[Int(byte & 15)])
    }
}
