package import Links
package import RelayProtocol

extension RelayLink: SessionMachine {
    package static func socketOrder(_ order: Order) -> SocketOrder? {
        switch order {
        case .dial(let url, let headers): .dial(url: url, headers: headers)
        case .send(let frame): .send(frame)
        case .ping: .ping
        case .close(let code, let reason): .close(code: code, reason: reason)
        case .update, .request, .ready, .lost, .note, .stop: nil
        }
    }
}
