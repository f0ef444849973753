import BridgeService
import FoundationEssentials
import Locking
import Vocabulary

/// What a service manager hears of `run`: when it is ready, how it is, that it reads its configuration anew, that it ends, and a sign of
/// life with each beat of its pulse.
final class RunSupervision: Sendable {
    private struct State {
        var told: String?
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
    var pace: Duration { min(Pulse.pace, patience.map { $0 / 4 } ?? Pulse.pace) }

    func keep(_ pulse: Pulse) { state.withLock { $0.pulse = pulse } }
    func tellOfLife() { manager?.tell(.watchdog) }

    /// The first status also says that the bridge has begun: it works from here on, whichever side is away.
    func tell(_ status: BridgeStatus) {
        guard let manager else { return }
        let line = StatusText.line(status)
        let before = state.withLock { state in
            defer { state.told = line }
            return state.told
        }
        if before == nil { manager.tell(.ready, .status(line)) } else if before != line { manager.tell(.status(line)) }
    }

    func reload(_ body: () -> Void) {
        manager?.tell(.reloading(since: ServiceManager.monotonicMicroseconds))
        body()
        manager?.tell(.ready)
    }

    func stopping() { manager?.tell(.stopping) }
    func stop() { state.withLock { $0.pulse.take() }?.stop() }
}
