import Locking
import Transport
import Vocabulary
import WireTesting

/// The Python server of Tests/Peers, and a connection to it.
struct WebSocketPeer {
    let peer: Peer
    let plain: String
    let secure: String
    let raw: String
    let authorityFile: String
    /// SHA-256 of the certificate behind `secure`.
    let leafPin: [UInt8]
    let unixPath: String

    init() throws {
        let root = #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 }
        peer = try Peer("websocket_server.py", root: root)
        let words = try peer.line().split(separator: " ").map(String.init)
        guard words.count == 7, words[0] == "ready" else {
            throw Peer.Failure.cannotStart(words.joined(separator: " "))
        }
        plain = "ws://127.0.0.1:\(words[1])"
        secure = "wss://127.0.0.1:\(words[2])"
        raw = "ws://127.0.0.1:\(words[3])"
        authorityFile = words[4]
        leafPin = bytes(ofHexadecimal: words[5])
        unixPath = words[6]
    }

    func request(_ url: String) -> WebSocketRequest {
        WebSocketRequest(url: url, authorityFile: url.hasPrefix("wss") ? authorityFile : nil)
    }
}

func bytes(ofHexadecimal text: String) -> [UInt8] {
    let digits = text.compactMap { $0.hexDigitValue }
    return stride(from: 0, to: digits.count - 1, by: 2).map {
        UInt8(digits[$0] * 16 + digits[$0 + 1])
    }
}

/// A WebSocket connection and its events.
final class PeerLine: Sendable {
    let events = Queue<WebSocketEvent>()
    let link: any WebSocketLink

    /// `onEvent` returns before the event is queued, so its calls on the link come before those of the test.
    init(
        _ request: WebSocketRequest, _ onEvent: @escaping @Sendable (WebSocketEvent) -> Void = { _ in }
    ) {
        let events = events
        link = CurlWebSocketClient().open(request) {
            onEvent($0)
            events.put($0)
        }
    }

    /// A connection that pauses as it opens: no frame is delivered until the test resumes, however late its thread
    /// is.
    static func paused(_ request: WebSocketRequest) -> PeerLine {
        let link = Locked<(any WebSocketLink)?>(nil)
        let isThere = Signal()
        let line = PeerLine(request) { event in
            guard case .opened = event else { return }
            _ = isThere.wait()
            link.withLock { link in
                link?.pauseReading()
                link = nil
            }
        }
        link.withLock { $0 = line.link }
        isThere.raise()
        return line
    }

    /// The next event that is not `opened`.
    func next() throws -> WebSocketEvent {
        while true {
            let event = try events.next()
            if case .opened = event { continue }
            return event
        }
    }

    func failure() throws -> WebSocketFailure.Code? {
        if case .failed(let failure) = try next() { return failure.code }
        return nil
    }
}

extension WebSocketEvent {
    static func text(_ string: String) -> Self { .text(Array(string.utf8)) }
}
