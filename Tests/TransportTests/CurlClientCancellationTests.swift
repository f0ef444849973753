import BridgeModel
import Testing
import Transport

@Suite("HTTP exchanges that are cancelled", .timeLimit(.minutes(1)))
struct CurlClientCancellationTests {
    private static let good = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    private static func request(_ server: ScriptedServer) -> HTTPRequest {
        HTTPRequest(method: "POST", url: "http://127.0.0.1:\(server.port)/x", body: Array("{}".utf8))
    }

    /// The failure of an exchange whose task is cancelled when `moment` returns.
    private static func failure(
        _ client: CurlClient, _ request: HTTPRequest, cancelledAfter moment: () async -> Void
    ) async -> HTTPFailure? {
        await withTaskGroup(of: HTTPFailure?.self) { group in
            group.addTask {
                do throws(HTTPFailure) { _ = try await client.exchange(request) } catch { return error }
                return nil
            }
            await moment()
            group.cancelAll()
            return await group.next() ?? nil
        }
    }

    @Test("an exchange gives its answer")
    func exchange() async throws {
        let server = ScriptedServer([[Self.good]])
        let client = CurlClient()
        #expect(try await client.exchange(Self.request(server)).status == 200)
        client.close()
    }

    @Test("one that is under way is given up at once, and nobody knows whether it was applied")
    func underWay() async throws {
        let held = HeldServer()
        let client = CurlClient()
        let request = HTTPRequest(method: "POST", url: "http://127.0.0.1:\(held.port)/x", body: Array("{}".utf8))
        let failure = await Self.failure(client, request) { #expect(await held.next() == .hasRequest) }
        #expect(failure?.code == .cancelled)
        #expect(failure?.mayHaveBeenApplied == true)
        // Its handle and its connection are gone: the server sees the end.
        #expect(await held.next() == .hasEnded)
        // The client serves on.
        let server = ScriptedServer([[Self.good]])
        #expect(try await client.exchange(Self.request(server)).status == 200)
        client.close()
    }

    @Test("one whose task was cancelled before is never sent")
    func before() async {
        let server = ScriptedServer([[Self.good]])
        let client = CurlClient()
        let failure = await withTaskGroup(of: HTTPFailure?.self) { group in
            group.cancelAll()
            group.addTask {
                do throws(HTTPFailure) { _ = try await client.exchange(Self.request(server)) } catch { return error }
                return nil
            }
            return await group.next() ?? nil
        }
        #expect(failure?.code == .cancelled)
        #expect(failure?.mayHaveBeenApplied == false)
        #expect(server.requests.isEmpty)
        client.close()
    }

    @Test("one that could not connect yet was surely not applied")
    func connecting() async {
        // 192.0.2.0/24 is for documentation (RFC 5737): no host answers there, or there is no route.
        let client = CurlClient()
        let failure = await Self.failure(
            client, HTTPRequest(method: "POST", url: "http://192.0.2.1/"), cancelledAfter: {})
        #expect(failure?.mayHaveBeenApplied == false)
        client.close()
    }

    @Test("cancelling after the answer changes nothing, and many at once are each told once")
    func many() async {
        let server = ScriptedServer((0..<40).map { _ in [Self.good, Self.good, Self.good] })
        let client = CurlClient()
        let told = await withTaskGroup(of: Int.self) { group in
            for index in 0..<40 {
                group.addTask {
                    await withTaskGroup(of: Void.self) { inner in
                        inner.addTask { _ = try? await client.exchange(Self.request(server)) }
                        if index.isMultiple(of: 2) { inner.cancelAll() }
                        await inner.waitForAll()
                        inner.cancelAll()
                    }
                    return 1
                }
            }
            return await group.reduce(0, +)
        }
        #expect(told == 40)
        client.close()
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
}
