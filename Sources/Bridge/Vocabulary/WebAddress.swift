/// Address of a relay or an agent: `scheme://host[:port][/path]`, without any part that could carry a secret.
package struct WebAddress: Hashable, Sendable, CustomStringConvertible {
    package enum Scheme: String, Hashable, Sendable, CaseIterable {
        case https, http, wss, ws

        package var isEncrypted: Bool { self == .https || self == .wss }
    }

    package enum Fault: Error, Hashable, Sendable {
        case scheme, host, port
        /// A name and password before the host, a query or a fragment: such parts would leak secrets into logs.
        case credentials, query
    }

    package let scheme: Scheme
    /// Lower case. An IPv6 address has no brackets here.
    package let host: String
    package let port: UInt16?
    /// Empty, or begins with a slash and does not end with one.
    package let path: String

    package var isThisMachine: Bool { ["127.0.0.1", "::1", "localhost"].contains(host) }

    /// An address from the code itself, known to be valid.
    package init(_ scheme: Scheme, _ host: String, _ port: UInt16? = nil) {
        self.scheme = scheme
        self.host = host
        self.port = port
        path = ""
    }

    package init(_ text: String) throws(Fault) {
        guard let colon = text.firstIndex(of: ":"), text[colon...].hasPrefix("://"),
            let scheme = Scheme(rawValue: text[..<colon].lowercased())
        else { throw .scheme }
        let rest = text[text.index(colon, offsetBy: 3)...]
        // A password may contain a slash, a question mark or a number sign: refuse an at sign anywhere.
        guard !rest.contains("@") else { throw .credentials }
        guard !rest.contains(where: { $0 == "?" || $0 == "#" }) else { throw .query }
        let authority = rest.prefix { $0 != "/" }
        var path = String(rest[authority.endIndex...])
        while path.hasSuffix("/") { path.removeLast() }
        let (host, port) = try Self.parts(authority)
        guard path.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { throw .host }
        self.scheme = scheme
        self.host = host
        self.port = port
        self.path = path
    }

    private static func parts(_ authority: Substring) throws(Fault) -> (host: String, port: UInt16?) {
        let host: Substring
        let rest: Substring
        if authority.hasPrefix("[") {
            guard let close = authority.firstIndex(of: "]") else { throw .host }
            host = authority[authority.index(after: authority.startIndex)..<close]
            rest = authority[authority.index(after: close)...]
            guard case .version6 = NumericAddress(String(host)) else { throw .host }
        } else {
            host = authority.prefix { $0 != ":" }
            rest = authority[host.endIndex...]
            let letters = host.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
            guard letters, (1...253).contains(host.utf8.count) else { throw .host }
        }
        if rest.isEmpty { return (host.lowercased(), nil) }
        let digits = rest.dropFirst()
        // `UInt16` takes a sign, too.
        guard rest.hasPrefix(":"), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let port = UInt16(digits), port > 0
        else { throw .port }
        return (host.lowercased(), port)
    }

    /// Whether the address leads to this machine or to a private network. Of names, `localhost` alone does (RFC 6761).
    package var isPrivate: Bool {
        host == "localhost" || host.hasSuffix(".localhost") || NumericAddress(host)?.isPrivate == true
    }

    package var description: String {
        let authority = host.contains(":") ? "[\(host)]" : host
        return "\(scheme.rawValue)://\(authority)\(port.map { ":\($0)" } ?? "")\(path)"
    }
}
