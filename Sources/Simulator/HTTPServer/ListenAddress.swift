import Glibc

/// Address of a listening server: a numeric address with a port, of which 0 lets the system choose, or a Unix socket.
package struct ListenAddress: Hashable, Sendable, CustomStringConvertible {
    package enum Family: Hashable, Sendable { case version4, version6, local }

    /// Numeric address, or path of a Unix socket.
    package let host: String
    package let port: UInt16
    package let family: Family

    /// Accepts `127.0.0.1:8787`, `[::1]:8787` and `localhost:8787`, which means 127.0.0.1. Names are not looked up: the
    /// resolved address decides who can reach the server, so the configuration must spell it out.
    package init(_ text: String) throws(LocalServerError) {
        guard let colon = text.lastIndex(of: ":"), let port = Self.port(of: text[text.index(after: colon)...]) else {
            throw Self.unusable(text, "expected HOST:PORT")
        }
        var host = String(text[..<colon])
        let bracketed = host.hasPrefix("[") && host.hasSuffix("]")
        if bracketed { host = String(host.dropFirst().dropLast()) }
        if host == "localhost" { host = "127.0.0.1" }

        guard let family = Self.family(of: host), bracketed == (family == .version6) else {
            throw Self.unusable(text, "the host must be a numeric address or localhost, IPv6 in brackets")
        }
        self.host = host
        self.port = port
        self.family = family
    }

    /// A Unix socket, for its owner alone.
    package init(socket path: String) { (host, port, family) = (path, 0, .local) }

    package var isLoopback: Bool {
        switch family {
        case .version4: host.hasPrefix("127.")
        case .version6: host == "::1"
        case .local: true
        }
    }

    package var description: String { Self.authority(host: host, family: family, port: port) }

    /// Host and port in their URL form.
    static func authority(host: String, family: Family, port: UInt16) -> String {
        switch family {
        case .version4: "\(host):\(port)"
        case .version6: "[\(host)]:\(port)"
        case .local: "unix:\(host)"
        }
    }

    /// A port in digits, or nil for any other text: `UInt16` takes a sign, too.
    static func port(of text: Substring) -> UInt16? {
        text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? UInt16(text) : nil
    }

    /// The family of a numeric address, or nil for any other text.
    static func family(of host: String) -> Family? {
        var version4 = in_addr()
        var version6 = in6_addr()
        if inet_pton(AF_INET, host, &version4) == 1 { return .version4 }
        if inet_pton(AF_INET6, host, &version6) == 1 { return .version6 }
        return nil
    }

    private static func unusable(_ text: String, _ reason: String) -> LocalServerError {
        LocalServerError(
            .badAddress, "listen address is \"\(text)\": \(reason), for example 127.0.0.1:8787 or 127.0.0.1:0")
    }
}
