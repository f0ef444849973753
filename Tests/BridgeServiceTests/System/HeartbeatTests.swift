import BridgeService
import Locking
import Testing
import Vocabulary
import Worlds

/// A heartbeat whose looks take what the test says.
private final class Chest: Sendable {
    let clock = HandClock()
    private let beats = Locked(0)

    var count: Int { beats.withLock { $0 } }

    func heartbeat(takes: Duration = .zero, lateness: Duration = .zero) -> Heartbeat {
        Heartbeat(every: .seconds(15), clock: clock) { [clock] in
            clock.pass(takes)
            return lateness
        } beat: { [beats] in
            beats.withLock { $0 += 1 }
        }
    }
}

@Suite("The sign of life")
struct HeartbeatTests {
    @Test(
        "no beat behind a lock that was held for half a minute, nor behind an alarm that is so late",
        arguments: [
            (takes: 0, lateness: 0, beats: 1), (29, 29, 1), (30, 0, 0), (0, 30, 0), (.max >> 40, 0, 0),
        ] as [(takes: Int64, lateness: Int64, beats: Int)])
    func looks(takes: Int64, lateness: Int64, beats: Int) {
        let chest = Chest()
        chest.heartbeat(takes: .seconds(takes), lateness: .seconds(lateness)).round()
        #expect(chest.count == beats)
    }

    @Test("it is dead when no look went well in the time of a pause and a look, and lives again with the next beat")
    func health() {
        let chest = Chest()
        let heartbeat = chest.heartbeat()
        chest.clock.pass(.seconds(44))
        #expect(heartbeat.isBeating)
        chest.clock.pass(.seconds(1))
        #expect(!heartbeat.isBeating)
        heartbeat.round()
        #expect(heartbeat.isBeating)
    }
}

@Suite("What a service manager hears")
struct ServiceNoticeTests {
    @Test("each notice is one of sd_notify's, and words stay in their line")
    func lines() {
        #expect(ServiceNotice.ready.line == "READY=1")
        #expect(ServiceNotice.reloading(since: 5).line == "RELOADING=1\nMONOTONIC_USEC=5")
        #expect(ServiceNotice.stopping.line == "STOPPING=1")
        #expect(ServiceNotice.watchdog.line == "WATCHDOG=1")
        #expect(!ServiceNotice.status("a\nREADY=1").line.contains("\n"))
    }

    @Test(
        "a socket is asked for by a path or by a name in the abstract space",
        arguments: [
            ("/run/x", true), ("@x", true), ("", false), ("@", false), ("relative", false), ("vsock:2:1", false),
        ])
    func sockets(socket: String, isTaken: Bool) {
        #expect((ServiceManager(socket: socket) != nil) == isTaken)
    }

    @Test("a path that is longer than the system takes is none")
    func long() { #expect(ServiceManager(socket: "/" + String(repeating: "x", count: 200)) == nil) }

    @Test(
        "the time to a sign of life is a number above zero, and meant for this process",
        arguments: [("60000000", nil, 60), ("0", nil, nil), ("-1", nil, nil), ("x", nil, nil), ("60000000", "1", nil)]
            as [(String, String?, Int64?)])
    func patience(microseconds: String, process: String?, seconds: Int64?) {
        let manager = ServiceManager(
            socket: "@x", watchdogMicroseconds: microseconds, watchdogProcess: process)
        #expect(manager?.patience == seconds.map { .seconds($0) })
    }
}
