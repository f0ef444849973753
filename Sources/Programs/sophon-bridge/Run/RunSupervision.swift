import BridgeService
import FoundationEssentials
import Locking
import Vocabulary

/// The notifications of `run` to a service manager: readiness, status, reloads, the end, and a watchdog ping per beat of the pulse.
final class RunSupervision: Sendable {
    private struct State {
        var told: String?
        /// READY=1 is pending: it was never sent, or the manager's queue was full.
        var owesReady = true
        var pulse: Pulse?
    }

    private let manager: ServiceManager?
    private let state = Locked(State())

    init() {
        let environment = ProcessInfo.processInfo.environment
        manager = ServiceManager(
            socket: environment["NOTIFY_SOCKET"], watchdogMicroseconds: environment["WATCHDOG_USEC"],
            watchdogProcess: environment["WATCHDOG_PID"])
    }

    /// The watchdog's timeout, or nil if it is off.
    var patience: Duration? { manager?.patience }

    /// The interval of beats: a quarter of the watchdog's timeout, within bounds.
    var pace: Duration { min(Pulse.pace, max(Self.leastPace, patience.map { $0 / 4 } ?? Pulse.pace)) }
    private static let leastPace = Duration.milliseconds(50)

    func keep(_ pulse: Pulse) { state.withLock { $0.pulse = pulse } }
    func tellOfLife() { manager?.tell(.watchdog) }

    /// Sends READY=1 with the first status: the bridge is started even if a side is unreachable.
    func tell(_ status: BridgeStatus) {
        guard let manager else { return }
        let line = StatusText.line(status)
        let (told, owesReady) = state.withLock { ($0.told, $0.owesReady) }
        guard owesReady || told != line else { return }
        let isTaken = owesReady ? manager.tell(.ready, .status(line)) : manager.tell(.status(line))
        if isTaken { state.withLock { ($0.told, $0.owesReady) = (line, false) } }
    }

    func reload(_ body: () -> Void) {
        manager?.tell(.reloading(since: ServiceManager.monotonicMicroseconds))
        body()
        guard let manager, !manager.tell(.ready) else { return }
        state.withLock { $0.owesReady = true }
    }

    func stopping() { manager?.tell(.stopping) }
    func stop() { state.withLock { $0.pulse.take() }?.stop() }
}
