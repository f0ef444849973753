import CMicrohttpd
import Glibc
import Locking

/// HTTP/1.1 for programs on the same machine, over libmicrohttpd: the simulator, and metrics and health.
///
/// One thread, the library's own, carries all connections and calls the handler; so the handler must not block. What takes
/// time is answered by a ticket, what goes on and on by an event stream; both may be fed from any thread. A WebSocket
/// connection leaves the library and gets a thread of its own.
///
/// States: *idle*, *running*, *stopped*. Can transition to: idle to running by `start`; idle and running to stopped by
/// `stop`. A stopped server stays stopped.
package final class LocalServer: Sendable {
    package struct Settings: Sendable {
        /// A body may have this many bytes; more is answered with 413.
        package var bodyLimit = 1_100_000
        /// More connections than this wait in the system's queue.
        package var connectionLimit = 2_048
        /// The limit of connections per address; 0 disables it. Excess connections are closed.
        package var connectionLimitPerAddress = 0
        /// A connection on which nothing moves is closed after this; event streams and tickets that wait do not count.
        package var idleSeconds = 120
        /// Lets other machines in. They can read and drive everything that the handler offers.
        package var allowsOtherMachines = false
        /// Refuses what web pages of other origins send (`Admission`). Only what holds no secret and changes nothing goes without.
        package var judgesCallers = true
        /// Host names under which the server may be addressed, besides `localhost` and numeric addresses.
        package var names: [String] = []
        /// The form of what the server refuses by itself: a status and a sentence.
        package var refusal: @Sendable (Int, String) -> LocalResponse = { .text($0, $1) }

        package init() {}
    }

    private enum State {
        case idle
        case running(Daemon, ListeningSocket)
        case stopped
    }

    private let address: ListenAddress
    private let settings: Settings
    private let engine: ServerEngine
    private let state: Locked<State>

    /// Checks the address; nothing is opened before `start`.
    package convenience init(
        listen: String, settings: Settings = Settings(),
        handler: @escaping @Sendable (LocalRequest) -> LocalAnswer
    ) throws(LocalServerError) {
        try self.init(at: ListenAddress(listen), settings: settings, handler: handler)
    }

    package init(
        at address: ListenAddress, settings: Settings = Settings(),
        handler: @escaping @Sendable (LocalRequest) -> LocalAnswer
    ) throws(LocalServerError) {
        self.address = address
        guard address.isLoopback || settings.allowsOtherMachines else {
            throw LocalServerError(
                .notLoopback,
                "listen address \(address) can be reached from other machines, which this server is not for; take "
                    + "127.0.0.1:\(address.port), and reach it from elsewhere by a tunnel such as ssh -L")
        }
        self.settings = settings
        engine = ServerEngine(
            admission: settings.judgesCallers ? Admission(names: settings.names) : nil, bodyLimit: settings.bodyLimit,
            refusal: settings.refusal,
            handler: handler)
        state = Locked(.idle)
    }

    deinit { stop() }

    package func start() throws(LocalServerError) {
        let listening = try ListeningSocket(address)
        let started = state.withLock { state in
            guard case .idle = state,
                let library = startLibrary(listening, settings, engine: engine)
            else { return false }
            state = .running(library, listening)
            return true
        }
        guard started else {
            close(listening.descriptor)
            listening.file?.remove()
            throw LocalServerError(
                .startFailed,
                "cannot start the server on \(address): it was started before, or the system has no thread or descriptor "
                    + "left; see `ulimit -n`")
        }
    }

    /// The port in force, 0 while not running.
    package var port: Int {
        state.withLock { state in
            if case .running(_, let listening) = state { return Int(listening.port) }
            return 0
        }
    }

    /// `http://127.0.0.1:8787`, without a slash at the end.
    package var baseURL: String {
        "http://\(ListenAddress.authority(host: address.host, family: address.family, port: UInt16(port)))"
    }

    /// Refuses new requests, wakes all that waits, and returns when every connection is closed. Not to be called from the
    /// handler or from a WebSocket's: it waits for their threads. Calling it again does nothing.
    package func stop() {
        let running: (library: Daemon, listening: ListeningSocket)? = state.withLock { state in
            defer { state = .stopped }
            if case .running(let library, let listening) = state { return (library, listening) }
            return nil
        }
        guard let (library, listening) = running else { return }
        listening.file?.remove()
        // Not `MHD_quiesce_daemon`: both it and the library's thread then remove the listening socket from the epoll set,
        // and if the thread comes second, the library aborts the process (0.9.75). `MHD_stop_daemon` closes that socket.
        engine.stop()
        engine.sockets.waitUntilAllAreClosed()
        MHD_stop_daemon(library.pointer)
    }
}
