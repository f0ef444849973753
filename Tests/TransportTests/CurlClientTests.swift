import Testing
import Transport
import Vocabulary

@Suite("HTTP over libcurl")
struct CurlClientTests {
    private static let good = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-One: 1\r\n\r\nok"

    private func post(
        _ client: CurlClient, _ server: ScriptedServer, path: String = "/x", timeout: Duration = .seconds(10),
        limit: Int = 1_000
    ) async -> Result<HTTPResponse, HTTPFailure> {
        await post(client, "http://127.0.0.1:\(server.port)\(path)", timeout: timeout, limit: limit)
    }

    private func post(
        _ client: CurlClient, _ url: String, timeout: Duration = .seconds(10), limit: Int = 1_000
    ) async -> Result<HTTPResponse, HTTPFailure> {
        let request = HTTPRequest(
            method: "POST", url: url, headers: [HTTPHeader("Authorization", "Bearer secret")], body: Array("{}".utf8),
            timeout: timeout, responseLimit: limit)
        return await withCheckedContinuation { continuation in
            client.send(request) { continuation.resume(returning: $0) }
        }
    }

    private func code(_ result: Result<HTTPResponse, HTTPFailure>) -> HTTPFailure.Code? {
        if case .failure(let failure) = result { failure.code } else { nil }
    }

    @Test("requests after one another share a connection")
    func keepsAlive() async throws {
        let server = ScriptedServer([[Self.good, Self.good, Self.good]])
        let client = CurlClient()
        for _ in 0..<3 {
            let response = try await post(client, server).get()
            #expect(response.status == 200)
            #expect(response.header("x-one") == "1")
            #expect(String(decoding: response.body, as: UTF8.self) == "ok")
        }
        #expect(server.connectionCount == 1)
        #expect(
            server.requests.allSatisfy { $0.contains("Authorization: Bearer secret") && $0.hasSuffix("\r\n\r\n{}") })
        client.close()
    }

    @Test("what is to be done meanwhile is done while the answer is awaited")
    func meanwhile() async {
        let held = HeldServer()
        let client = CurlClient()
        let request = HTTPRequest(method: "POST", url: "http://127.0.0.1:\(held.port)/x", body: Array("{}".utf8))
        // The server never answers, so a return shows that nothing waited for it.
        await withCheckedContinuation { continuation in
            client.send(request, meanwhile: { continuation.resume() }, completion: { _ in })
        }
        client.close()
    }

    @Test("each request goes to its own address, on whichever handle and however often it was asked for before")
    func ownAddresses() async throws {
        let paths = ["/a", "/b?x=1", "/a", "/c%20d", "/fetched", "/a", "/b?x=1"]
        let server = ScriptedServer([Array(repeating: Self.good, count: paths.count)])
        let client = CurlClient()
        for path in paths {
            let url = "http://127.0.0.1:\(server.port)\(path)"
            let request = HTTPRequest(method: path == "/fetched" ? "GET" : "POST", url: url, body: [])
            _ = try await client.exchange(request)
        }
        let targets = server.requests.map { $0.split(separator: " ")[1] }
        #expect(targets == paths.map { Substring($0) })
        client.close()
    }

    @Test("more addresses than are remembered all work")
    func manyAddresses() async throws {
        let count = 70
        let server = ScriptedServer([Array(repeating: Self.good, count: count)])
        let client = CurlClient()
        for number in 0..<count { _ = try await post(client, server, path: "/\(number)").get() }
        #expect(server.requests.map { $0.split(separator: " ")[1] } == (0..<count).map { "/\($0)" })
        client.close()
    }

    @Test("a request whose connection dies after it was read is not sent again", arguments: [String?.none, ""])
    func neverRepeats(end: String?) async {
        // The second connection would answer, if the client used it.
        let server = ScriptedServer([[Self.good, end], [Self.good]])
        let client = CurlClient()
        _ = await post(client, server)
        let result = await post(client, server)
        #expect(code(result) == .connectionLost)
        if case .failure(let failure) = result { #expect(failure.mayHaveBeenApplied) }
        #expect(server.requests.count == 2)
        client.close()
    }

    @Test("an answer larger than allowed is given up, declared or not")
    func tooLarge() async {
        let body = String(repeating: "x", count: 5_000)
        let server = ScriptedServer([
            ["HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n\(body)"],
            ["HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n\(body)"],
        ])
        let client = CurlClient()
        #expect(code(await post(client, server)) == .tooLarge)
        #expect(code(await post(client, server)) == .tooLarge)
        client.close()
    }

    @Test("a redirect is handed over, and nobody else gets the token")
    func redirect() async throws {
        let elsewhere = ScriptedServer([[Self.good]])
        let server = ScriptedServer([
            ["HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:\(elsewhere.port)/\r\nContent-Length: 0\r\n\r\n"]
        ])
        let client = CurlClient()
        #expect(try await post(client, server).get().status == 302)
        #expect(elsewhere.requests.isEmpty)
        client.close()
    }

    @Test("half an answer is a lost connection")
    func half() async {
        let server = ScriptedServer([["HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf", ""]])
        let client = CurlClient()
        #expect(code(await post(client, server, timeout: .milliseconds(300))) == .timedOut)
        client.close()
    }

    @Test("addresses that cannot be used are told apart")
    func addresses() async {
        let client = CurlClient()
        #expect(code(await post(client, "http://127.0.0.1:1/")) == .connectionRefused)
        #expect(code(await post(client, "ftp://127.0.0.1/")) == .badURL)
        #expect(code(await post(client, "http://name.invalid/")) == .nameNotFound)
        client.close()
    }

    @Test("a closed client refuses, and says so")
    func closed() async {
        let client = CurlClient()
        client.close()
        #expect(code(await post(client, "http://127.0.0.1:1/")) == .cancelled)
    }

    @Test("closing while others send is told to each of them")
    func closing() async {
        for _ in 0..<50 {
            let client = CurlClient()
            let told = await withTaskGroup(of: Int.self) { group in
                for index in 0..<8 {
                    group.addTask {
                        if index == 4 { client.close() }
                        _ = try? await client.exchange(HTTPRequest(method: "POST", url: "http://127.0.0.1:1/"))
                        return 1
                    }
                }
                return await group.reduce(0, +)
            }
            #expect(told == 8)
        }
    }

    @Test("a completion may begin the next request")
    func chained() async {
        let server = ScriptedServer([[Self.good, Self.good]])
        let client = CurlClient()
        let url = "http://127.0.0.1:\(server.port)/"
        let second: Result<HTTPResponse, HTTPFailure> = await withCheckedContinuation { continuation in
            client.send(HTTPRequest(method: "POST", url: url)) { _ in
                client.send(HTTPRequest(method: "POST", url: url)) { continuation.resume(returning: $0) }
            }
        }
        #expect(code(second) == nil)
        #expect(server.connectionCount == 1)
        client.close()
    }
}
