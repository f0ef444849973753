import Vocabulary

final class VirtualLink: WebSocketLink, @unchecked Sendable {
    var onSend: (([UInt8]) -> Void)?
    var onClose: ((Int?) -> Void)?
    private(set) var isOver = false

    func send(text: [UInt8]) { if !isOver { onSend?(text) } }
    func send(binary: [UInt8]) {}
    func ping() {}
    func close(code: Int, reason: String) { end(code) }
    func cut() { end(nil) }
    func pauseReading() {}
    func resumeReading() {}

    private func end(_ code: Int?) {
        guard !isOver else { return }
        isOver = true
        onClose?(code)
        (onSend, onClose) = (nil, nil)
    }
}

/// The network of one process of the bridge on one side.
final class VirtualSockets: WebSocketClient, HTTPClient, @unchecked Sendable {
    static let relay = "http://127.0.0.1:8787"

    private let side: WorldSide
    private let life: Int

    init(side: WorldSide, life: Int) {
        self.side = side
        self.life = life
    }

    func open(
        _ request: WebSocketRequest, handler: @escaping @Sendable (WebSocketEvent) -> Void
    ) -> any WebSocketLink { side.open(request, life, handler) }

    func send(_ request: HTTPRequest, completion: @escaping @Sendable (Result<HTTPResponse, HTTPFailure>) -> Void) {
        side.call(request, life, completion)
    }

    func close() {}
}
