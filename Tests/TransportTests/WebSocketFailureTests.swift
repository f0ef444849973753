import Glibc
import Testing
import Transport
import Vocabulary
import WireTesting

/// Servers that misbehave as no library does.
@Suite struct WebSocketFailureTests {
    let peer: WebSocketPeer

    init() throws { peer = try WebSocketPeer() }

    private func request(_ path: String) -> WebSocketRequest { peer.request(peer.raw + path) }

    @Test func aServerThatDoesNotAnswerTimesOut() throws {
        var request = request("/silent")
        request.handshakeTimeout = .milliseconds(50)
        #expect(try PeerLine(request).failure() == .timedOut)
        #expect(try peer.peer.line() == "gone")
    }

    @Test func aCutReachesAConnectionInItsHandshake() throws {
        let line = PeerLine(request("/silent"))
        line.link.cut()
        #expect(try line.events.next() == .closed(code: nil, reason: "", byPeer: false))
    }

    @Test func framesThatComeWithTheAnswerAreNotLost() throws {
        let line = PeerLine(request("/early"))
        #expect(try line.next() == .text("one"))
        #expect(try line.next() == .text("two"))
    }

    @Test func anAnswerMayComeByteByByteAfterAnInterimOne() throws {
        let line = PeerLine(request("/trickle"))
        guard case .opened(let headers) = try line.events.next() else { Issue.record("not opened"); return }
        #expect(headers.contains { $0.name == "Upgrade" })
        #expect(try line.next() == .text("one"))
    }

    @Test(arguments: ["/wrong-accept", "/not-http"]) func aWrongYesIsABadHandshake(path: String) throws {
        #expect(try PeerLine(request(path)).failure() == .badHandshake)
    }

    @Test func aServerThatHangsUpBeforeItAnswersIsLost() throws {
        #expect(try PeerLine(request("/hang-up")).failure() == .connectionLost)
    }

    @Test func aChunkedRefusalIsPutTogether() throws {
        let line = PeerLine(request("/chunked"))
        let event = try line.next()
        guard case .refused(403, _, let body) = event else {
            Issue.record("\(event)")
            return
        }
        #expect(body == Array("abcde".utf8))
    }

    @Test func aRefusalWhoseBodyDoesNotEndIsToldWhenTheTimeIsUp() throws {
        var request = request("/endless")
        // Three seconds let the head arrive in time on a busy machine; the body never ends.
        request.handshakeTimeout = .seconds(3)
        let line = PeerLine(request)
        let event = try line.next()
        guard case .refused(503, _, let body) = event else {
            Issue.record("\(event)")
            return
        }
        #expect(body == Array("no end".utf8))
    }

    @Test func anEndWithoutAClosingFrameIsALoss() throws {
        let line = PeerLine(request("/end"))
        #expect(try line.next() == .text("one"))
        #expect(try line.failure() == .connectionLost)
    }

    @Test(arguments: [
        ("/masked", WebSocketFailure.Code.protocolError, 1002), ("/bad-text", .invalidText, 1007),
        ("/huge", .messageTooLarge, 1009),
    ])
    func aPeerThatBreaksTheProtocolIsToldTheCode(
        path: String, failure: WebSocketFailure.Code, code: Int
    ) throws {
        #expect(try PeerLine(request(path)).failure() == failure)
        #expect(try peer.peer.line() == "code \(code)")
    }

    @Test func aCloseThatNobodyAnswersEndsInItsTime() throws {
        var request = request("/deaf")
        request.closeTimeout = .milliseconds(50)
        let line = PeerLine(request)
        guard case .opened = try line.events.next() else { Issue.record("not opened"); return }
        line.link.close(code: 1000, reason: "")
        #expect(try line.next() == .closed(code: nil, reason: "", byPeer: false))
        #expect(try peer.peer.line() == "gone")
    }

    @Test func aCloseBeforeTheOpeningIsSentWhenItIsOpen() throws {
        let line = PeerLine(peer.request(peer.plain + "/echo"))
        line.link.close(code: 1001, reason: "bye")
        #expect(try line.next() == .closed(code: 1001, reason: "bye", byPeer: false))
    }

    @Test func aPortWhereNobodyListensRefuses() throws {
        let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        // The socket is bound and does not listen: no other process can take the port meanwhile.
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = bind(socket, $0, length)
                getsockname(socket, $0, &length)
            }
        }
        let port = UInt16(bigEndian: address.sin_port)
        #expect(try PeerLine(WebSocketRequest(url: "ws://127.0.0.1:\(port)")).failure() == .connectionRefused)
    }

    @Test(arguments: [
        "http://h/", "ws://", "ws://user:pass@h/", "ws://h/a b", "ws://h/\r\nX: y", "wss:///path", "ws://h:port/",
    ])
    func anAddressThatCannotBeUsedIsRefused(url: String) throws {
        let line = PeerLine(WebSocketRequest(url: url))
        #expect(try line.failure() == .badURL)
        #expect(line.events.isEmpty)
    }

    @Test func anUnknownNameIsNotFound() throws {
        #expect(try PeerLine(WebSocketRequest(url: "ws://name.invalid/")).failure() == .nameNotFound)
    }
}
