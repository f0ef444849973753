import LocalServer
import Testing
import WireTesting

@Suite struct AdmissionTests {
    private func status(host: String, more: [String] = [], names: [String] = []) throws -> Int {
        var settings = LocalServer.Settings()
        settings.names = names
        return try withServer(settings: settings, handler: { _ in .whole(.text(200, "in")) }) { server in
            let wire = try Wire(port: server.port)
            try wire.send((["GET / HTTP/1.1", "Host: \(host)"] + more).joined(separator: "\r\n") + "\r\n\r\n")
            return try wire.reply().status
        }
    }

    @Test(arguments: ["localhost", "LOCALHOST:1", "127.0.0.1", "127.0.0.1:8787", "[::1]", "[::1]:8787", "192.0.2.7:80"])
    func namesThatCannotBePointedHerePass(host: String) throws {
        #expect(try status(host: host) == 200)
    }

    @Test(arguments: [
        "evil.example", "evil.example:8787", "localhost.evil.example", "127.0.0.1.evil.example", "localhost:x", "[::1",
        "", "localhost:+80",
    ])
    func foreignNamesAreMisdirected(host: String) throws {
        #expect(try status(host: host) == 421)
    }

    @Test func anAllowedNamePasses() throws {
        #expect(try status(host: "Simulator:8787", names: ["simulator"]) == 200)
    }

    @Test func twoHostsAreRefused() throws {
        #expect(try status(host: "localhost", more: ["Host: evil.example"]) == 400)
    }

    @Test func itsOwnPageMayAsk() throws {
        #expect(try status(host: "localhost:8787", more: ["Origin: http://localhost:8787"]) == 200)
    }

    @Test(arguments: ["http://evil.example", "http://localhost:3000", "https://localhost:8787", "null"])
    func pagesOfOtherOriginsAreRefused(origin: String) throws {
        #expect(try status(host: "localhost:8787", more: ["Origin: \(origin)"]) == 403)
    }
}
