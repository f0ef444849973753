import BridgeService
import Testing
import Vocabulary

@Suite("What a service manager hears")
struct ServiceManagerTests {
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
        arguments: [
            ("60000000", nil, 60), ("31536000000000000", nil, nil), ("0", nil, nil), ("-1", nil, nil), ("x", nil, nil),
            ("60000000", "1", nil),
        ]
            as [(String, String?, Int64?)])
    func patience(microseconds: String, process: String?, seconds: Int64?) {
        let manager = ServiceManager(
            socket: "@x", watchdogMicroseconds: microseconds, watchdogProcess: process)
        #expect(manager?.patience == seconds.map { .seconds($0) })
    }
}
