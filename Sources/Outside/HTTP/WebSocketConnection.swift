import OSThreads
package import Vocabulary
import WebSocketCodec
package import WebSocketLoop

/// A WebSocket connection over libcurl, with a thread of its own. It connects at once, and the thread ends with the last event.
///
/// TLS is always verified; a proxy is taken from the environment. Releasing the connection cuts it; the handler then gets one
/// last event. If the system has no thread or descriptor left, the handler gets the failure before `init` returns.
package final class WebSocketConnection: ControlledLink {
    package let control: LinkControl

    package init(_ request: WebSocketRequest, handler: @escaping @Sendable (WebSocketEvent) -> Void) {
        let control = LinkControl(sendLimit: request.sendLimit)
        self.control = control
        guard control.isUsable else {
            control.finish()
            handler(.failed(WebSocketFailure(.other, LinkControl.noDescriptorSentence)))
            return
        }
        let started = startThread {
            Opening(request: request, control: control, handler: handler).run()
        }
        guard !started else { return }
        control.finish()
        handler(.failed(WebSocketFailure(.other, "the system has no thread left for a connection; see `ulimit -u`")))
    }

    deinit { control.cut() }
}

package struct CurlWebSocketClient: WebSocketClient {
    package init() {}

    package func open(
        _ request: WebSocketRequest, handler: @escaping @Sendable (WebSocketEvent) -> Void
    ) -> any WebSocketLink {
        WebSocketConnection(request, handler: handler)
    }
}

/// The work of a connection's thread: connect, shake hands, run the loop, report the end.
private struct Opening {
    let request: WebSocketRequest
    let control: LinkControl
    let handler: @Sendable (WebSocketEvent) -> Void

    private static let wasCut = WebSocketEvent.closed(code: nil, reason: "", byPeer: false)

    func run() {
        do {
            try carry()
        } catch {
            end(.failed(error))
        }
    }

    private func end(_ event: WebSocketEvent) {
        control.finish()
        handler(event)
    }

    private func carry() throws(WebSocketFailure) {
        let address = try WebSocketAddress(request.url)
        guard let stream = CurlStream(address, request) else {
            throw WebSocketFailure(.other, "libcurl has no memory for a connection")
        }
        guard try stream.connect(control) else { return end(Self.wasCut) }
        let handshake = ClientHandshake(address: address, request: request, stream: stream, control: control)
        switch try handshake.run() {
        case .cut: end(Self.wasCut)
        case .refused(let head, let body): end(.refused(status: head.status, headers: head.headers, body: body))
        case .accepted(let head, let early):
            handler(.opened(head.headers))
            let loop = SocketLoop(
                pipe: stream, early: early, control: control,
                settings: SocketLoop.Settings(
                    role: .client, messageLimit: request.messageLimit, closeTimeout: request.closeTimeout),
                handler: handler)
            end(loop.run())
            loop.linger()
        }
    }
}
