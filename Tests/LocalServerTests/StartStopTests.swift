import Glibc
import LocalServer
import Testing
import WireTesting

@Suite struct StartStopTests {
    private static let answer: @Sendable (LocalRequest) -> LocalAnswer = { _ in .whole(.text(200, "ok")) }

    @Test func aTakenPortIsSaidToBeInUse() throws {
        try withServer(handler: Self.answer) { server in
            let second = try LocalServer(listen: "127.0.0.1:\(server.port)", handler: Self.answer)
            #expect { try second.start() } throws: { ($0 as? LocalServerError)?.code == .portInUse }
        }
    }

    @Test(arguments: [
        "", "8787", "127.0.0.1", "127.0.0.1:", "127.0.0.1:99999", "example.com:80", "::1:80", "[127.0.0.1]:80",
        "127.0.0.1:+80",
    ])
    func whatIsNoAddressIsRefused(text: String) {
        #expect { try LocalServer(listen: text, handler: Self.answer) } throws: {
            ($0 as? LocalServerError)?.code == .badAddress
        }
    }

    @Test(arguments: ["0.0.0.0:0", "192.0.2.1:80", "[::]:0"])
    func whatOtherMachinesCouldReachNeedsPermission(text: String) {
        #expect { try LocalServer(listen: text, handler: Self.answer) } throws: {
            ($0 as? LocalServerError)?.code == .notLoopback
        }
    }

    @Test func anAddressOfAnotherMachineCannotBeListenedOn() throws {
        var settings = LocalServer.Settings()
        settings.allowsOtherMachines = true
        let server = try LocalServer(listen: "192.0.2.1:0", settings: settings, handler: Self.answer)
        #expect { try server.start() } throws: { ($0 as? LocalServerError)?.code == .badAddress }
    }

    @Test func itListensOnAllAddressesWhenAllowed() throws {
        var settings = LocalServer.Settings()
        settings.allowsOtherMachines = true
        let server = try LocalServer(listen: "0.0.0.0:0", settings: settings, handler: Self.answer)
        try server.start()
        defer { server.stop() }
        #expect(try Wire(port: server.port).exchange("GET", "/").status == 200)
    }

    @Test func aPortIsFreeAgainAtOnceAfterTheStop() throws {
        let first = try LocalServer(listen: "127.0.0.1:0", handler: Self.answer)
        try first.start()
        let port = first.port
        let wire = try Wire(port: port)
        #expect(try wire.exchange("GET", "/").status == 200)
        #expect(first.baseURL == "http://127.0.0.1:\(port)")
        first.stop()
        first.stop()
        #expect(wire.end().failure == .ended)
        #expect(throws: Wire.Failure.cannotConnect) { try Wire(port: port) }

        let second = try LocalServer(listen: "127.0.0.1:\(port)", handler: Self.answer)
        try second.start()
        #expect(try Wire(port: port).exchange("GET", "/").status == 200)
        second.stop()
    }

    /// The library accepts a connection in a thread of its own, which must not collide with the stop.
    @Test func connectionsInTheMomentOfTheStopEndNothing() throws {
        for round in 0..<1_000 {
            let server = try LocalServer(listen: "127.0.0.1:0", handler: Self.answer)
            try server.start()
            let wires = try (0..<4).map { _ in try Wire(port: server.port) }
            #expect(wires.count == 4)
            for _ in 0..<(round % 8) { sched_yield() }
            server.stop()
        }
    }

    @Test func aServerStartsOnce() throws {
        let server = try LocalServer(listen: "localhost:0", handler: Self.answer)
        try server.start()
        #expect { try server.start() } throws: { ($0 as? LocalServerError)?.code == .startFailed }
        server.stop()
        #expect { try server.start() } throws: { ($0 as? LocalServerError)?.code == .startFailed }
    }
}
