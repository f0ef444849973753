import CCurl
import Glibc
import OSThreads
import Vocabulary
import WebSocketLoop

/// A byte stream, with TLS or without, opened by libcurl (`CONNECT_ONLY`), read and written by the connection's thread.
///
/// The easy handle stays in its multi for the life of the stream, because its removal closes the socket. The multi
/// makes `connect` cancellable. One thread uses both.
final class CurlStream: BytePipe {
    private let multi: UnsafeMutableRawPointer
    private let easy: UnsafeMutableRawPointer
    private let errorText: UnsafeMutablePointer<CChar>
    private let unixPath: String?
    private let listener: ListenerTrust?
    private let leafPin: [UInt8]?
    private var pin: LeafPin?
    private(set) var descriptor: Int32 = -1

    private static let bufferSize = 65_536
    private static let isReady: Bool = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    init?(_ address: WebSocketAddress, _ request: WebSocketRequest) {
        guard Self.isReady, let multi = curl_multi_init() else { return nil }
        guard let easy = curl_easy_init() else {
            curl_multi_cleanup(multi)
            return nil
        }
        self.multi = UnsafeMutableRawPointer(multi)
        self.easy = easy
        unixPath = request.unixPath
        listener = address.isPlain && request.unixPath == nil ? request.listener : nil
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        let options: [(CURLoption, Int)] = [
            (CURLOPT_CONNECT_ONLY, 1), (CURLOPT_NOSIGNAL, 1), (CURLOPT_BUFFERSIZE, Self.bufferSize),
            // ALPN would offer h2 by default, and the server might choose it.
            (CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1)),
            // A proxy from the environment must tunnel: the bytes are for the server.
            (CURLOPT_HTTPPROXYTUNNEL, 1),
            (CURLOPT_SSL_VERIFYPEER, 1), (CURLOPT_SSL_VERIFYHOST, 2), (CURLOPT_TCP_NODELAY, 1),
            (CURLOPT_TCP_KEEPALIVE, 1), (CURLOPT_TCP_KEEPIDLE, 30), (CURLOPT_TCP_KEEPINTVL, 10),
            // Lets a cancelled connect return without waiting for the resolver's thread.
            (CURLOPT_QUICK_EXIT, 1),
            (CURLOPT_CONNECTTIMEOUT_MS, Int(max(1, request.connectTimeout.nanoseconds / 1_000_000))),
        ]
        for (option, value) in options { _ = sb_curl_set_long(easy, option, value) }
        _ = sb_curl_set_text(easy, CURLOPT_URL, address.curlURL)
        _ = sb_curl_set_text(easy, CURLOPT_PROTOCOLS_STR, "http,https")
        if let file = request.authorityFile { _ = sb_curl_set_text(easy, CURLOPT_CAINFO, file) }
        _ = sb_curl_set_pointer(easy, CURLOPT_ERRORBUFFER, errorText)
        if let unixPath { _ = sb_curl_set_text(easy, CURLOPT_UNIX_SOCKET_PATH, unixPath) }
        // A proxy could read plain text, and would hide who listens at the address.
        if address.isPlain || unixPath != nil { _ = sb_curl_set_text(easy, CURLOPT_NOPROXY, "*") }
        leafPin = request.leafPin
        if let leafPin { pin = LeafPin(leafPin, for: easy) }
    }

    deinit {
        curl_multi_remove_handle(multi, easy)
        curl_easy_cleanup(easy)
        curl_multi_cleanup(multi)
        errorText.deallocate()
    }

    /// Connects: name look-up, TCP, a proxy, TLS. False if the connection was cut meanwhile.
    func connect(_ control: LinkControl) throws(WebSocketFailure) -> Bool {
        if leafPin != nil, pin == nil { throw WebSocketFailure(.tlsFailed, LeafPin.unusable) }
        if let unixPath { try UnixSocket.check(unixPath) }
        let status = curl_multi_add_handle(multi, easy)
        guard status == CURLM_OK else {
            throw WebSocketFailure(.other, String(cString: curl_multi_strerror(status)))
        }
        var code = CURLE_OK
        while !control.isCut {
            var running: Int32 = 0
            curl_multi_perform(multi, &running)
            if sb_curl_next_done(multi, &code) != nil {
                guard code == CURLE_OK else { throw failure(code) }
                var socket = -1
                descriptor = sb_curl_get_socket(easy, &socket) == CURLE_OK ? Int32(socket) : -1
                guard descriptor >= 0 else { throw WebSocketFailure(.other, "libcurl gave no socket") }
                if let unixPath { try UnixSocket.checkListener(descriptor, unixPath) }
                if let listener, let stranger = PortOwner.refusal(ends, listener) {
                    throw WebSocketFailure(.foreignListener, stranger)
                }
                return true
            }
            var wakeUp = curl_waitfd(
                fd: control.wakeUp.descriptor, events: Int16(CURL_WAIT_POLLIN), revents: 0)
            curl_multi_poll(multi, &wakeUp, 1, 1_000, nil)
            if wakeUp.revents != 0 { control.wakeUp.clear() }
        }
        return false
    }

    private var ends: PortOwner.Ends? {
        var (remote, local): (UnsafeMutablePointer<CChar>?, UnsafeMutablePointer<CChar>?) = (nil, nil)
        var (remotePort, localPort) = (0, 0)
        _ = sb_curl_get_pointer(easy, CURLINFO_PRIMARY_IP, &remote)
        _ = sb_curl_get_pointer(easy, CURLINFO_LOCAL_IP, &local)
        _ = sb_curl_get_long(easy, CURLINFO_PRIMARY_PORT, &remotePort)
        _ = sb_curl_get_long(easy, CURLINFO_LOCAL_PORT, &localPort)
        return PortOwner.Ends(remote, Int32(clamping: remotePort), local, Int32(clamping: localPort))
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> PipeRead {
        var count = 0
        let code = curl_easy_recv(easy, buffer.baseAddress, buffer.count, &count)
        switch code {
        case CURLE_OK: return count > 0 ? .bytes(count) : .ended
        case CURLE_AGAIN: return .blocked
        default: return .failed(text(code))
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer) -> PipeWrite {
        var count = 0
        let code = curl_easy_send(easy, bytes.baseAddress, bytes.count, &count)
        switch code {
        case CURLE_OK: return .taken(count)
        case CURLE_AGAIN: return .blocked
        default: return .failed(text(code))
        }
    }

    private func text(_ code: CURLcode) -> String {
        errorText[0] == 0 ? String(cString: curl_easy_strerror(code)) : String(cString: errorText)
    }

    private func failure(_ code: CURLcode) -> WebSocketFailure {
        if let finding = pin?.finding { return WebSocketFailure(.tlsFailed, finding) }
        let text = text(code)
        switch code {
        case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL:
            return WebSocketFailure(.badURL, "the address cannot be used: \(text)")
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
            return WebSocketFailure(.nameNotFound, "the name could not be found: \(text)")
        case CURLE_COULDNT_CONNECT:
            return WebSocketFailure(.connectionRefused, "no connection: \(text)")
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CERTPROBLEM, CURLE_SSL_ISSUER_ERROR:
            return WebSocketFailure(.tlsFailed, "TLS failed: \(text)")
        // Covers a server that closes during the handshake.
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER:
            return WebSocketFailure(.connectionLost, "TLS failed: \(text)")
        case CURLE_OPERATION_TIMEDOUT:
            return WebSocketFailure(.timedOut, "no connection in time: \(text)")
        default: return WebSocketFailure(.other, "no connection: \(text)")
        }
    }
}
