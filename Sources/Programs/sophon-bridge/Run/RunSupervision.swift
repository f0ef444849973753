import BridgeService
import FoundationEssentials
import Locking
import Vocabulary

/// What a service manager hears of `run`: when it is ready, how it is, that it reads its configuration anew, that it ends, and a sign of
/// life while its machines work.
final class RunSupervision: Sendable {
    private static let pace = Duration.seconds(15)

    private let manager: ServiceManager?
    private let heartbeat: Heartbeat
    private let told = Locked<String?>(nil)

    init(_ connections: [LiveConnection], _ alarms: [SystemAlarm], _ log: Log) {
        let environment = ProcessInfo.processInfo.environment
        let manager = ServiceManager(
            socket: environment["NOTIFY_SOCKET"], watchdogMicroseconds: environment["WATCHDOG_USEC"],
            watchdogProcess: environment["WATCHDOG_PID"])
        self.manager = manager
        let patience = manager?.patience
        heartbeat = Heartbeat(every: patience.map { $0 / 4 } ?? Self.pace, clock: SystemClock()) {
            for connection in connections { connection.touch() }
            return alarms.map(\.lateness).max() ?? .zero
        } beat: {
            manager?.tell(.watchdog)
        }
        guard patience != nil, !heartbeat.start() else { return }
        log.warning("the service manager gets no sign of life: no thread is left for it")
    }

    /// The first status also says that the bridge has begun: it works from here on, whichever side is away.
    func tell(_ status: BridgeStatus) {
        guard let manager else { return }
        let line = StatusText.line(status)
        let before = told.withLock { told in
            defer { told = line }
            return told
        }
        if before == nil { manager.tell(.ready, .status(line)) } else if before != line { manager.tell(.status(line)) }
    }

    func reload(_ body: () -> Void) {
        manager?.tell(.reloading(since: ServiceManager.monotonicMicroseconds))
        body()
        manager?.tell(.ready)
    }

    func stopping() { manager?.tell(.stopping) }
    func stop() { heartbeat.stop() }
}
