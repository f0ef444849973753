import LocalServer
import Locking
import RelayRules
import Vocabulary

// The bridge's socket (relay.md#the-bridge-websocket): the rules decide, this code carries.
extension RelaySimulator {
    /// Send buffer for a bridge that does not read; a fuller one cuts it.
    private static let sendLimit = 32 << 20

    func bridgeSocket(_ request: LocalRequest) -> LocalAnswer {
        let raw = Self.raw(request)
        let now = clock.now()
        if let refusal = change({ $0.relay.refusesUpgrade(raw, at: now) }) {
            return .whole(Self.localResponse(refusal))
        }
        var acceptance = WebSocketAcceptance { [weak self] link in
            guard let self else { return { _ in } }
            let now = clock.now()
            let socket = change { state in
                let socket = state.relay.socketOpened(by: raw, at: now)
                state.links[socket] = link
                return socket
            }
            return { [weak self] event in self?.happened(event, on: socket) }
        }
        acceptance.messageLimit = settings.relay.socket.messageLimit
        acceptance.sendLimit = Self.sendLimit
        return .webSocket(acceptance)
    }

    private func happened(_ event: WebSocketEvent, on socket: SocketID) {
        let now = clock.now()
        change { state in
            switch event {
            case .text(let text): state.relay.textReceived(text, on: socket, at: now)
            case .binary: state.relay.binaryReceived(on: socket, at: now)
            case .closed: state.end(socket)
            case .failed(let failure):
                if [.protocolError, .invalidText, .messageTooLarge].contains(failure.code) {
                    state.relay.protocolBroken("The connection was ended: \(failure).", on: socket, at: now)
                }
                state.end(socket)
            case .opened, .ping, .pong, .refused: break
            }
        }
    }
}

extension SimulatorState {
    fileprivate mutating func end(_ socket: SocketID) {
        relay.socketEnded(socket)
        links[socket] = nil
    }
}
