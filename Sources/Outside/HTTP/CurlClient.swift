import CCurl
import Glibc
import Locking
package import Vocabulary

/// HTTP over libcurl: one thread of its own drives all transfers over a pool of keep-alive connections.
///
/// - Nothing is repeated by libcurl. It would send a POST again by itself when a reused connection dies before the first
///   byte of the answer; it is asked before each sending and forbids the second (`Transfer`). Every attempt is ours, and counted.
/// - Completions are called on the loop's thread. A completion that begins the next exchange does so without a wake-up of the loop:
///   a lane whose calls follow one another never leaves the thread.
/// - No redirect is followed, so that a token goes nowhere it was not meant for. TLS is always verified.
package final class CurlClient: HTTPClient {
    package struct Settings: Sendable {
        package var maximumConnections = 64
        package var connectTimeout = Duration.seconds(5)
        /// A file with the certificates of a private authority; nil: the system's.
        package var authorityFile: String?
        /// SHA-256 of the DER of the one certificate that servers may show, in place of authorities and names; compared before any
        /// byte of a request is sent. For `https://` alone.
        package var leafPin: [UInt8]?
        /// Asked of the kernel before a request is sent, where the connection is plain and within this machine; nil: it is not asked.
        package var listener: ListenerTrust?
        /// Exchanges beyond this are refused at once.
        package var queueLimit = 10_000
        /// Off, because in libcurl 7.88.1 HTTP/2 breaks when a connection is reused; for servers that speak nothing else,
        /// and newer libraries. Over TLS only, and only if the server agrees.
        package var http2 = false

        package init() {}
    }

    typealias Completion = @Sendable (Result<HTTPResponse, HTTPFailure>) -> Void

    struct Job {
        var request: HTTPRequest
        var meanwhile: (@Sendable () -> Void)?
        var completion: Completion
    }

    /// All that the loop's thread and the others share.
    struct Inbox {
        var jobs: [Job] = []
        /// To be set by the loop.
        var maximumConnections: Int?
        /// Why nothing is taken any more.
        var closed: String?
        var loopIsWoken = false
        /// Nil before the loop runs and after it has ended: there is no thread to wake.
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

    /// For the exchanges to come.
    package func use(maximumConnections: Int) {
        inbox.withLock { inbox in
            inbox.maximumConnections = maximumConnections
            loop.wake(&inbox)
        }
    }

    /// Ends the thread. What is under way completes as cancelled.
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
