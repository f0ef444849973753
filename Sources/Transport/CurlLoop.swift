import BridgeModel
import CCurl
import Glibc
import Locking

/// The thread that owns the multi handle and every transfer on it.
final class CurlLoop: @unchecked Sendable {
    // Unchecked: `multi` is thread-safe for `curl_multi_wakeup` alone, and that is all other threads do with it; everything
    // below it is touched by the loop's thread only, but for `thread`, which is written before the loop starts.
    private let multi: OpaquePointer?
    private let settings: CurlClient.Settings
    private let inbox: Locked<CurlClient.Inbox>
    private var thread = pthread_t()
    private var underWay: [UnsafeMutableRawPointer: Transfer] = [:]
    private var idle: [Transfer] = []
    private let headers = HeaderLists()
    /// Finished transfers whose handles are kept for the next request.
    private static let idleLimit = 64

    private static let isReady: Bool = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    init(settings: CurlClient.Settings, inbox: Locked<CurlClient.Inbox>) {
        precondition(Self.isReady, "libcurl could not be initialised")
        self.settings = settings
        self.inbox = inbox
        multi = OpaquePointer(curl_multi_init())
        let connections = settings.maximumConnections
        _ = sb_curl_multi_set_long(raw, CURLMOPT_MAX_TOTAL_CONNECTIONS, connections)
        _ = sb_curl_multi_set_long(raw, CURLMOPT_MAXCONNECTS, connections)
        // HTTP/2 multiplexing breaks when a connection is reused in 7.88.1: HTTP/1.1 alone.
        _ = sb_curl_multi_set_long(raw, CURLMOPT_PIPELINING, Int(CURLPIPE_NOTHING))
    }

    private var raw: UnsafeMutableRawPointer? { multi.map { UnsafeMutableRawPointer($0) } }

    var isCurrentThread: Bool { pthread_equal(thread, pthread_self()) != 0 }

    func wake() { _ = curl_multi_wakeup(raw) }

    func start() {
        // The loop holds itself until it has ended, so that closing never has to wait for it.
        let retained = Unmanaged.passRetained(self)
        let status = pthread_create(
            &thread, nil,
            { @Sendable pointer in
                guard let pointer else { return nil }
                Unmanaged<CurlLoop>.fromOpaque(pointer).takeRetainedValue().run()
                return nil
            }, retained.toOpaque())
        precondition(status == 0, "pthread_create failed with \(status)")
        pthread_detach(thread)
    }

    private func run() {
        thread = pthread_self()
        while true {
            let (jobs, isClosed) = takeJobs()
            if isClosed { return end(jobs) }
            for job in jobs { begin(job) }
            var running: Int32 = 0
            curl_multi_perform(raw, &running)
            // A completion may have begun the next exchange: it goes out before anybody sleeps.
            if completeFinished() { continue }
            curl_multi_poll(raw, nil, 0, 1_000, nil)
        }
    }

    private func takeJobs() -> ([CurlClient.Job], isClosed: Bool) {
        inbox.withLock { inbox in
            defer {
                inbox.jobs = []
                inbox.loopIsWoken = false
            }
            return (inbox.jobs, inbox.isClosed)
        }
    }

    private func begin(_ job: CurlClient.Job) {
        guard let transfer = idle.popLast() ?? Transfer(settings: settings) else {
            return job.completion(
                .failure(HTTPFailure(.other, "libcurl has no memory for a request", mayHaveBeenApplied: false)))
        }
        transfer.prepare(job.request, headers: headers.list(for: job.request.headers), completion: job.completion)
        underWay[transfer.handle] = transfer
        let status = curl_multi_add_handle(raw, transfer.handle)
        guard status == CURLM_OK else {
            underWay[transfer.handle] = nil
            return transfer.fail(
                HTTPFailure(.other, String(cString: curl_multi_strerror(status)), mayHaveBeenApplied: false))
        }
    }

    private func completeFinished() -> Bool {
        var any = false
        var code = CURLE_OK
        while let handle = sb_curl_next_done(raw, &code) {
            any = true
            guard let transfer = underWay.removeValue(forKey: handle) else { continue }
            curl_multi_remove_handle(raw, handle)
            let (completion, result) = transfer.finish(code)
            if idle.count < Self.idleLimit { idle.append(transfer) }
            completion?(result)
        }
        return any
    }

    private func end(_ jobs: [CurlClient.Job]) {
        for job in jobs {
            job.completion(.failure(HTTPFailure(.cancelled, "the client was closed", mayHaveBeenApplied: false)))
        }
        for transfer in underWay.values {
            curl_multi_remove_handle(raw, transfer.handle)
            transfer.fail(HTTPFailure(.cancelled, "the client was closed", mayHaveBeenApplied: true))
        }
        underWay = [:]
        idle = []
        curl_multi_cleanup(raw)
    }
}

/// The header lists of requests, kept as long as they are asked for again: a bridge sends the same few on every call.
final class HeaderLists {
    private var lists: [[HTTPHeader]: UnsafeMutablePointer<curl_slist>] = [:]
    /// Most calls carry the headers of the one before: comparing one array with itself costs nothing.
    private var last: (headers: [HTTPHeader], list: UnsafeMutablePointer<curl_slist>)?
    private static let limit = 16
    /// Lists that were replaced, freed with everything else: a transfer under way may still use one.
    private var retired: [UnsafeMutablePointer<curl_slist>] = []

    func list(for headers: [HTTPHeader]) -> UnsafeMutablePointer<curl_slist>? {
        if let last, last.headers == headers { return last.list }
        let list = lists[headers] ?? make(for: headers)
        last = list.map { (headers, $0) }
        return list
    }

    private func make(for headers: [HTTPHeader]) -> UnsafeMutablePointer<curl_slist>? {
        // No `Expect: 100-continue`: it would cost a round trip on larger bodies.
        var list = curl_slist_append(nil, "Expect:")
        for header in headers {
            // A line break would let a value become a header of its own.
            let line = "\(header.name): \(header.value)".filter { $0 != "\r" && $0 != "\n" && $0 != "\r\n" }
            list = curl_slist_append(list, line) ?? list
        }
        guard let list else { return nil }
        if lists.count >= Self.limit {
            retired += lists.values
            lists = [:]
        }
        lists[headers] = list
        return list
    }

    deinit {
        for list in lists.values { curl_slist_free_all(list) }
        for list in retired { curl_slist_free_all(list) }
    }
}
