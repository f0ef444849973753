import BridgeService
import Children
import Commands
import Glibc
import Journal
import LocalServer
import Locking
import Metrics
import Vocabulary

/// `/metrics`, `/healthz` and `/readyz`, for programs that watch over the bridge.
///
/// The server's own thread answers questions of health without the lock of a machine, so that it answers even if one is never released. A thread
/// that may block reads the figures of a page, once for all waiting scrapes.
final class MetricsEndpoint: Sendable {
    private struct State {
        var connections: [LiveConnection] = []
        var pulse: Pulse?
        var isEnding = false
        var isStateWritable = true
        /// Scrapes that wait for their page.
        var waiting: [ResponseTicket] = []
    }

    private static let connectionLimit = 16
    /// Keeps connections free for the paths that need not wait.
    private static let waitingLimit = 8
    private static let paths: Set<Substring> = ["/metrics", "/healthz", "/readyz"]

    let meter: Meter
    private let directory: String
    private let board: StatusBoard
    private let output: Output
    private let alarm: SystemAlarm
    private let state = Locked(State())
    private let server = Locked<LocalServer?>(nil)

    /// The initializer fails if `metrics` is unset, and throws if the listener cannot be bound.
    init?(_ configuration: Configuration, _ board: StatusBoard, _ output: Output, _ log: Log) throws {
        guard let place = configuration.metrics else { return nil }
        meter = Meter(connections: configuration.connections.map(\.name))
        directory = configuration.stateDirectory
        self.board = board
        self.output = output
        alarm = try SystemAlarm()
        var settings = LocalServer.Settings()
        settings.bodyLimit = 1_024
        settings.connectionLimit = Self.connectionLimit
        settings.connectionLimitPerAddress = Self.connectionLimit / 2
        settings.idleSeconds = 10
        settings.allowsOtherMachines = true
        settings.judgesCallers = false
        do {
            let address = try Self.address(place)
            let server = try LocalServer(at: address, settings: settings) { [weak self] in
                self?.answer($0) ?? .reset
            }
            try server.start()
            self.server.withLock { $0 = server }
            log.info("metrics and health are served", [("address", .text(place))])
            if !address.isLoopback {
                log.warning(
                    "metrics and health can be read from other machines",
                    [("address", .text(place)), ("remedy", .text("where nobody needs them there, take 127.0.0.1"))])
            }
        } catch {
            throw CommandFailure(starting: error, "metrics: ", mayChange: true)
        }
    }

    private static func address(_ place: String) throws(LocalServerError) -> ListenAddress {
        guard place.hasPrefix("unix:") else { return try ListenAddress(place) }
        return ListenAddress(socket: String(place.dropFirst("unix:".count)))
    }

    func watch(_ connections: [LiveConnection], _ pulse: Pulse) {
        state.withLock { ($0.connections, $0.pulse) = (connections, pulse) }
    }

    /// Records the result of the newest status write. A probe reads it in place of the disk, which may block.
    func wroteStatus(_ isWritten: Bool) { state.withLock { $0.isStateWritable = isWritten } }

    /// The bridge drains: `/readyz` refuses from this call on.
    func ends() { state.withLock { $0.isEnding = true } }

    func stop() {
        // Stop the server outside the lock: stopping waits for its thread.
        server.withLock { $0.take() }?.stop()
        alarm.stop()
    }

    // MARK: On the server's thread

    private func answer(_ request: LocalRequest) -> LocalAnswer {
        guard Self.paths.contains(request.path) else {
            return .whole(.text(404, "There are /metrics, /healthz and /readyz."))
        }
        guard request.method == "GET" || request.method == "HEAD" else {
            var refusal = LocalResponse.text(405, "This is only read.")
            refusal.headers.append(LocalHeader("Allow", "GET, HEAD"))
            return .whole(refusal)
        }
        switch request.path {
        case "/healthz": return .whole(health)
        case "/readyz": return .whole(readiness)
        default: return page()
        }
    }

    private var health: LocalResponse {
        let pulse = state.withLock { $0.pulse }
        guard let pulse, !pulse.isBeating else { return .text(200, "ok") }
        return .text(503, "the bridge has not turned for \(pulse.silence.nanoseconds / 1_000_000_000) s")
    }

    private var readiness: LocalResponse {
        let (isStateWritable, isEnding) = state.withLock { ($0.isStateWritable, $0.isEnding) }
        var lines = Health.hindrances(board.status { _ in nil }, isStateWritable: isStateWritable)
        if isEnding { lines.append("the bridge ends") }
        return lines.isEmpty ? .text(200, "ok") : .text(503, lines.joined(separator: "\n"))
    }

    private func page() -> LocalAnswer {
        let ticket = ResponseTicket()
        let isTaken = state.withLock { state in
            guard state.waiting.count < Self.waitingLimit else { return false }
            state.waiting.append(ticket)
            return true
        }
        guard isTaken else { return .whole(.text(503, "Too many scrapes wait.")) }
        alarm.set(SystemClock().now) { [weak self] in self?.answerAll() }
        return .deferred(ticket)
    }

    // MARK: On the alarm's thread

    private func answerAll() {
        let (waiting, connections) = state.withLock { state in
            defer { state.waiting = [] }
            return (state.waiting, state.connections)
        }
        guard !waiting.isEmpty else { return }
        let response = LocalResponse(
            status: 200, headers: [LocalHeader("Content-Type", MetricsText.contentType)],
            body: Array(figures(connections).page(meter).utf8))
        for ticket in waiting { ticket.answer(.whole(response)) }
    }

    private func figures(_ connections: [LiveConnection]) -> MetricFigures {
        var figures = MetricFigures(version: HelpText.version)
        let status = board.status { _ in nil }
        figures.connections = status.connections.map { known in
            var connection = MetricFigures.Connection(ConnectionName(known.name))
            (connection.relayIsUp, connection.agentIsUp) = (known.relay.isUp, known.agent.link.isUp)
            connection.bridge = connections.first { $0.name == connection.name }?.figures
            return connection
        }
        figures.agentProcesses = ProcessTable.living(connections.flatMap(\.processes)).count
        figures.heldBytes = connections.reduce(0) { $0 + $1.heldBytes.total }
        figures.journalBytes = Journal.bytes(in: directory)
        figures.logLinesDropped = output.logLinesDropped
        figures.residentBytes = Self.residentBytes
        return figures
    }

    /// Resident bytes from the second number of `statm`, in pages (proc(5)), or 0 without `/proc`.
    private static var residentBytes: Int {
        let descriptor = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return 0 }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 128)
        let count = read(descriptor, &bytes, bytes.count)
        let fields = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).split(separator: " ")
        return fields.count > 1 ? (Int(fields[1]) ?? 0) * Int(sysconf(Int32(_SC_PAGESIZE))) : 0
    }
}
