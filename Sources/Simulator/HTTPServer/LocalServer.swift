import CMicrohttpd
import Glibc
import Locking

/// HTTP/1.1 for programs on the same machine, over libmicrohttpd: the simulator, and metrics and health.
///
/// One thread, the library's own, carries all connections and calls the handler; so the handler must not block. A ticket answers a slow request, an
/// event stream an endless one; any thread may feed both. A WebSocket connection leaves the library and gets a thread of its own.
///
/// States: *idle*, *running*, *stopped*. Can transition to: idle to running by `start`; idle and running to stopped by
/// `stop`. A stopped server stays stopped.
package final class LocalServer: Sendable {
    package struct Settings: Sendable {
        /// Largest body in bytes; a larger one is answered with 413.
        package var bodyLimit = 1_100_000
        /// Largest number of connections; further ones wait in the system's queue.
        package var connectionLimit = 2_048
        /// Limit of connections per address, or 0 for none. Excess connections are closed.
        package var connectionLimitPerAddress = 0
        /// Idle time after which a connection is closed; event streams and waiting tickets do not count.
        package var idleSeconds = 120
        /// Admits other machines. They can read and drive everything that the handler offers.
        package var allowsOtherMachines = false
        /// Refuses requests of web pages of other origins (`Admission`). Only a server without secrets and changes may disable it.
        package var judgesCallers = true
        /// Host names of the server, besides `localhost` and numeric addresses.
        package var names: [String] = []
        /// Makes the server's own refusals from a status and a sentence.
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

    /// Checks the address; `start` opens the socket.
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

    /// The port in force, or 0 while the server does not run.
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

    /// Refuses new requests, wakes all waiting ones, and returns when every connection is closed. The handler and
    /// WebSockets' handlers must not call it: it waits for their threads. A second call does nothing.
    package func stop() {
        let running: (library: Daemon, listening: ListeningSocket)? = state.withLock { state in
            defer { state = .stopped }
            if case .running(let library, let listening) = state { return (library, listening) }
            return nil
        }
        guard let (library, listening) = running else { return }
        listening.file?.remove()
        // Not `MHD_quiesce_daemon`: both it and the library's thread then remove the listening socket from the epoll set, and if the
        // thread comes second, the library aborts the process (0.9.75). `MHD_stop_daemon` closes that socket.
        engine.stop()
        engine.sockets.waitUntilAllAreClosed()
        MHD_stop_daemon(library.pointer)
    }
}
