package import BridgeModel
import CCurl
import Glibc
import Locking

/// HTTP over libcurl: one thread of its own drives all transfers over a pool of keep-alive connections.
///
/// - Nothing is repeated by libcurl. It would send a POST again by itself when a reused connection dies before the first
///   byte of the answer; it is asked before each sending and forbids the second (`Transfer`). Every attempt is ours, and counted.
/// - Completions are called on the loop's thread. A completion that begins the next exchange does so without waking anybody:
///   a lane whose calls follow one another never leaves the thread.
/// - No redirect is followed, so that a token goes nowhere it was not meant for. TLS is always verified.
package final class CurlClient: HTTPClient {
    package struct Settings: Sendable {
        package var maximumConnections = 64
        package var connectTimeout = Duration.seconds(5)
        /// A file with the certificates of a private authority; nil: the system's.
        package var authorityFile: String?
        /// Exchanges beyond this are refused at once.
        package var queueLimit = 10_000

        package init() {}
    }

    typealias Completion = @Sendable (Result<HTTPResponse, HTTPFailure>) -> Void

    struct Job {
        var request: HTTPRequest
        var completion: Completion
    }

    struct Inbox {
        var jobs: [Job] = []
        var isClosed = false
        var loopIsWoken = false
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
        _ request: HTTPRequest, completion: @escaping @Sendable (Result<HTTPResponse, HTTPFailure>) -> Void
    ) {
        let limit = settings.queueLimit
        enum Entry { case wake, queued, closed, full }
        let entry: Entry = inbox.withLock { inbox in
            guard !inbox.isClosed else { return .closed }
            guard inbox.jobs.count < limit else { return .full }
            inbox.jobs.append(Job(request: request, completion: completion))
            guard !inbox.loopIsWoken else { return .queued }
            inbox.loopIsWoken = true
            return .wake
        }
        switch entry {
        case .wake: if !loop.isCurrentThread { loop.wake() }
        case .queued: break
        case .closed: completion(.failure(HTTPFailure(.cancelled, "the client is closed", mayHaveBeenApplied: false)))
        case .full:
            completion(
                .failure(HTTPFailure(.other, "more than \(limit) requests wait already", mayHaveBeenApplied: false)))
        }
    }

    /// Ends the thread. What is under way completes as cancelled.
    package func close() {
        let first = inbox.withLock { inbox in
            defer { inbox.isClosed = true }
            return !inbox.isClosed
        }
        if first { loop.wake() }
    }
}
