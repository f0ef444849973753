import COpenSSL
package import Vocabulary

/// Both sides of the opening handshake (RFC 6455, section 4), as values.
package enum UpgradeHandshake {
    /// A client's key, from 16 random bytes.
    package static func key(from random: [UInt8]) -> String {
        precondition(random.count == 16, "a key is made of 16 bytes")
        return base64(random)
    }

    /// The server's Sec-WebSocket-Accept for a key.
    package static func accept(for key: String) -> String {
        let text = Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)
        var digest = [UInt8](repeating: 0, count: Int(SHA_DIGEST_LENGTH))
        _ = SHA1(text, text.count, &digest)
        return base64(digest)
    }

    private static func base64(_ bytes: [UInt8]) -> String {
        var text = [UInt8](repeating: 0, count: (bytes.count + 2) / 3 * 4 + 1)
        let count = EVP_EncodeBlock(&text, bytes, Int32(bytes.count))
        return String(decoding: text[..<Int(count)], as: UTF8.self)
    }

    /// The client's request. Control characters are removed from headers: a line break would turn a value into a header of its own.
    package static func request(target: String, host: String, key: String, headers: [HTTPHeader]) -> [UInt8] {
        var lines = [
            "GET \(clean(target)) HTTP/1.1", "Host: \(clean(host))", "Upgrade: websocket", "Connection: Upgrade",
            "Sec-WebSocket-Key: \(key)", "Sec-WebSocket-Version: 13",
        ]
        for header in headers { lines.append("\(clean(header.name)): \(clean(header.value))") }
        return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    }

    private static func clean(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.filter { $0.value >= 32 && $0.value != 127 }))
    }

    /// The fault of a 101 response, or nil if the connection is a WebSocket now.
    package static func fault(of head: ResponseHead, key: String) -> String? {
        guard head.values(of: "upgrade").contains("websocket") else {
            return "the server's answer does not upgrade to websocket"
        }
        guard head.values(of: "connection").contains("upgrade") else {
            return "the server's answer lacks Connection: Upgrade"
        }
        guard head.header("sec-websocket-accept") == accept(for: key) else {
            return "the server's answer does not belong to our request (Sec-WebSocket-Accept)"
        }
        guard head.header("sec-websocket-extensions") == nil else {
            return "the server uses an extension that was not asked for"
        }
        return nil
    }

    /// A server's answer to an upgrade request.
    package enum Judgement: Hashable, Sendable {
        case accept(value: String)
        case refuse(status: Int, sentence: String)
    }

    package static func judge(method: String, headers: [HTTPHeader]) -> Judgement {
        let request = ResponseHead(status: 0, headers: headers)
        guard method == "GET", request.values(of: "upgrade").contains("websocket"),
            request.values(of: "connection").contains("upgrade")
        else { return .refuse(status: 426, sentence: "This address speaks WebSocket: ask for an upgrade with GET.") }
        guard request.header("sec-websocket-version") == "13" else {
            return .refuse(status: 426, sentence: "Only version 13 of WebSocket is spoken here.")
        }
        let keys = headers.filter { sameName($0.name, "sec-websocket-key") }
        guard let key = keys.first?.value, keys.count == 1, isKey(key) else {
            return .refuse(status: 400, sentence: "Sec-WebSocket-Key must be there once, 16 bytes in base64.")
        }
        return .accept(value: accept(for: key))
    }

    private static func isKey(_ key: String) -> Bool {
        let bytes = Array(key.utf8)
        guard bytes.count == 24, bytes.suffix(2) == [61, 61] else { return false }
        return bytes.prefix(22).allSatisfy { byte in
            (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte) || byte == 43
                || byte == 47
        }
    }
}
