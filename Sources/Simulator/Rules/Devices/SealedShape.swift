/// Properties of sealed bytes in base64 that need no key (relay.md#symmetric-envelope).
struct SealedShape: Hashable, Sendable {
    let count: Int
    let first: UInt8

    /// Nil if the text is empty, or no base64 of the standard alphabet with its padding.
    init?(_ text: String) {
        var code = Array(text.utf8)
        guard !code.isEmpty, code.count % 4 == 0 else { return nil }
        let padding = code.suffix(2).count { $0 == UInt8(ascii: "=") }
        code.removeLast(padding)
        var values: [UInt8] = []
        values.reserveCapacity(code.count)
        for byte in code {
            guard let value = Self.value(of: byte) else { return nil }
            values.append(value)
        }
        // Spare bits of the last character must be zero: otherwise two texts would encode the same bytes.
        let rest: UInt8 = padding == 0 ? 0 : padding == 1 ? 0b11 : 0b1111
        guard let last = values.last, last & rest == 0 else { return nil }
        count = values.count * 6 / 8
        first = values[0] << 2 | values[1] >> 4
    }

    var isEnvelope: Bool { first == 0 ? count == 1 : first == 1 && count >= 29 }
    /// A wrapped session key of 32 bytes (relay.md#sealed-box-wraps-a-session-key-for-one-device).
    var isWrappedKey: Bool { first == 2 && count == 94 }

    private static func value(of byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): byte - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0") + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}

extension Fields {
    /// An envelope in base64. No relay knows which key opens it, if any.
    mutating func envelope(_ name: String, atMost limit: Int) -> String? {
        guard let text = optional(name, atMost: limit) else { return nil }
        if SealedShape(text)?.isEnvelope != true {
            complain(name, .invalidString, "is no sealed envelope in base64", .malformedEnvelope)
        }
        return text
    }

    mutating func requiredEnvelope(_ name: String, atMost limit: Int) -> String {
        guard member(name) != nil else { return required(name) }
        return envelope(name, atMost: limit) ?? ""
    }

    /// 64 lower-case hexadecimal digits (relay.md#primitives).
    mutating func publicKey() -> String {
        let key = required("pubkey", atMost: 64)
        if !(key.utf8.count == 64 && key.utf8.allSatisfy { hexDigit($0) != nil && !$0.isASCIIUppercase }) {
            complain("pubkey", .invalidString, "64 lower-case hexadecimal digits", .malformedRequest)
        }
        return key
    }

    /// Any JSON as compact text, or its sealed twin, never both (relay.md#bridge-rest-methods).
    mutating func jsonPair(_ name: String) -> Pair {
        let pair = Pair(plain: json(name), sealed: envelope("\(name)_ct", atMost: 2 * Fields.payloadLimit))
        if pair.plain != nil, pair.sealed != nil { complainOfBoth(name, "\(name)_ct") }
        return pair
    }

    mutating func complainOfBoth(_ plain: String, _ sealed: String) {
        complain(plain, .custom, "\(plain) and \(sealed) exclude each other", .malformedRequest)
    }
}
