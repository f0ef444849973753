import LocalServer
import Locking
import OSThreads
import Testing
import Transport
import Vocabulary
import WireTesting

/// The server's side, against a client in Python with another library, our own client, and bare bytes.
@Suite struct ServedWebSocketTests {
    /// Keeps every link, echoes each text, and reports other events.
    final class EchoRoute: Sendable {
        let events = Queue<WebSocketEvent>()
        let links = Locked<[any WebSocketLink]>([])

        func answer(_ request: LocalRequest) -> LocalAnswer {
            if request.path == "/refuse" { return .whole(.text(403, "not you")) }
            var acceptance = WebSocketAcceptance { [self] link in
                links.withLock { $0.append(link) }
                return { [events] event in
                    if case .text(let text) = event { link.send(text: text) } else { events.put(event) }
                }
            }
            acceptance.headers = [LocalHeader("X-Served", "yes")]
            acceptance.messageLimit = 40_000_000
            return .webSocket(acceptance)
        }

        func letGo() { links.withLock { $0 = [] } }
    }

    private func serve(_ body: (LocalServer, EchoRoute) throws -> Void) throws {
        let route = EchoRoute()
        try withServer(handler: { route.answer($0) }) { try body($0, route) }
        route.letGo()
    }

    private func python(_ server: LocalServer, _ path: String, _ script: String) throws -> Peer {
        let root = #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 }
        return try Peer("websocket_client.py", ["ws://127.0.0.1:\(server.port)\(path)", script], root: root)
    }

    private func ours(_ server: LocalServer, _ path: String = "/") -> (any WebSocketLink, Queue<WebSocketEvent>) {
        let events = Queue<WebSocketEvent>()
        let link = CurlWebSocketClient().open(WebSocketRequest(url: "ws://127.0.0.1:\(server.port)\(path)")) {
            events.put($0)
        }
        return (link, events)
    }

