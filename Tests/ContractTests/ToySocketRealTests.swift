import AgentKit
import Testing
import ToySocket
import Vocabulary
import WireTesting

@Suite("The toy on a real socket")
struct ToySocketRealTests {
    @Test("a run, and its connection closed in order")
    func run() throws {
        let peer = try Peer("toy_socket.py", root: RealOutside.root)
        let port = try #require(try peer.line().split(separator: " ").last)
        let outside = try RealOutside(ToySocketPlugin(), configuration: #", "url": "ws://127.0.0.1:\#(port)""#)
        _ = try outside.next { $0 == .linkBack ? true : nil }
        outside.send("Hello over a real socket", run: "r1")
        let answer = try outside.next { if case .sendAnswered(_, let answer) = $0 { answer } else { nil } }
        #expect(answer == .accepted(run: RunID("r1")))
        #expect(try outside.end() == "Hello over a real socket")
        #expect(try outside.closes())
        withExtendedLifetime(peer) {}
    }
}
