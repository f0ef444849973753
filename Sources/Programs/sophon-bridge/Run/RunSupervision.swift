import BridgeService
import FoundationEssentials
import Locking
import Vocabulary

/// What a service manager hears of `run`: when it is ready, how it is, that it reads its configuration anew, that it ends, and a sign of
/// life with each beat of its pulse.
final class RunSupervision: Sendable {
    private struct State {
        var told: String?
        /// The manager has to hear that the bridge is ready: its queue was full when it was said.
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

    /// How long the manager waits for a sign of life; nil: it waits for none.
    var patience: Duration? { manager?.patience }

    /// The pause between two beats: four in the manager's time, and not more often than a person needs to know.
    var pace: Duration { min(Pulse.pace, max(Self.leastPace, patience.map { $0 / 4 } ?? Pulse.pace)) }
    private static let leastPace = Duration.milliseconds(50)

    func keep(_ pulse: Pulse) { state.withLock { $0.pulse = pulse } }
    func tellOfLife() { manager?.tell(.watchdog) }

    /// The first status also says that the bridge has begun: it works from here on, whichever side is away.
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
