import Glibc
import Testing
import Transport
import Vocabulary
import WireTesting

/// The peers to which a WebSocket may open: checked by certificate, or by the owner of a Unix socket.
@Suite struct WebSocketTrustTests {
    private let peer: WebSocketPeer

    init() throws { peer = try WebSocketPeer() }

    @Test func aPinnedCertificateNeedsNoAuthority() throws {
        let line = PeerLine(WebSocketRequest(url: peer.secure + "/echo", leafPin: peer.leafPin))
        line.link.send(text: [97])
        #expect(try line.next() == .text("a"))
    }

    @Test func toAnotherCertificateNothingIsSent() throws {
        var other = peer.leafPin
        other[0] ^= 1
        let line = PeerLine(
            WebSocketRequest(
                url: peer.secure + "/echo", authorityFile: peer.authorityFile, leafPin: other))
        guard case .failed(let failure) = try line.events.next() else {
            Issue.record("opened")
            return
        }
        #expect(failure.code == .tlsFailed)
        let digits = peer.leafPin.prefix(4).map {
            $0 < 16 ? "0" + String($0, radix: 16) : String($0, radix: 16)
        }
        #expect(failure.message.contains(digits.joined()))
        // The server hears of no connection before this one.
        let good = PeerLine(
            WebSocketRequest(url: peer.secure + "/close?code=4001&reason=x", leafPin: peer.leafPin))
        #expect(try good.next() == .text("last words"))
        #expect(try peer.peer.line() == "closed 4001 x")
    }

    @Test func aPinThatCannotBeHeldToIsAFailure() throws {
        #expect(
            try PeerLine(WebSocketRequest(url: peer.plain + "/echo", leafPin: peer.leafPin)).failure()
                == .badURL)
        #expect(
            try PeerLine(WebSocketRequest(url: peer.secure + "/echo", leafPin: [1, 2])).failure()
                == .tlsFailed)
        #expect(
            try PeerLine(WebSocketRequest(url: peer.secure + "/echo", leafPin: [])).failure() == .tlsFailed)
    }

    @Test func aUnixSocketTakesThePlaceOfHostAndPort() throws {
        let line = PeerLine(
            WebSocketRequest(url: "ws://localhost/headers?name=Host", unixPath: peer.unixPath))
        #expect(try line.next() == .text("localhost"))
    }

    @Test func aSocketThatCannotBeUsedIsAFailure() throws {
        func failure(_ path: String) throws -> WebSocketFailure.Code? {
            try PeerLine(WebSocketRequest(url: "ws://localhost/echo", unixPath: path)).failure()
        }
        #expect(try failure("/" + String(repeating: "x", count: 100)) == .badURL)
        #expect(try failure("relative") == .badURL)
        #expect(try failure(peer.authorityFile) == .badURL)
        #expect(try failure(peer.unixPath + "x") == .connectionRefused)
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a socket away"))
    func aSocketOfAnotherUserIsNotDialled() throws {
        #expect(chown(peer.unixPath, 65_534, gid_t.max) == 0)
        let line = PeerLine(WebSocketRequest(url: "ws://localhost/echo", unixPath: peer.unixPath))
        guard case .failed(let failure) = try line.events.next() else {
            Issue.record("opened")
            return
        }
        #expect(failure.code == .foreignListener && failure.message.contains("65534"))
    }
}