    @Test func aForeignClientIsEchoedAndItsCloseAnswered() throws {
        try serve { server, route in
            let client = try python(server, "/", "echo")
            for _ in 0..<3 { #expect(try client.line() == "same") }
            #expect(try client.line() == "closed 4000 enough")
            #expect(try route.events.next() == .closed(code: 4000, reason: "enough", byPeer: true))
        }
    }

    @Test func aForeignClientsPingIsAnswered() throws {
        try serve { server, route in
            let client = try python(server, "/", "ping")
            #expect(try client.line() == "pong")
            #expect(try client.line() == "closed 1000 ")
            #expect(try route.events.next() == .ping)
        }
    }

    @Test func thirtyMegabytesOfAForeignClientComeBack() throws {
        try serve { server, _ in
            let client = try python(server, "/", "large")
            #expect(try client.line() == "length 30000000")
        }
    }

    @Test func aRefusalIsAnOrdinaryAnswer() throws {
        try serve { server, _ in
            let client = try python(server, "/refuse", "listen")
            #expect(try client.line() == "refused 403 not you")
            let (link, events) = ours(server, "/refuse")
            guard case .refused(403, _, let body) = try events.next() else { Issue.record("not refused"); return }
            #expect(body == Array("not you\n".utf8))
            link.cut()
        }
    }

    @Test func ourClientAndOurServerAgree() throws {
        try serve { server, route in
            let (link, events) = ours(server)
            guard case .opened(let headers) = try events.next() else { Issue.record("not opened"); return }
            #expect(headers.contains(HTTPHeader("X-Served", "yes")))
            for size in [0, 1, 125, 126, 65_535, 65_536, 1_000_000] {
                let text = [UInt8](repeating: 97, count: size)
                link.send(text: text)
                #expect(try events.next() == .text(text))
            }
            link.close(code: 1000, reason: "")
            #expect(try events.next() == .closed(code: 1000, reason: "", byPeer: false))
            #expect(try route.events.next() == .closed(code: 1000, reason: "", byPeer: true))
        }
    }

    @Test func theServerMayCloseAndCut() throws {
        try serve { server, route in
            for isCut in [false, true] {
                let (link, events) = ours(server)
                guard case .opened = try events.next() else { Issue.record("not opened"); return }
                link.send(text: [97])
                #expect(try events.next() == .text([97]))
                let served = route.links.withLock { $0.removeLast() }
                if isCut {
                    served.cut()
                    guard case .failed = try events.next() else { Issue.record("not lost"); return }
                    #expect(try route.events.next() == .closed(code: nil, reason: "", byPeer: false))
                } else {
                    served.close(code: 1013, reason: "later")
                    #expect(try events.next() == .closed(code: 1013, reason: "later", byPeer: true))
                    #expect(try route.events.next() == .closed(code: 1013, reason: "later", byPeer: false))
                }
            }
        }
    }

    @Test func aLinkThatNobodyKeepsIsCut() throws {
        let ends = Queue<WebSocketEvent>()
        try withServer(handler: { _ in .webSocket(WebSocketAcceptance { _ in { ends.put($0) } }) }) { server in
            let (link, events) = ours(server)
            guard case .opened = try events.next() else { Issue.record("not opened"); return }
            #expect(try ends.next() == .closed(code: nil, reason: "", byPeer: false))
            guard case .failed = try events.next() else { Issue.record("not lost"); return }
            link.cut()
        }
    }

    @Test func framesThatComeWithTheRequestAreNotLost() throws {
        try serve { server, _ in
            let wire = try Wire(port: server.port)
            let head = [
                "GET / HTTP/1.1", "Host: 127.0.0.1", "Upgrade: websocket", "Connection: Upgrade",
                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13",
            ].joined(separator: "\r\n")
            // "early", masked with zeros, in the same write as the request.
            try wire.send(Array((head + "\r\n\r\n").utf8) + [0x81, 0x85, 0, 0, 0, 0] + Array("early".utf8))
            let answer = try wire.head()
            #expect(answer.status == 101)
            #expect(answer.headers["sec-websocket-accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
            #expect(try wire.text(through: "early") == "\u{FFFD}\u{5}early")
        }
    }

    @Test func aRequestThatAsksForNoUpgradeIsTold() throws {
        try serve { server, _ in
            let wire = try Wire(port: server.port)
            let reply = try wire.exchange("GET", "/")
            #expect(reply.status == 426)
            #expect(reply.headers["sec-websocket-version"] == "13")
            #expect(try wire.exchange("POST", "/", body: []).status == 426)
        }
    }

    @Test func aForeignOriginMayNotConnect() throws {
        try serve { server, _ in
            var request = WebSocketRequest(url: "ws://127.0.0.1:\(server.port)/")
            request.headers = [HTTPHeader("Origin", "http://evil.example")]
            let events = Queue<WebSocketEvent>()
            let link = CurlWebSocketClient().open(request) { events.put($0) }
            guard case .refused(403, _, _) = try events.next() else { Issue.record("not refused"); return }
            link.cut()
        }
    }

    @Test func anUnmaskedFrameEndsTheConnectionWithItsCode() throws {
        try serve { server, route in
            let wire = try Wire(port: server.port)
            try wire.request(
                "GET", "/",
                headers: [
                    "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
                    "Sec-WebSocket-Version: 13",
                ])
            #expect(try wire.head().status == 101)
            try wire.send([0x81, 0x01, 97])
            guard case .failed(let failure) = try route.events.next() else { Issue.record("no failure"); return }
            #expect(failure.code == .protocolError)
            wire.stopSending()
            let end = wire.end()
            #expect(end.count > 4)
            #expect(end.failure == .ended)
        }
    }

    @Test func smallMessagesDoNotWaitForAcknowledgements() throws {
        try serve { server, _ in
            let (link, events) = ours(server)
            guard case .opened = try events.next() else { Issue.record("not opened"); return }
            var fastest = Duration.seconds(1)
            for _ in 0..<100 {
                let start = ContinuousClock.now
                link.send(text: [97])
                #expect(try events.next() == .text([97]))
                fastest = min(fastest, ContinuousClock.now - start)
            }
            // Nagle's algorithm would delay each by 40 ms. A busy machine delays some of them anyway.
            #expect(fastest < .milliseconds(40))
        }
    }

    @Test func stoppingCutsWhatIsOpenAndReturns() throws {
        let route = EchoRoute()
        let server = try LocalServer(listen: "127.0.0.1:0") { route.answer($0) }
        try server.start()
        let foreign = try python(server, "/", "listen")
        #expect(try foreign.line() == "connected")
        let connections = (0..<20).map { _ in ours(server) }
        for (_, events) in connections {
            guard case .opened = try events.next() else { Issue.record("not opened"); return }
        }
        server.stop()
        for (_, events) in connections {
            guard case .failed = try events.next() else { Issue.record("not lost"); return }
        }
        #expect(try foreign.line() == "closed 1006 ")
        route.letGo()
    }

    @Test func aRequestDuringTheStopIsRefused() throws {
        let (lost, release, stopped) = (Queue<Bool>(), Queue<Bool>(), Queue<Bool>())
        let server = try LocalServer(listen: "127.0.0.1:0") { _ in
            .webSocket(
                WebSocketAcceptance { link in
                    { event in
                        if case .text(let text) = event { return link.send(text: text) }
                        lost.put(true)
                        _ = try? release.next()
                    }
                })
        }
        try server.start()
        let port = server.port
        let (link, events) = ours(server)
        guard case .opened = try events.next() else { Issue.record("not opened"); return }
        #expect(
            startThread {
                server.stop()
                stopped.put(true)
            })
        #expect(try lost.next())
        let reply = try Wire(port: port).exchange("GET", "/")
        #expect(reply.status == 503)
        #expect(reply.headers["connection"] == "close")
        release.put(true)
        #expect(try stopped.next())
        link.cut()
    }

    @Test func stoppingWhileConnectionsComeAndGoReturns() throws {
        for _ in 0..<20 {
            let route = EchoRoute()
            let server = try LocalServer(listen: "127.0.0.1:0") { route.answer($0) }
            try server.start()
            let connections = (0..<8).map { _ in ours(server) }
            // Some connections are open, some in their handshake, and some not there yet.
            _ = try connections[0].1.next()
            server.stop()
            for (link, _) in connections { link.cut() }
            route.letGo()
        }
    }
}
