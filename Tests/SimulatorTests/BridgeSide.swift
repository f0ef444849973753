import RelayRules
import Simulator
import Transport
import Vocabulary
import WireTesting

/// The bridge's end of its socket, with our client.
final class BridgeSide: Sendable {
    let events = Queue<WebSocketEvent>()
    private let link: any WebSocketLink

    init(_ stage: Stage, token: String? = nil, query: String = "") {
        var request = WebSocketRequest(url: "ws://127.0.0.1:\(stage.simulator.port)/v1/bridge/ws\(query)")
        request.headers = [HTTPHeader("Authorization", "Bearer \(token ?? stage.simulator.bridgeToken)")]
        link = CurlWebSocketClient().open(request) { [events] in events.put($0) }
    }

    func say(_ frame: String) { link.send(text: Array(frame.utf8)) }
    func sayBinary(_ bytes: [UInt8]) { link.send(binary: bytes) }
    func ping() { link.ping() }
    func cut() { link.cut() }

    struct Unexpected: Error { let event: String }

    /// Waits for the upgrade.
    func opened() throws {
        guard case .opened = try events.next() else { throw Unexpected(event: "not opened") }
    }

    /// The next event: a frame's text, or `closed` with its code, `refused` with its status, `lost`.
    func next() throws -> String {
        switch try events.next() {
        case .text(let text): String(decoding: text, as: UTF8.self)
        case .closed(let code, _, _): "closed \(code ?? 0)"
        case .refused(let status, _, _): "refused \(status)"
        case .failed(let failure): failure.code == .connectionLost ? "lost" : "failed \(failure)"
        case .opened: "opened"
        case .binary: "binary"
        case .ping: "ping of the protocol"
        case .pong: "pong of the protocol"
        }
    }

    /// The type of the next frame, and for an update its id and type.
    func nextType() throws -> String {
        let text = try next()
        guard text.hasPrefix("{") else { return text }
        guard let update = try? value(of: "update_id", in: text) else { return try value(of: "type", in: text) }
        return try "\(update) \(value(of: "type", in: text.replacing(#""type":"update""#, with: "")))"
    }

    /// Waits for the answer to a JSON ping: the simulator has handled everything sent before it.
    func settle() throws {
        say(#"{"type":"ping"}"#)
        let answer = try nextType()
        guard answer == "pong" else { throw Unexpected(event: answer) }
    }
}
