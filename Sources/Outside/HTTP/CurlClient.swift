import CCurl
import Glibc
import Locking
package import Vocabulary

/// HTTP over libcurl: one thread drives all transfers, over a pool of keep-alive connections.
///
/// - libcurl repeats no request. It would send a POST again by itself when a reused connection dies before the first
///   byte of the response; `Transfer` gets a callback before each sending and forbids the second. The bridge makes and
///   counts every attempt itself.
/// - The loop's thread calls the completions. The next request of a completion needs no wake-up of the loop: a lane
///   whose calls follow one another never leaves the thread.
/// - Redirects are not followed, so that no token reaches another server. TLS is always verified.
package final class CurlClient: HTTPClient {
    package struct Settings: Sendable {
        package var maximumConnections = 64
        package var connectTimeout = Duration.seconds(5)
        /// CA file of a private authority, or nil for the system's store.
        package var authorityFile: String?
        /// SHA-256 of the DER of the one certificate accepted from servers, in place of authorities and names. Compared
        /// before any byte of a request is sent, and only for `https://`.
        package var leafPin: [UInt8]?
        /// Users trusted to listen at a plain address within this machine, checked with the kernel before a request is
        /// sent. Nil to skip the check.
        package var listener: ListenerTrust?
        /// Requests that may wait for the loop's thread; more are refused at once.
        package var queueLimit = 10_000
        /// Off, because HTTP/2 of libcurl 7.88.1 breaks when a connection is reused; for newer libraries, and servers
        /// that speak nothing else. Over TLS only, and only if the server agrees.
        package var http2 = false

        package init() {}
    }

    typealias Completion = @Sendable (Result<HTTPResponse, HTTPFailure>) -> Void

    struct Job {
        var request: HTTPRequest
        var meanwhile: (@Sendable () -> Void)?
        var completion: Completion
    }

    /// State shared by the loop's thread and its callers.
    struct Inbox {
        var jobs: [Job] = []
        /// New limit, until the loop applies it.
        var maximumConnections: Int?
        /// Why new requests are refused, or nil while the client is open.
        var closed: String?
        var loopIsWoken = false
        /// Nil before the loop runs and after it has ended, when there is no thread to wake.
        var loopThread: pthread_t?

        var hasNews: Bool { !jobs.isEmpty || closed != nil || maximumConnections != nil }
    }

    private let inbox: Locked<Inbox>
    private let settings: Settings
    private let loop: CurlLoop

    package init(settings: Settings = Settings()) {
        inbox = Locked(Inbox())
        self.settings = settings
        loop = CurlLoop(settings: settings, inbox: inbox)
        loop.start()
    }

    deinit { close() }

    package func send(
        _ request: HTTPRequest,
        completion: @escaping @Sendable (Result<HTTPResponse, HTTPFailure>) -> Void
    ) {
        enter(Job(request: request, completion: completion))
    }

    package func send(
        _ request: HTTPRequest, meanwhile: @escaping @Sendable () -> Void,
        completion: @escaping @Sendable (Result<HTTPResponse, HTTPFailure>) -> Void
    ) {
        enter(Job(request: request, meanwhile: meanwhile, completion: completion))
    }

    /// Changes the limit for later requests.
    package func use(maximumConnections: Int) {
        inbox.withLock { inbox in
            inbox.maximumConnections = maximumConnections
            loop.wake(&inbox)
        }
    }

    /// Ends the thread. Requests in flight complete as cancelled.
    package func close() {
        inbox.withLock { inbox in
            guard inbox.closed == nil else { return }
            inbox.closed = "the client is closed"
            loop.wake(&inbox)
        }
    }

    private func enter(_ job: Job) {
        let limit = settings.queueLimit
        let refusal: HTTPFailure? = inbox.withLock { inbox in
            if let closed = inbox.closed {
                return HTTPFailure(.cancelled, closed, mayHaveBeenApplied: false)
            }
            guard inbox.jobs.count < limit else {
                return HTTPFailure(
                    .other, "more than \(limit) requests wait already", mayHaveBeenApplied: false)
            }
            inbox.jobs.append(job)
            loop.wake(&inbox)
            return nil
        }
        if let refusal { job.completion(.failure(refusal)) }
    }
}
