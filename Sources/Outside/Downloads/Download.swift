import CCurl
import Glibc
import OSThreads
import Vocabulary

/// One GET request for one file, from its address into the spool, on the caller's thread. Redirects are returned, not followed.
///
/// - The address check happens when libcurl connects, not before: DNS may answer differently the second time.
/// - The request carries nothing of the bridge: no token, no cookie, no user name from the address, no referrer.
/// - Compressed responses are neither requested nor accepted: no content coding, and no transfer coding but chunked,
///   since libcurl would decode others unasked.
final class Download {
    enum Outcome {
        case whole(served: String?)
        /// The server redirects to this address, which the caller checks before it follows.
        case redirect(String)
    }

    private let handle: UnsafeMutableRawPointer
    private let settings: FetchSettings
    private let address: FetchAddress
    private let file: SpooledFile
    /// Byte limit of this download, and the problem to report when the response exceeds it.
    private let limit: (bytes: Int, passed: FetchProblem)
    private let isCancelled: @Sendable () -> Bool
    private var lists: [UnsafeMutablePointer<curl_slist>] = []

    private(set) var prefix: [UInt8] = []
    private var served: String?
    private var isPacked = false
    /// The body has begun: headers from here on are trailers, and are ignored.
    private var hasBody = false
    /// Whether an address of the host was refused, and whether another one got a socket.
    private var sockets = (refused: false, opened: false)
    private var headerBytes = 0
    private var unread = 0
    private static let unreadLimit = 65_536
    private var problem: FetchProblem?
    private static let isReady: Bool = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    init(
        _ address: FetchAddress, into file: SpooledFile, atMost limit: (bytes: Int, passed: FetchProblem),
        _ settings: FetchSettings, isCancelled: @escaping @Sendable () -> Bool
    ) throws(FetchProblem) {
        guard Self.isReady, let handle = curl_easy_init() else { throw .noThread }
        self.handle = handle
        self.settings = settings
        self.address = address
        self.file = file
        self.limit = limit
        self.isCancelled = isCancelled
    }

    deinit {
        curl_easy_cleanup(handle)
        for list in lists { curl_slist_free_all(list) }
    }

    func run(for time: Duration) throws(FetchProblem) -> Outcome {
        let milliseconds = Int(time.nanoseconds / 1_000_000)
        guard milliseconds > 0 else { throw .tooSlow }
        prepare(milliseconds)
        let code = curl_easy_perform(handle)
        if isCancelled() { throw .cancelled }
        if let problem { throw problem }
        var status = 0
        _ = sb_curl_get_long(handle, CURLINFO_RESPONSE_CODE, &status)
        guard code == CURLE_OK else {
            // A host can have several addresses. Blame the refused one only if no permitted one was connected to.
            if sockets.refused, !sockets.opened || code == CURLE_COULDNT_CONNECT { throw .privateAddress }
            throw problem(of: code)
        }
        switch status {
        case 200: return .whole(served: served)
        case 301, 302, 303, 307, 308:
            var next: UnsafeMutablePointer<CChar>?
            _ = sb_curl_get_pointer(handle, CURLINFO_REDIRECT_URL, &next)
            guard let next else { throw .status(status) }
            return .redirect(String(cString: next))
        default: throw .status(status)
        }
    }

