import Locking
import Testing
import Transport
import Vocabulary
import WireTesting

/// The client against a server in Python with another library. Nothing sleeps; every wait has its limit.
@Suite struct WebSocketConnectionTests {
    let peer: WebSocketPeer

    init() throws { peer = try WebSocketPeer() }

    private func url(_ path: String, secure: Bool = false) -> String { (secure ? peer.secure : peer.plain) + path }

    @Test(arguments: [false, true]) func whatIsEchoedIsTheSame(secure: Bool) throws {
        let line = PeerLine(peer.request(url("/echo", secure: secure)))
        let texts = ["", "hello", "Grüße", String(repeating: "x", count: 125), String(repeating: "y", count: 70_000)]
        for text in texts { line.link.send(text: Array(text.utf8)) }
        line.link.send(binary: [0, 255, 1])
        guard case .opened = try line.events.next() else { Issue.record("not opened first"); return }
        for text in texts { #expect(try line.next() == .text(text)) }
        #expect(try line.next() == .binary([0, 255, 1]))
        line.link.close(code: 4000, reason: "enough")
        #expect(try line.next() == .closed(code: 4000, reason: "enough", byPeer: false))
        #expect(try peer.peer.line() == "closed 4000 enough")
        #expect(line.events.isEmpty)
    }

    @Test(arguments: [false, true]) func thirtyMegabytesGoBothWays(secure: Bool) throws {
        let line = PeerLine(peer.request(url("/echo", secure: secure)))
        let large = [UInt8](repeating: 122, count: 30_000_000)
        line.link.send(text: large)
        line.link.send(text: [97])
        guard case .text(let text) = try line.next() else { Issue.record("no text"); return }
        #expect(text == large)
        #expect(text.capacity >= text.count + 64)
        #expect(try line.next() == .text("a"))
    }

    @Test(arguments: [(100, 3), (1, 20_000)]) func fragmentsArePutTogether(size: Int, count: Int) throws {
        let line = PeerLine(peer.request(url("/fragments?size=\(size)&count=\(count)")))
        #expect(try line.next() == .text(String(repeating: "ü", count: size * count)))
    }

    @Test func pingsOfTheServerAreAnsweredAndTold() throws {
        let line = PeerLine(peer.request(url("/ping")))
        #expect(try line.next() == .ping)
        #expect(try line.next() == .text("there you are"))
    }

    @Test func ourPingIsAnswered() throws {
        let line = PeerLine(peer.request(url("/echo")))
        line.link.ping()
        #expect(try line.next() == .pong([]))
    }

    @Test(arguments: [(1000, ""), (1001, "going"), (1012, "restart"), (4401, "bad token ü")])
    func theServersCloseIsToldAndAnswered(code: Int, reason: String) throws {
        let query = reason.split(separator: " ").joined(separator: "+").replacingUmlaut
        let line = PeerLine(peer.request(url("/close?code=\(code)&reason=\(query)")))
        #expect(try line.next() == .text("last words"))
        #expect(try line.next() == .closed(code: code, reason: reason, byPeer: true))
        #expect(try peer.peer.line() == "closed \(code) \(reason)")
    }

    @Test func aRefusedUpgradeTellsStatusHeadersAndBody() throws {
        let line = PeerLine(peer.request(url("/refuse")))
        guard case .refused(let status, let headers, let body) = try line.events.next() else {
            Issue.record("not refused")
            return
        }
        #expect(status == 401)
        #expect(headers.contains(HTTPHeader("X-Why", "token")))
        #expect(String(decoding: body, as: UTF8.self) == #"{"error":"bad token"}"#)
    }

    @Test func headersArriveAtTheServer() throws {
        var request = peer.request(url("/headers?name=Authorization"))
        request.headers = [HTTPHeader("Authorization", "Bearer secret"), HTTPHeader("X-Other", "1")]
        #expect(try PeerLine(request).next() == .text("Bearer secret"))
    }

    @Test func aPrivateAuthorityMustBeNamed() throws {
        var request = peer.request(url("/echo", secure: true))
        request.authorityFile = nil
        #expect(try PeerLine(request).failure() == .tlsFailed)
        request.authorityFile = "/nonexistent.pem"
        #expect(try PeerLine(request).failure() == .tlsFailed)
    }

    @Test func aConnectionThatBreaksIsLost() throws {
        let line = PeerLine(peer.request(url("/abort")))
        let event = try line.next()
        if event == .text("last words") {
            #expect(try line.failure() == .connectionLost)
        } else if case .failed(let failure) = event {
            #expect(failure.code == .connectionLost)
        } else {
            Issue.record("\(event)")
        }
    }

    @Test(arguments: [false, true]) func whatThePeerDoesNotReadIsBounded(secure: Bool) throws {
        var request = peer.request(url("/stalled", secure: secure))
        request.sendLimit = 20_000_000
        let line = PeerLine(request)
        for _ in 0..<100 { line.link.send(text: [UInt8](repeating: 97, count: 1_000_000)) }
        #expect(try line.failure() == .tooMuchWaiting)
        line.link.send(text: [97])
        #expect(line.events.isEmpty)
    }

    /// The writes block again and again. TLS survives a retry only if the retried bytes have not moved.
    @Test(arguments: [false, true]) func manyMessagesAgainstASlowReaderArriveWhole(secure: Bool) throws {
        let line = PeerLine(peer.request(url("/count", secure: secure)))
        let sizes = (0..<40).map { 1_000_000 + $0 * 7 }
        for size in sizes { line.link.send(text: [UInt8](repeating: 97, count: size)) }
        for size in sizes { #expect(try peer.peer.line() == "length \(size)") }
    }

    @Test func closingSendsWhatWaitsFirst() throws {
        let line = PeerLine(peer.request(url("/count")))
        line.link.send(text: [UInt8](repeating: 97, count: 5_000_000))
        line.link.close(code: 1000, reason: "")
        line.link.send(text: [97])
        #expect(try peer.peer.line() == "length 5000000")
        #expect(try line.next() == .closed(code: 1000, reason: "", byPeer: false))
        #expect(try peer.peer.line() == "closed 1000 ")
    }

    @Test(arguments: [false, true]) func aPauseHoldsThePeerBackUntilResumed(secure: Bool) throws {
        // A payload larger than the sockets' buffers.
        let count = 30_000
        let tail = " " + String(repeating: ".", count: 300)
        let paused = Signal()
        let isFirst = Locked(true)
        let link = Locked<(any WebSocketLink)?>(nil)
        let isReady = Signal()
        let line = PeerLine(peer.request(url("/flood?count=\(count)", secure: secure))) { event in
            guard case .text = event,
                isFirst.withLock({ first in
                    defer { first = false }; return first
                })
            else { return }
            _ = isReady.wait()
            link.withLock { $0 }?.pauseReading()
            paused.raise()
        }
        link.withLock { $0 = line.link }
        isReady.raise()
        #expect(paused.wait())
        #expect(try line.next() == .text("0" + tail))
        // A round of the connection's thread: it has carried out the pause, and still delivers no event.
        let other = PeerLine(peer.request(url("/echo")))
        other.link.send(text: [97])
        #expect(try other.next() == .text("a"))
        #expect(line.events.isEmpty)
        line.link.resumeReading()
        for number in 1..<count {
            guard try line.next() == .text(String(number) + tail) else { Issue.record("\(number) is missing"); return }
        }
        link.withLock { $0 = nil }
    }

    @Test(arguments: ["/abort", "/close?code=4001&reason=x"])
    func anEndDuringAPauseIsToldOnResuming(path: String) throws {
        let line = PeerLine.paused(peer.request(url(path)))
        guard case .opened = try line.events.next() else { Issue.record("not opened"); return }
        // The server closes only after the client's answer, which the pause delays. An abort is complete by now.
        if path == "/abort" { #expect(try peer.peer.line() == "closed 1006 ") }
        #expect(line.events.isEmpty)
        line.link.resumeReading()
        var last = try line.next()
        if last == .text("last words") { last = try line.next() }
        switch last {
        case .failed(let failure): #expect(failure.code == .connectionLost && path == "/abort")
        default: #expect(last == .closed(code: 4001, reason: "x", byPeer: true))
        }
    }

    @Test func aCutReachesAConnectionThatIsPaused() throws {
        let line = PeerLine.paused(peer.request(url("/echo")))
        guard case .opened = try line.events.next() else { Issue.record("not opened"); return }
        line.link.cut()
        #expect(try line.next() == .closed(code: nil, reason: "", byPeer: false))
    }

    @Test func aCloseDuringAPauseIsAnsweredAllTheSame() throws {
        let line = PeerLine.paused(peer.request(url("/echo")))
        line.link.close(code: 1000, reason: "")
        #expect(try line.next() == .closed(code: 1000, reason: "", byPeer: false))
    }

    @Test func aCutEndsAtOnceWithoutAClosingFrame() throws {
        let line = PeerLine(peer.request(url("/echo")))
        line.link.send(text: [97])
        #expect(try line.next() == .text("a"))
        line.link.cut()
        #expect(try line.next() == .closed(code: nil, reason: "", byPeer: false))
        #expect(try peer.peer.line() == "closed 1006 ")
        line.link.cut()
        line.link.send(text: [97])
        #expect(line.events.isEmpty)
    }

    @Test func lettingGoCuts() throws {
        let events = Queue<WebSocketEvent>()
        do {
            let connection: any WebSocketLink = WebSocketConnection(peer.request(url("/echo"))) { events.put($0) }
            connection.send(text: [97])
            guard case .opened = try events.next() else { Issue.record("not opened"); return }
            #expect(try events.next() == .text("a"))
        }
        #expect(try events.next() == .closed(code: nil, reason: "", byPeer: false))
    }

    @Test func manyConnectionsLiveSideBySide() throws {
        let lines = (0..<50).map { _ in PeerLine(peer.request(url("/echo"))) }
        for (number, line) in lines.enumerated() { line.link.send(text: Array("\(number)".utf8)) }
        for (number, line) in lines.enumerated() { #expect(try line.next() == .text("\(number)")) }
    }
}

extension String {
    fileprivate var replacingUmlaut: String {
        split(separator: "ü", omittingEmptySubsequences: false).joined(separator: "%C3%BC")
    }
}
