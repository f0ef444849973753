import CCurl
import Glibc
import Locking
import Vocabulary

/// The thread that owns the multi handle and every transfer on it.
final class CurlLoop: @unchecked Sendable {
    // Unchecked: other threads call nothing but `curl_multi_wakeup` on `multi`, which libcurl documents as thread-safe,
    // under the inbox's lock and only while the loop runs. The loop's thread alone touches everything else.
    private let multi: OpaquePointer?
    private let settings: CurlClient.Settings
    private let inbox: Locked<CurlClient.Inbox>
    private var underWay: [UnsafeMutableRawPointer: Transfer] = [:]
    private var idle: [Transfer] = []
    private let checked = CheckedConnections()
    /// Called completions. Releasing their captures waits until the requests that they began have left.
    private var told: [CurlClient.Completion] = []
    /// Work that runs while the requests are in flight.
    private var meanwhile: [@Sendable () -> Void] = []
    private let headers = HeaderLists()
    private let addresses = ParsedAddresses()
    /// Finished transfers whose handles are kept for the next request.
    private static let idleLimit = 64

    private static let isReady: Bool = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    init(settings: CurlClient.Settings, inbox: Locked<CurlClient.Inbox>) {
        precondition(Self.isReady, "libcurl could not be initialised")
        self.settings = settings
        self.inbox = inbox
        multi = OpaquePointer(curl_multi_init())
        allow(connections: settings.maximumConnections)
        let sharing = settings.http2 ? Int(CURLPIPE_MULTIPLEX) : Int(CURLPIPE_NOTHING)
        _ = sb_curl_multi_set_long(raw, CURLMOPT_PIPELINING, sharing)
    }

    private func allow(connections: Int) {
        _ = sb_curl_multi_set_long(raw, CURLMOPT_MAX_TOTAL_CONNECTIONS, connections)
        _ = sb_curl_multi_set_long(raw, CURLMOPT_MAXCONNECTS, connections)
    }

    private var raw: UnsafeMutableRawPointer? { multi.map { UnsafeMutableRawPointer($0) } }

    /// The caller holds the inbox's lock, so that the handle cannot be freed. The call writes one byte and never blocks.
    func wake(_ inbox: inout CurlClient.Inbox) {
        guard !inbox.loopIsWoken else { return }
        inbox.loopIsWoken = true
        // The loop checks the inbox before it sleeps, so its own thread needs no wake-up.
        guard let thread = inbox.loopThread, pthread_equal(thread, pthread_self()) == 0 else { return }
        _ = curl_multi_wakeup(raw)
    }

    func start() {
        // The thread retains the loop until it has ended, so that `close` never waits for it.
        let retained = Unmanaged.passRetained(self)
        var thread = pthread_t()
        let status = pthread_create(
            &thread, nil,
            { @Sendable pointer in
                guard let pointer else { return nil }
                Unmanaged<CurlLoop>.fromOpaque(pointer).takeRetainedValue().run()
                return nil
            }, retained.toOpaque())
        guard status == 0 else {
            retained.release()
            curl_multi_cleanup(raw)
            return inbox.withLock {
                $0.closed =
                    "the system has no thread left for the client: \(String(cString: strerror(status)))"
            }
        }
        pthread_detach(thread)
    }

    private func run() {
        inbox.withLock { $0.loopThread = pthread_self() }
        while true {
            let news = takeNews()
            if news.isClosed { return end(news.jobs) }
            if let connections = news.connections { allow(connections: connections) }
            for job in news.jobs { begin(job) }
            var running: Int32 = 0
            curl_multi_perform(raw, &running)
            told.removeAll(keepingCapacity: true)
            completeFinished()
            // A completion may have begun the next request, which must leave before the loop sleeps. Anything queued
            // after this check wakes the poll.
            if inbox.withLock({ $0.hasNews }) { continue }
            told.removeAll(keepingCapacity: true)
            for work in meanwhile { work() }
            meanwhile.removeAll(keepingCapacity: true)
            curl_multi_poll(raw, nil, 0, 1_000, nil)
        }
    }

