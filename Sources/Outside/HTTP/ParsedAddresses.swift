import CCurl
import Vocabulary

/// Parsed addresses of POST requests. libcurl parses a text address on every transfer, writes it out and parses that,
/// which took a tenth of its whole work for a relay call.
///
/// Used by the loop's thread alone. Lives as long as its transfers.
final class ParsedAddresses {
    /// An array, because there are few, and mostly the first matches: a search costs less than a hash.
    private var addresses: [(text: String, parsed: OpaquePointer)] = []
    /// A relay has eight. Entries are never removed, since a transfer in flight may use one; later addresses go as text.
    private static let limit = 32

    /// Nil if libcurl should parse the text itself and report its errors. GET addresses are mostly used once.
    func address(of request: HTTPRequest) -> OpaquePointer? {
        guard request.method == "POST" else { return nil }
        return addresses.first { $0.text == request.url }?.parsed ?? read(request.url)
    }

    private func read(_ text: String) -> OpaquePointer? {
        guard addresses.count < Self.limit, let address = curl_url() else { return nil }
        guard curl_url_set(address, CURLUPART_URL, text, 0) == CURLUE_OK else {
            curl_url_cleanup(address)
            return nil
        }
        addresses.append((text, address))
        return address
    }

    deinit { for address in addresses { curl_url_cleanup(address.parsed) } }
}
