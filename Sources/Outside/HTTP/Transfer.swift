import CCurl
import Glibc
import Vocabulary

/// One request and its response on an easy handle, which is reused afterwards. Used by the loop's thread alone.
final class Transfer {
    let handle: UnsafeMutableRawPointer
    private var completion: CurlClient.Completion?
    /// Number of attempts to send the request; above 1 only if libcurl wanted to repeat it.
    private var sendings = 0
    /// Receive buffer for libcurl's callbacks, behind a raw pointer because a transfer has many of them.
    private let reply: UnsafeMutablePointer<Reply>
    private let isPinned: Bool
    private let listener: ListenerTrust?
    /// Shared by all transfers of a loop.
    private let checked: CheckedConnections
    private var isPlain = false
    /// Last value of the proxy option; libcurl begins with the proxies of the environment.
    private var asksNoProxy = false
    /// Why the listener is not trusted, and the request was not sent.
    private var stranger: String?
    private var pin: LeafPin?
    private var form: Form?
    private var address: OpaquePointer?

    private struct Form: Equatable {
        var method: String
        var headers: UnsafeMutablePointer<curl_slist>?
        var timeout: Duration
    }

    init?(settings: CurlClient.Settings, checked: CheckedConnections) {
        guard let handle = curl_easy_init() else { return nil }
        self.handle = handle
        reply = .allocate(capacity: 1)
        reply.initialize(to: Reply())
        isPinned = settings.leafPin != nil
        listener = settings.listener
        self.checked = checked
        let options: [(CURLoption, Int)] = [
            (CURLOPT_NOSIGNAL, 1), (CURLOPT_FOLLOWLOCATION, 0), (CURLOPT_TCP_NODELAY, 1),
            (CURLOPT_TCP_KEEPALIVE, 1),
            (CURLOPT_SSL_VERIFYPEER, 1), (CURLOPT_SSL_VERIFYHOST, 2),
            (CURLOPT_HTTP_VERSION, Int(settings.http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1)),
            // Lets the removal of a handle return at once; it would wait for the resolver's thread, and every other
            // transfer with it.
            (CURLOPT_QUICK_EXIT, 1),
            // The relay's responses have a few hundred bytes. With libcurl's 16 KB buffer the allocator consolidated
            // its free lists on each transfer.
            (CURLOPT_BUFFERSIZE, 1_024),
            (CURLOPT_CONNECTTIMEOUT_MS, Int(settings.connectTimeout.nanoseconds / 1_000_000)),
        ]
        for (option, value) in options { _ = sb_curl_set_long(handle, option, value) }
        if let file = settings.authorityFile { _ = sb_curl_set_text(handle, CURLOPT_CAINFO, file) }
        _ = sb_curl_set_text(handle, CURLOPT_PROTOCOLS_STR, "http,https")
        let context = Unmanaged.passUnretained(self).toOpaque()
        _ = sb_curl_set_pointer(handle, CURLOPT_PREREQDATA, context)
        _ = sb_curl_set_pointer(handle, CURLOPT_WRITEDATA, reply)
        _ = sb_curl_set_pointer(handle, CURLOPT_HEADERDATA, reply)
        _ = sb_curl_set_before_request(handle, beforeRequest)
        _ = sb_curl_set_data_function(handle, CURLOPT_WRITEFUNCTION, writeBody)
        _ = sb_curl_set_data_function(handle, CURLOPT_HEADERFUNCTION, writeHeader)
        if let digest = settings.leafPin { pin = LeafPin(digest, for: handle) }
    }

    /// False if the certificate pin could not be installed; no request may leave then.
    var mayBeUsed: Bool { !isPinned || pin != nil }

