import Glibc
import Testing
import Transport
import Vocabulary
import WireTesting

@Suite("HTTP over TLS and proxies")
struct CurlClientSettingsTests {
    /// The Python server of Tests/Peers, with a certificate of an authority made for it.
    private struct SecurePeer {
        let peer: Peer
        let url: String
        let authorityFile: String
        let leafPin: [UInt8]

        init() throws {
            let root = #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 }
            peer = try Peer("https_server.py", root: root)
            let words = try peer.line().split(separator: " ").map(String.init)
            guard words.count == 4, words[0] == "ready" else { throw Peer.Failure.ended }
            url = "https://127.0.0.1:\(words[1])/"
            authorityFile = words[2]
            leafPin = bytes(ofHexadecimal: words[3])
        }
    }

    private static func post(_ url: String, _ settings: CurlClient.Settings) async throws(HTTPFailure)
        -> String
    {
        let client = CurlClient(settings: settings)
        defer { client.close() }
        let response = try await client.exchange(
            HTTPRequest(method: "POST", url: url, body: Array("hi".utf8)))
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
            let failure = await #expect(throws: HTTPFailure.self) {
                try await Self.post(peer.url, settings)
            }
            #expect(failure?.code == .tlsFailed)
            #expect(failure?.mayHaveBeenApplied == false)
        }
    }

    @Test(
        "a pinned certificate is trusted without an authority, and after another one nothing is sent")
    func pin() async throws {
        let peer = try SecurePeer()
        var settings = CurlClient.Settings()
        var other = peer.leafPin
        other[31] ^= 1
        for (pin, url) in [
            (other, peer.url), (Array(other.prefix(31)), peer.url),
            (peer.leafPin, "http" + peer.url.dropFirst(5)),
        ] {
            settings.leafPin = pin
            let failure = await #expect(throws: HTTPFailure.self) { try await Self.post(url, settings) }
            #expect(failure?.mayHaveBeenApplied == false)
            #expect(failure?.code == (url == peer.url ? .tlsFailed : .badURL))
            guard pin == other else { continue }
            #expect(
                failure?.message.contains(
                    peer.leafPin.map { $0 < 16 ? "0" + String($0, radix: 16) : String($0, radix: 16) }
                        .joined()) == true)
        }
        settings.leafPin = peer.leafPin
        let client = CurlClient(settings: settings)
        defer { client.close() }
        // The second request goes over the same connection.
        for body in ["one", "two"] {
            let response = try await client.exchange(
                HTTPRequest(method: "POST", url: peer.url, body: Array(body.utf8)))
            #expect(response.status == 200)
            // The server hears of no request before this one.
            #expect(try peer.peer.line() == "request \(body)")
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

    @Test("a proxy named by the environment is asked for what is encrypted, and never for plain text")
    func proxy() async {
        // A process of its own, since all threads share the environment.
        await #expect(processExitsWith: .success) {
            let good = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
            let proxy = ScriptedServer([["HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"]])
            let direct = ScriptedServer([[good]])
            for name in ["http_proxy", "https_proxy", "all_proxy"] { setenv(name, "http://127.0.0.1:\(proxy.port)", 1) }
            let client = CurlClient()
            let far = try? await client.exchange(HTTPRequest(method: "POST", url: "https://relay.example/v1"))
            let near = try await client.exchange(
                HTTPRequest(method: "POST", url: "http://127.0.0.1:\(direct.port)/v1"))
            precondition(far == nil && near.status == 200)
            precondition(proxy.requests.map { $0.hasPrefix("CONNECT relay.example:443 ") } == [true])
            precondition(direct.requests.map { $0.hasPrefix("POST /v1 ") } == [true])
        }
    }
}
