import CCurl
import Vocabulary

/// The addresses that requests are posted to, read once: libcurl reads an address given as text on every transfer, writes it
/// out again and reads that, which was a tenth of all its work for a relay call.
///
/// Lives on the loop's thread, and as long as its transfers.
final class ParsedAddresses {
    /// A list, because few are asked for, most often the first: looking through them costs less than a hash.
    private var addresses: [(text: String, parsed: OpaquePointer)] = []
    /// A relay has eight. None is taken out again, since a transfer in flight may use it: later addresses go as text.
    private static let limit = 32

    /// Nil: let libcurl read the text, and say what is wrong with it. Addresses that are fetched mostly come once.
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
