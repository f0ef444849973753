import Vocabulary

/// The parts of a `ws://` or `wss://` address that the handshake needs.
struct WebSocketAddress: Hashable {
    /// The address for libcurl, which expects the schemes http and https.
    let curlURL: String
    /// Host and port as written, for the Host header.
    let authority: String
    /// Path and query, at least "/".
    let target: String
    var isPlain: Bool { curlURL.hasPrefix("http:") }

    init(_ url: String) throws(WebSocketFailure) {
        let scheme: String
        let rest: Substring
        if url.lowercased().hasPrefix("ws://") {
            (scheme, rest) = ("http", url.dropFirst(5))
        } else if url.lowercased().hasPrefix("wss://") {
            (scheme, rest) = ("https", url.dropFirst(6))
        } else {
            throw Self.unusable("expected ws:// or wss:// at its start")
        }
        guard url.utf8.allSatisfy({ $0 > 32 && $0 < 127 }) else {
            throw Self.unusable("it has spaces or other characters that must be escaped")
        }
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        guard !authority.isEmpty, !authority.contains("@") else {
            throw Self.unusable("expected a host, without user and password; tokens go in headers")
        }
        let target = rest[authority.endIndex...].prefix { $0 != "#" }
        self.authority = String(authority)
        self.target = target.hasPrefix("/") ? String(target) : "/" + target
        curlURL = "\(scheme)://\(authority)/"
    }

    /// The message omits the address, whose query may contain a secret.
    private static func unusable(_ reason: String) -> WebSocketFailure {
        WebSocketFailure(.badURL, "the WebSocket address cannot be used: \(reason), for example wss://host/path")
    }
}
