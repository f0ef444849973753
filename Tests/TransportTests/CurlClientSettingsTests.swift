import BridgeModel
import Glibc
import Testing
import Transport
import WireTesting

@Suite("HTTP over TLS and proxies")
struct CurlClientSettingsTests {
    /// The Python server of Tests/Peers, with a certificate of an authority made for it.
    private struct SecurePeer {
        let peer: Peer
        let url: String
        let authorityFile: String

        init() throws {
            let root = #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 }
            peer = try Peer("https_server.py", root: root)
            let words = try peer.line().split(separator: " ").map(String.init)
            guard words.count == 3, words[0] == "ready" else { throw Peer.Failure.ended }
            url = "https://127.0.0.1:\(words[1])/"
            authorityFile = words[2]
        }
    }

    private static func post(_ url: String, _ settings: CurlClient.Settings) async throws(HTTPFailure) -> String {
        let client = CurlClient(settings: settings)
        defer { client.close() }
        let response = try await client.exchange(HTTPRequest(method: "POST", url: url, body: Array("hi".utf8)))
        return String(decoding: response.body, as: UTF8.self)
    }

    @Test("a private authority is trusted by its file, and by nothing else")
    func authority() async throws {
        let peer = try SecurePeer()
        var settings = CurlClient.Settings()
        settings.authorityFile = peer.authorityFile
        #expect(try await Self.post(peer.url, settings) == "HTTP/1.1 hi")
        for file in [nil, "/nonexistent.pem"] {
            settings.authorityFile = file
            let failure = await #expect(throws: HTTPFailure.self) { try await Self.post(peer.url, settings) }
            #expect(failure?.code == .tlsFailed)
            #expect(failure?.mayHaveBeenApplied == false)
        }
    }

    @Test("HTTP/2 is an offer that a server of HTTP/1.1 need not take")
    func http2() async throws {
        let peer = try SecurePeer()
        var settings = CurlClient.Settings()
        #expect(!settings.http2)
        settings.http2 = true
        settings.authorityFile = peer.authorityFile
        #expect(try await Self.post(peer.url, settings) == "HTTP/1.1 hi")
    }

    @Test("a proxy named by the environment is asked, and one for everything but a host is not asked for that host")
    func proxy() async {
        // In a process of its own: the environment is everybody's.
        await #expect(processExitsWith: .success) {
            let good = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
            let proxy = ScriptedServer([[good]])
            let direct = ScriptedServer([[good]])
            setenv("http_proxy", "http://127.0.0.1:\(proxy.port)", 1)
            setenv("no_proxy", "127.0.0.1", 1)
            let client = CurlClient()
            let far = try await client.exchange(HTTPRequest(method: "POST", url: "http://relay.example/v1"))
            let near = try await client.exchange(
                HTTPRequest(method: "POST", url: "http://127.0.0.1:\(direct.port)/v1"))
            precondition(far.status == 200 && near.status == 200)
            precondition(proxy.requests.map { $0.hasPrefix("POST http://relay.example/v1 ") } == [true])
            precondition(direct.requests.map { $0.hasPrefix("POST /v1 ") } == [true])
        }
    }
}
