import LocalServer
import Locking
import Testing
import WireTesting

/// Requests and whole answers over real sockets.
@Suite struct LocalServerTests {
    private static let echo: @Sendable (LocalRequest) -> LocalAnswer = { request in
        .whole(
            LocalResponse(
                status: 200,
                headers: [LocalHeader("X-Method", request.method), LocalHeader("X-Target", request.target)],
                body: request.body))
    }

    @Test func aRequestArrivesAsItWasSent() throws {
        try withServer(handler: { request in
            .whole(
                .text(
                    200, "\(request.path)|\(request.header("x-token") ?? "none")|\(request.header("Missing") ?? "none")"
                ))
        }) { server in
            let wire = try Wire(port: server.port)
            let reply = try wire.exchange("GET", "/a%20b?c=%2F&d", headers: ["X-Token: one"])
            #expect(reply.text == "/a%20b|one|none\n")
        }
    }

    @Test(arguments: ["GET", "POST", "DELETE", "PATCH", "BREW"])
    func anyMethodReachesTheHandler(method: String) throws {
        try withServer(handler: Self.echo) { server in
            let reply = try Wire(port: server.port).exchange(method, "/x?y=%41", body: Array("body".utf8))
            #expect(reply.status == 200)
            #expect(reply.headers["x-method"] == method)
            #expect(reply.headers["x-target"] == "/x?y=%41")
            #expect(reply.text == "body")
        }
    }

    @Test func headHasALengthAndNoBody() throws {
        try withServer(handler: { _ in .whole(.text(200, "four")) }) { server in
            let wire = try Wire(port: server.port)
            let reply = try wire.exchange("HEAD", "/")
            #expect(reply.headers["content-length"] == "5")
            #expect(try wire.exchange("GET", "/").text == "four\n", "the connection goes on")
        }
    }

    @Test func tenThousandRequestsUseOneConnection() throws {
        try withServer(handler: Self.echo) { server in
            let wire = try Wire(port: server.port)
            var right = 0
            for number in 0..<10_000 {
                let body = Array("\(number)".utf8)
                if try wire.exchange("POST", "/", body: body).body == body { right += 1 }
            }
            #expect(right == 10_000)
        }
    }

    @Test func pipelinedRequestsAreAnsweredInOrder() throws {
        try withServer(handler: Self.echo) { server in
            let wire = try Wire(port: server.port)
            let requests = (0..<50).map { "GET /\($0) HTTP/1.1\r\nHost: localhost\r\n\r\n" }
            try wire.send(requests.joined())
            for number in 0..<50 { #expect(try wire.reply().headers["x-target"] == "/\(number)") }
        }
    }

    @Test func aRequestInSingleBytesIsUnderstood() throws {
        try withServer(handler: Self.echo) { server in
            let wire = try Wire(port: server.port)
            for byte in "POST /slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc".utf8 {
                try wire.send([byte])
            }
            #expect(try wire.reply().text == "abc")
        }
    }

    @Test func aChunkedBodyIsPutTogether() throws {
        try withServer(handler: Self.echo) { server in
            let wire = try Wire(port: server.port)
            try wire.request("POST", "/", headers: ["Transfer-Encoding: chunked"])
            try wire.send("3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
            #expect(try wire.reply().text == "abcde")
        }
    }

    @Test func aBodyAtTheLimitPassesAndOneByteMoreIsRefused() throws {
        var settings = LocalServer.Settings()
        settings.bodyLimit = 100_000
        try withServer(settings: settings, handler: Self.echo) { server in
            let full = [UInt8](repeating: 65, count: 100_000)
            #expect(try Wire(port: server.port).exchange("POST", "/", body: full).body == full)

            let wire = try Wire(port: server.port)
            let reply = try wire.exchange("POST", "/", body: full + [66])
            #expect(reply.status == 413)
            #expect(reply.headers["connection"]?.lowercased() == "close")
            #expect(wire.end().failure == .ended)
        }
    }

    @Test func aBodyFarOverTheLimitIsRefusedUnread() throws {
        var settings = LocalServer.Settings()
        settings.bodyLimit = 1_000
        try withServer(settings: settings, handler: Self.echo) { server in
            let wire = try Wire(port: server.port)
            try wire.request("POST", "/", headers: ["Content-Length: 900000000000"])
            #expect(try wire.reply().status == 413)
        }
    }

    @Test func aChunkedBodyOverTheLimitIsRefusedAndAnEndlessOneCut() throws {
        var settings = LocalServer.Settings()
        settings.bodyLimit = 1_000
        try withServer(settings: settings, handler: Self.echo) { server in
            let wire = try Wire(port: server.port)
            try wire.request("POST", "/", headers: ["Transfer-Encoding: chunked"])
            try wire.send("4b0\r\n" + String(repeating: "x", count: 1_200) + "\r\n0\r\n\r\n")
            #expect(try wire.reply().status == 413)

            let endless = try Wire(port: server.port)
            try endless.request("POST", "/", headers: ["Transfer-Encoding: chunked"])
            let chunk = "4b0\r\n" + String(repeating: "x", count: 1_200) + "\r\n"
            #expect(throws: Wire.Failure.reset) { while true { try endless.send(chunk) } }
        }
    }

    @Test(arguments: [
        "\u{0}\u{1}\u{2}\u{3}\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "\u{16}\u{3}\u{1}\u{2}\r\n\r\n",
    ])
    func garbageEndsItsOwnConnectionOnly(bytes: String) throws {
        // The library reads a line that begins with a zero byte as an empty one and waits for more; then the idle
        // limit closes the connection.
        var settings = LocalServer.Settings()
        settings.idleSeconds = 1
        try withServer(settings: settings, handler: Self.echo) { server in
            let bad = try Wire(port: server.port)
            try bad.send(bytes)
            bad.stopSending()
            #expect(bad.end().failure != .timedOut)
            let good = try Wire(port: server.port)
            #expect(try good.exchange("GET", "/").status == 200)
        }
    }

    @Test func aHeadThatNeverEndsIsRefused() throws {
        try withServer(handler: Self.echo) { server in
            let wire = try Wire(port: server.port)
            let line = "X-Filler: " + String(repeating: "y", count: 1_000) + "\r\n"
            try wire.send("GET / HTTP/1.1\r\nHost: localhost\r\n")
            #expect(throws: (any Error).self) {
                for _ in 0..<1_000_000 { try wire.send(line) }
            }
        }
    }

    @Test func aResetSendsNoByteAndNoEnd() throws {
        try withServer(handler: { _ in .reset }) { server in
            let wire = try Wire(port: server.port)
            try wire.request("POST", "/", body: [1, 2, 3])
            let end = wire.end()
            #expect(end.count == 0)
            #expect(end.failure == .reset)
        }
    }

    @Test func aHeaderThatWouldBreakTheHeadIsNotSent() throws {
        let broken = LocalResponse(status: 200, headers: [LocalHeader("X-A", "b\r\nX-C: d")])
        try withServer(handler: { _ in .whole(broken) }) { server in
            let wire = try Wire(port: server.port)
            try wire.request("GET", "/")
            #expect(wire.end().count == 0)
        }
    }

    @Test func largeAnswersArriveWhole() throws {
        let large = [UInt8](repeating: 7, count: 10_000_000)
        try withServer(handler: { _ in .whole(LocalResponse(status: 200, body: large)) }) { server in
            let reply = try Wire(port: server.port).exchange("GET", "/")
            #expect(reply.body.count == large.count)
        }
    }
}