    /// If false, `NOPROXY` is set to `*`: otherwise libcurl reads the environment on each request, a twentieth of its work.
    private static let environmentNamesProxy =
        ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"].contains {
            (name: String) in
            getenv(name) != nil
        }

    deinit {
        curl_easy_cleanup(handle)
        reply.deinitialize(count: 1)
        reply.deallocate()
    }

    /// Bytes of the request may have reached the server.
    var mayHaveLeft: Bool { sendings > 0 }

    /// `address` is the parsed address of the request, if there is one; it lives as long as the loop.
    func prepare(
        _ job: CurlClient.Job, headers list: UnsafeMutablePointer<curl_slist>?, address: OpaquePointer?
    ) {
        let request = job.request
        completion = job.completion
        sendings = 0
        stranger = nil
        isPlain = request.url.lowercased().hasPrefix("http:")
        setProxies()
        pin?.forget()
        reply.pointee.begin(limit: request.responseLimit)
        setForm(request, headers: list)
        setAddress(address, orText: request.url)
        guard request.method != "GET" else { return }
        // Copied, so that the body leaves together with the head; a body from a read callback would cost a send of its own.
        _ = sb_curl_set_long(handle, CURLOPT_POSTFIELDSIZE, request.body.count)
        request.body.withUnsafeBytes {
            let bytes = UnsafeMutableRawPointer(mutating: $0.baseAddress) ?? handle
            _ = sb_curl_set_pointer(handle, CURLOPT_COPYPOSTFIELDS, bytes)
        }
    }

    /// A parsed address takes precedence over a text (libcurl's manual, CURLOPT_CURLU), so it is reset for a text.
    private func setAddress(_ address: OpaquePointer?, orText text: String) {
        if address != self.address {
            self.address = address
            _ = sb_curl_set_pointer(handle, CURLOPT_CURLU, address.map { UnsafeMutableRawPointer($0) })
        }
        if address == nil { _ = sb_curl_set_text(handle, CURLOPT_URL, text) }
    }

    /// Plain HTTP uses no proxy, which could read it, and would hide who listens at the address.
    private func setProxies() {
        let asksNone = isPlain || !Self.environmentNamesProxy
        guard asksNone != asksNoProxy else { return }
        asksNoProxy = asksNone
        _ = sb_curl_set_text(handle, CURLOPT_NOPROXY, asksNone ? "*" : nil)
    }

    /// Sets the options that rarely differ from those of the previous request.
    private func setForm(_ request: HTTPRequest, headers list: UnsafeMutablePointer<curl_slist>?) {
        let next = Form(method: request.method, headers: list, timeout: request.timeout)
        guard form != next else { return }
        form = next
        _ = sb_curl_set_list(handle, CURLOPT_HTTPHEADER, list)
        _ = sb_curl_set_long(
            handle, CURLOPT_TIMEOUT_MS, Int(max(1, request.timeout.nanoseconds / 1_000_000)))
        if request.method == "GET" {
            _ = sb_curl_set_long(handle, CURLOPT_HTTPGET, 1)
        } else {
            _ = sb_curl_set_long(handle, CURLOPT_POST, 1)
            _ = sb_curl_set_text(
                handle, CURLOPT_CUSTOMREQUEST, request.method == "POST" ? nil : request.method)
        }
    }

    func fail(_ failure: HTTPFailure) {
        let completion = take()
        completion?(.failure(failure))
    }

    /// Returns the completion with its result, uncalled: the handle must be free before the next request comes.
    func finish(_ code: CURLcode) -> (CurlClient.Completion?, Result<HTTPResponse, HTTPFailure>) {
        let completion = take()
        guard code == CURLE_OK else { return (completion, .failure(failure(code))) }
        var status = 0
        _ = sb_curl_get_long(handle, CURLINFO_RESPONSE_CODE, &status)
        return (completion, .success(reply.pointee.finish(status: status)))
    }

    private func take() -> CurlClient.Completion? {
        defer { completion = nil }
        return completion
    }

    private func failure(_ code: CURLcode) -> HTTPFailure {
        if let finding = pin?.finding {
            return HTTPFailure(.tlsFailed, finding, mayHaveBeenApplied: false)
        }
        if let stranger { return HTTPFailure(.foreignListener, stranger, mayHaveBeenApplied: false) }
        let text = String(cString: curl_easy_strerror(code))
        // `mayHaveBeenApplied` is false only if the failure is certain to precede the sending.
        switch code {
        case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL:
            return HTTPFailure(.badURL, "the address cannot be used: \(text)", mayHaveBeenApplied: false)
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
            return HTTPFailure(
                .nameNotFound, "the name could not be found: \(text)", mayHaveBeenApplied: false)
        case CURLE_COULDNT_CONNECT:
            return HTTPFailure(.connectionRefused, "no connection: \(text)", mayHaveBeenApplied: false)
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CERTPROBLEM, CURLE_SSL_ISSUER_ERROR:
            return HTTPFailure(.tlsFailed, "TLS failed: \(text)", mayHaveBeenApplied: false)
        // Covers a server that closes during the handshake.
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER:
            return HTTPFailure(.connectionLost, "TLS failed: \(text)", mayHaveBeenApplied: false)
        case CURLE_OPERATION_TIMEDOUT:
            return HTTPFailure(.timedOut, "no answer in time", mayHaveBeenApplied: sendings > 0)
        case CURLE_WRITE_ERROR where reply.pointee.isTooLarge, CURLE_FILESIZE_EXCEEDED:
            return HTTPFailure(
                .tooLarge, "the answer is larger than \(reply.pointee.limit) bytes",
                mayHaveBeenApplied: true)
        case CURLE_ABORTED_BY_CALLBACK:
            return HTTPFailure(
                .connectionLost, "the connection was lost before the answer came", mayHaveBeenApplied: true)
        case CURLE_GOT_NOTHING, CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_PARTIAL_FILE:
            return HTTPFailure(
                .connectionLost, "the connection was lost: \(text)", mayHaveBeenApplied: true)
        default: return HTTPFailure(.other, text, mayHaveBeenApplied: true)
        }
    }

    // MARK: Called by libcurl, on the loop's thread

    /// Whether the request may leave. When a reused connection dies before the first byte of a response, libcurl would
    /// repeat the POST silently; the bridge's own retry decides that, with the same key.
    fileprivate func maySend(_ ends: PortOwner.Ends?) -> Bool {
        if let listener, isPlain {
            var made = 0
            _ = sb_curl_get_long(handle, CURLINFO_NUM_CONNECTS, &made)
            stranger = checked.refusal(ends, listener, isNew: made > 0)
            guard stranger == nil else { return false }
        }
        sendings += 1
        return sendings == 1
    }
}

private let beforeRequest: sb_curl_before_request = { context, remote, local, remotePort, localPort in
    guard let context else { return CURL_PREREQFUNC_ABORT }
    let ends = PortOwner.Ends(remote, remotePort, local, localPort)
    return Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue().maySend(ends)
        ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
}

private let writeBody: sb_curl_data_function = { bytes, size, count, context in
    guard let bytes, let context else { return 0 }
    return context.assumingMemoryBound(to: Reply.self).pointee
        .takeBody(UnsafeRawBufferPointer(start: bytes, count: size * count))
}

private let writeHeader: sb_curl_data_function = { bytes, size, count, context in
    guard let bytes, let context else { return 0 }
    return context.assumingMemoryBound(to: Reply.self).pointee
        .takeHeader(UnsafeRawBufferPointer(start: bytes, count: size * count))
}
