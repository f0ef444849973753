import CSimdjson

/// The payload of a closing frame (RFC 6455, 5.5.1 and 7.4).
package enum CloseFrame {
    /// Codes allowed in a frame: 1012 to 1014 are registered with IANA; 1004 to 1006 and 1015 are never sent.
    package static func isSendable(_ code: Int) -> Bool {
        switch code {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }

    static func payload(code: Int?, reason: String) -> [UInt8] {
        guard let code else { return [] }
        precondition(isSendable(code), "close code \(code) may not be sent")
        return [UInt8(code >> 8), UInt8(code & 255)] + shortened(reason)
    }

    /// A control frame holds 125 bytes, two of them the code. The cut must not split a character.
    private static func shortened(_ reason: String) -> [UInt8] {
        let bytes = Array(reason.utf8)
        var count = min(bytes.count, 123)
        while count < bytes.count, count > 0, bytes[count] & 0xC0 == 0x80 { count -= 1 }
        return Array(bytes[..<count])
    }

    static func parse(_ payload: [UInt8]) throws(WebSocketFault) -> (code: Int?, reason: String) {
        if payload.isEmpty { return (nil, "") }
        guard payload.count >= 2 else {
            throw WebSocketFault(.protocolError, "a closing frame has a payload of one byte")
        }
        let code = Int(payload[0]) << 8 | Int(payload[1])
        guard isSendable(code) else {
            throw WebSocketFault(.protocolError, "a closing frame has the code \(code), which is not allowed there")
        }
        let reason = Array(payload[2...])
        guard isUTF8(reason) else {
            throw WebSocketFault(.invalidText, "the reason in a closing frame is no UTF-8")
        }
        return (code, String(decoding: reason, as: UTF8.self))
    }
}

func isUTF8(_ bytes: [UInt8]) -> Bool {
    bytes.withUnsafeBytes { sb_utf8_is_valid($0.baseAddress, $0.count) || $0.isEmpty }
}
