import JSONReading
package import Vocabulary

/// The link that Oppi shows for pairing (oppi.md#pairing): the server's address, and the secret that gives this bridge a token.
package struct OppiInvite: Hashable, Sendable {
    package let address: WebAddress
    /// SHA-256 of the server's certificate.
    package let pin: [UInt8]?
    /// At least one of the two is present.
    let token: Secret?
    let pairingToken: Secret?

    /// Nil if the link is no invite link.
    package init?(_ link: String) {
        guard let colon = link.firstRange(of: "://"), ["oppi", "pi"].contains(link[..<colon.lowerBound].lowercased()),
            let mark = link[colon.upperBound...].firstIndex(of: "?")
        else { return nil }
        var route = link[colon.upperBound..<mark]
        if route.hasSuffix("/") { route.removeLast() }
        guard route == "connect" || route == "pair" else { return nil }
        var parameters: [Substring: Substring] = [:]
        for part in link[link.index(after: mark)...].prefix(while: { $0 != "#" }).split(separator: "&") {
            guard let equals = part.firstIndex(of: "=") else { continue }
            parameters[part[..<equals]] = part[part.index(after: equals)...]
        }
        let json: [UInt8]? =
            if let invite = parameters["invite"] {
                Base64URL.decode(String(invite))
            } else { parameters["payload"].flatMap { Self.plain($0) } }
        guard let json, let read = Self.read(json) else { return nil }
        self = read
    }

    private static func read(_ json: [UInt8]) -> Self? {
        let parser = FrameParser()
        var json = json
        json.reserveCapacity(json.count + 64)
        return json.withUnsafeBytes { bytes in parser.parse(bytes, capacity: json.capacity).flatMap { Self($0) } }
    }

    private init?(_ root: FrameNode) {
        guard root["v"]?.integer(in: 3...3) != nil, let host = root["host"]?.string, !host.isEmpty,
            let port = root["port"]?.integer(in: 1...65_535)
        else { return nil }
        let scheme = root["scheme"]?.string ?? "http"
        let name = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        guard ["http", "https"].contains(scheme), let address = try? WebAddress("\(scheme)://\(name):\(port)") else {
            return nil
        }
        self.address = address
        pin = root["tlsCertFingerprint"]?.string.flatMap(OppiPin.bytes)
        token = Self.secret(root["token"])
        pairingToken = Self.secret(root["pairingToken"])
        if token == nil, pairingToken == nil { return nil }
    }

    private static func secret(_ node: FrameNode?) -> Secret? {
        guard let text = node?.string, !text.isEmpty, text.utf8.count <= 4_096,
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return nil }
        return Secret(text)
    }

    /// Decodes percent escapes.
    private static func plain(_ text: Substring) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16), rest.count >= 2 else {
                return nil
            }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return bytes
    }
}

/// The hash of a certificate as the server shows it: `sha256:` and 43 letters (oppi.md#tls).
enum OppiPin {
    static func bytes(_ text: String) -> [UInt8]? {
        let prefix = "sha256:"
        guard text.hasPrefix(prefix), let bytes = Base64URL.decode(String(text.dropFirst(prefix.count))),
            bytes.count == 32
        else { return nil }
        return bytes
    }

    static func text(_ bytes: [UInt8]) -> String { "sha256:" + Base64URL.encode(bytes) }
}
