import LocalServer
import Locking
package import RelayRules

// Faults of more than one call or socket: offline phones, a relay that goes down.
extension RelaySimulator {
    package func plan(_ kind: FaultKind, method: String? = nil, count: Int = 1) {
        change { $0.relay.plan(kind, method: method, count: count) }
    }

    package func mixFaults(_ mix: FaultMix) { change { $0.relay.mixFaults(mix) } }

    func carryOut(_ orders: [EdgeOrder]) {
        for case .restart(let milliseconds) in orders { goDown(milliseconds: milliseconds) }
    }

    /// Goes down, and up again on the same port. Runs on the clock's thread, since no thread of the server can stop it.
    private func goDown(milliseconds: Int) {
        clock.after(0) { [weak self] in
            guard let self else { return }
            let last = server.withLock { server in
                defer { server = nil }
                return server
            }
            // The server was stopped, or is down already.
            guard let last else { return }
            let address = last.baseURL.dropFirst("http://".count)
            last.stop()
            clock.after(milliseconds) { [weak self] in self?.comeUp(on: String(address)) }
        }
    }

    /// Another program may hold the port, for a moment or as long as it runs: after `quickTries` the caller learns of it.
    private func comeUp(on address: String, tries: Int = 1) {
        guard state.withLock({ $0.isRunning }), server.withLock({ $0 }) == nil else { return }
        do { try listen(on: address) } catch {
            if tries == Self.quickTries {
                settings.trouble("the relay cannot come up again: \(error); it is tried again every second")
            }
            let isQuick = tries < Self.quickTries
            clock.after(isQuick ? 100 : 1_000) { [weak self] in self?.comeUp(on: address, tries: tries + 1) }
            return
        }
        if tries >= Self.quickTries { settings.trouble("the relay is up again on \(baseURL)") }
    }

    /// Five seconds of tries.
    private static let quickTries = 50
}