    private func prepare(_ milliseconds: Int) {
        let options: [(CURLoption, Int)] = [
            (CURLOPT_NOSIGNAL, 1), (CURLOPT_HTTPGET, 1), (CURLOPT_FOLLOWLOCATION, 0), (CURLOPT_QUICK_EXIT, 1),
            (CURLOPT_SSL_VERIFYPEER, 1), (CURLOPT_SSL_VERIFYHOST, 2), (CURLOPT_FORBID_REUSE, 1),
            (CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1)), (CURLOPT_BUFFERSIZE, 65_536),
            (CURLOPT_CONNECTTIMEOUT_MS, min(10_000, milliseconds)), (CURLOPT_TIMEOUT_MS, milliseconds),
            (CURLOPT_LOW_SPEED_LIMIT, settings.leastPace.bytes),
            (CURLOPT_LOW_SPEED_TIME, max(1, Int(settings.leastPace.over.nanoseconds / 1_000_000_000))),
            (CURLOPT_MAXFILESIZE_LARGE, limit.bytes), (CURLOPT_NOPROGRESS, 0),
        ]
        for (option, value) in options { _ = sb_curl_set_long(handle, option, value) }
        _ = sb_curl_set_pointer(handle, CURLOPT_CURLU, UnsafeMutableRawPointer(address.handle))
        _ = sb_curl_set_text(handle, CURLOPT_PROTOCOLS_STR, address.scheme)
        // A proxy would resolve the name by itself, which bypasses the address check. The relay's address is not checked.
        if !address.isRelay { _ = sb_curl_set_text(handle, CURLOPT_NOPROXY, "*") }
        if let authority = address.isRelay ? settings.authorityFile : settings.foreignAuthorityFile {
            _ = sb_curl_set_text(handle, CURLOPT_CAINFO, authority)
        }
        if !settings.resolve.isEmpty {
            var list: UnsafeMutablePointer<curl_slist>?
            for entry in settings.resolve { list = curl_slist_append(list, entry) }
            if let list { lists.append(list) }
            _ = sb_curl_set_list(handle, CURLOPT_RESOLVE, list)
        }
        let context = Unmanaged.passUnretained(self).toOpaque()
        _ = sb_curl_set_pointer(handle, CURLOPT_OPENSOCKETDATA, context)
        _ = sb_curl_set_open_socket(handle, openSocket)
        _ = sb_curl_set_pointer(handle, CURLOPT_WRITEDATA, context)
        _ = sb_curl_set_data_function(handle, CURLOPT_WRITEFUNCTION, takeBody)
        _ = sb_curl_set_pointer(handle, CURLOPT_HEADERDATA, context)
        _ = sb_curl_set_data_function(handle, CURLOPT_HEADERFUNCTION, takeHeader)
        _ = sb_curl_set_pointer(handle, CURLOPT_XFERINFODATA, context)
        _ = sb_curl_set_progress(handle, progress)
    }

    private func problem(of code: CURLcode) -> FetchProblem {
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST: FetchProblem("the server's name could not be found")
        case CURLE_COULDNT_CONNECT: FetchProblem("the server could not be reached")
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CERTPROBLEM,
            CURLE_SSL_CIPHER, CURLE_SSL_ISSUER_ERROR:
            FetchProblem("the server could not show who it is (TLS)")
        case CURLE_OPERATION_TIMEDOUT: .tooSlow
        case CURLE_FILESIZE_EXCEEDED: limit.passed
        case CURLE_PARTIAL_FILE, CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_GOT_NOTHING: .lost
        case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL: .badAddress
        default: .unreadable
        }
    }

    // MARK: Called by libcurl, on this thread

    /// Socket for an address that libcurl is about to connect to, or -1 to refuse it.
    fileprivate func socket(for address: UnsafeMutablePointer<curl_sockaddr>) -> Int32 {
        let (family, kind, number) = (address.pointee.family, address.pointee.socktype, address.pointee.protocol)
        if !self.address.isRelay {
            guard let host = Self.host(address), settings.isAllowed(host) else {
                sockets.refused = true
                return -1
            }
        }
        sockets.opened = true
        return Glibc.socket(family, kind | Int32(SOCK_CLOEXEC.rawValue), number)
    }

    private static func host(_ address: UnsafeMutablePointer<curl_sockaddr>) -> NumericAddress? {
        guard let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr) else { return nil }
        // `curl_sockaddr` ends in a `sockaddr` whose length depends on the family.
        let bytes = UnsafeRawPointer(address) + offset
        let length = Int(address.pointee.addrlen)
        switch address.pointee.family {
        case AF_INET where length >= MemoryLayout<sockaddr_in>.size:
            let start = MemoryLayout<sockaddr_in>.offset(of: \.sin_addr) ?? 4
            return .version4((0..<4).map { bytes.load(fromByteOffset: start + $0, as: UInt8.self) })
        case AF_INET6 where length >= MemoryLayout<sockaddr_in6>.size:
            let start = MemoryLayout<sockaddr_in6>.offset(of: \.sin6_addr) ?? 8
            return .version6(
                (0..<8).map { group in
                    let high = bytes.load(fromByteOffset: start + 2 * group, as: UInt8.self)
                    let low = bytes.load(fromByteOffset: start + 2 * group + 1, as: UInt8.self)
                    return UInt16(high) << 8 | UInt16(low)
                })
        default: return nil
        }
    }

    /// Returns fewer bytes than given to end the transfer.
    fileprivate func header(_ bytes: UnsafeRawBufferPointer) -> Int {
        headerBytes += bytes.count
        guard headerBytes <= Self.unreadLimit else {
            problem = .unreadable
            return 0
        }
        if !hasBody { read(bytes) }
        return bytes.count
    }

    private func read(_ bytes: UnsafeRawBufferPointer) {
        let line = String(decoding: bytes, as: UTF8.self)
        guard let colon = line.firstIndex(of: ":") else {
            // A status line begins another response: the previous one was interim (1xx).
            if line.hasPrefix("HTTP/") { (served, isPacked) = (nil, false) }
            return
        }
        let value = line[line.index(after: colon)...].filter { !$0.isWhitespace }
        switch line[..<colon].lowercased() {
        case "content-type": served = value
        // Any header with a coding marks the response as packed; a later `identity` does not undo it.
        case "content-encoding": isPacked = isPacked || !value.isEmpty && value.lowercased() != "identity"
        case "transfer-encoding": isPacked = isPacked || value.lowercased() != "chunked"
        default: break
        }
    }

    /// Returns fewer bytes than given to end the transfer.
    fileprivate func body(_ bytes: UnsafeRawBufferPointer) -> Int {
        hasBody = true
        var status = 0
        _ = sb_curl_get_long(handle, CURLINFO_RESPONSE_CODE, &status)
        // The body of a redirect or refusal is skipped; `CURLINFO_REDIRECT_URL` is known only when the transfer has ended.
        guard status == 200 else {
            unread += bytes.count
            if unread > Self.unreadLimit { problem = .status(status) }
            return unread > Self.unreadLimit ? 0 : bytes.count
        }
        do throws(FetchProblem) {
            if isPacked { throw .packed }
            guard file.size + bytes.count <= limit.bytes else { throw limit.passed }
            if prefix.count < KindOfFile.prefixLength {
                prefix += bytes.prefix(KindOfFile.prefixLength - prefix.count)
            }
            try file.append(bytes)
            return bytes.count
        } catch {
            problem = error
            return 0
        }
    }

    fileprivate var mustStop: Bool { isCancelled() }
}

private func download(_ context: UnsafeMutableRawPointer) -> Download {
    Unmanaged<Download>.fromOpaque(context).takeUnretainedValue()
}

private let openSocket: sb_curl_open_socket = { context, _, address in
    guard let context, let address else { return -1 }
    return download(context).socket(for: address)
}

private let takeBody: sb_curl_data_function = { bytes, size, count, context in
    guard let bytes, let context else { return 0 }
    return download(context).body(UnsafeRawBufferPointer(start: bytes, count: size * count))
}

private let takeHeader: sb_curl_data_function = { bytes, size, count, context in
    guard let bytes, let context else { return 0 }
    return download(context).header(UnsafeRawBufferPointer(start: bytes, count: size * count))
}

private let progress: sb_curl_progress = { context, _, _, _, _ in
    guard let context else { return 1 }
    return download(context).mustStop ? 1 : 0
}
