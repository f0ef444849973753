package import BridgeModel
package import Links

extension OpenClawSession: SessionMachine {
    package mutating func heard(at now: Instant) {}

    package static func socketOrder(_ order: Order) -> SocketOrder? {
        switch order {
        case .dial(let url, let headers): .dial(url: url, headers: headers)
        case .send(let frame): .send(frame)
        case .close(let code, let reason): .close(code: code, reason: reason)
        case .observed, .saveDeviceToken, .note: nil
        }
    }
}