    private struct News {
        var jobs: [CurlClient.Job]
        var connections: Int?
        var isClosed: Bool
    }

    private func takeNews() -> News {
        inbox.withLock { inbox in
            let news = News(
                jobs: inbox.jobs, connections: inbox.maximumConnections.take(), isClosed: inbox.closed != nil)
            inbox.jobs = []
            inbox.loopIsWoken = false
            return news
        }
    }

    private func begin(_ job: CurlClient.Job) {
        guard let transfer = idle.popLast() ?? Transfer(settings: settings, checked: checked) else {
            return job.completion(
                .failure(
                    HTTPFailure(.other, "libcurl has no memory for a request", mayHaveBeenApplied: false)))
        }
        guard transfer.mayBeUsed else {
            return job.completion(
                .failure(HTTPFailure(.tlsFailed, LeafPin.unusable, mayHaveBeenApplied: false)))
        }
        transfer.prepare(
            job, headers: headers.list(for: job.request.headers),
            address: addresses.address(of: job.request))
        underWay[transfer.handle] = transfer
        if let work = job.meanwhile { meanwhile.append(work) }
        let status = curl_multi_add_handle(raw, transfer.handle)
        guard status == CURLM_OK else {
            underWay[transfer.handle] = nil
            return transfer.fail(
                HTTPFailure(.other, String(cString: curl_multi_strerror(status)), mayHaveBeenApplied: false)
            )
        }
    }

    private func completeFinished() {
        var code = CURLE_OK
        while let handle = sb_curl_next_done(raw, &code) {
            guard let transfer = underWay.removeValue(forKey: handle) else { continue }
            curl_multi_remove_handle(raw, handle)
            let (completion, result) = transfer.finish(code)
            if idle.count < Self.idleLimit { idle.append(transfer) }
            guard let completion else { continue }
            completion(result)
            told.append(completion)
        }
    }

    private func end(_ jobs: [CurlClient.Job]) {
        for job in jobs {
            job.completion(
                .failure(HTTPFailure(.cancelled, "the client was closed", mayHaveBeenApplied: false)))
        }
        for transfer in underWay.values {
            curl_multi_remove_handle(raw, transfer.handle)
            transfer.fail(
                HTTPFailure(.cancelled, "the client was closed", mayHaveBeenApplied: transfer.mayHaveLeft))
        }
        underWay = [:]
        idle = []
        // Clearing `loopThread` stops all wake-ups, so that the handle can be freed.
        inbox.withLock { $0.loopThread = nil }
        curl_multi_cleanup(raw)
    }
}

/// Header lists by their headers, reused between requests: a bridge sends the same few on every call.
final class HeaderLists {
    private var lists: [[HTTPHeader]: UnsafeMutablePointer<curl_slist>] = [:]
    /// Most calls have the headers of the previous one, and comparing an array with itself costs nothing.
    private var last: (headers: [HTTPHeader], list: UnsafeMutablePointer<curl_slist>)?
    private static let limit = 16
    /// Replaced lists, freed in `deinit`: a transfer in flight may still use one.
    private var retired: [UnsafeMutablePointer<curl_slist>] = []

    func list(for headers: [HTTPHeader]) -> UnsafeMutablePointer<curl_slist>? {
        if let last, last.headers == headers { return last.list }
        let list = lists[headers] ?? make(for: headers)
        last = list.map { (headers, $0) }
        return list
    }

    private func make(for headers: [HTTPHeader]) -> UnsafeMutablePointer<curl_slist>? {
        // libcurl sends `Expect: 100-continue` above 1 MB only, which is more than the relay accepts
        // (relay.md#size-limits). Any response is read, so `Accept` is left out.
        var list = curl_slist_append(nil, "Accept:")
        for header in headers {
            // A line break would turn a value into a header of its own.
            let line = "\(header.name): \(header.value)".filter {
                $0 != "\r" && $0 != "\n" && $0 != "\r\n"
            }
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
