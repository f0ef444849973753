import CCurl
import Vocabulary

/// A file's address as libcurl's own parser reads it. Another parser could find another host in the same text.
final class FetchAddress {
    let handle: OpaquePointer
    let scheme: String
    let host: String
    let port: UInt16
    /// The address has the scheme, host and port of the configured relay.
    let isRelay: Bool

    init(_ text: String, relay: WebAddress) throws(FetchProblem) {
        guard text.utf8.count <= 8_192, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), let handle = curl_url() else {
            throw .badAddress
        }
        guard curl_url_set(handle, CURLUPART_URL, text, UInt32(CURLU_DISALLOW_USER)) == CURLUE_OK,
            let scheme = Self.part(CURLUPART_SCHEME, of: handle), let host = Self.part(CURLUPART_HOST, of: handle),
            let port = Self.part(CURLUPART_PORT, of: handle, UInt32(CURLU_DEFAULT_PORT)).flatMap({ UInt16($0) })
        else {
            curl_url_cleanup(handle)
            throw .badAddress
        }
        self.handle = handle
        self.scheme = scheme.lowercased()
        self.host = host.lowercased()
        self.port = port
        let own = relay.host.contains(":") ? "[\(relay.host)]" : relay.host
        isRelay =
            self.scheme == relay.scheme.rawValue && self.host == own
            && port == relay.port ?? (relay.scheme.isEncrypted ? 443 : 80)
        // Checked in `init`, so that neither a first address nor a redirect can lead to a request without TLS.
        guard self.scheme == "https" || isRelay else { throw self.scheme == "http" ? .notEncrypted : .badAddress }
    }

    deinit { curl_url_cleanup(handle) }

    private static func part(_ part: CURLUPart, of handle: OpaquePointer, _ flags: UInt32 = 0) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard curl_url_get(handle, part, &text, flags) == CURLUE_OK, let text else { return nil }
        defer { curl_free(text) }
        return String(cString: text)
    }
}
