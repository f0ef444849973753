import Locking
package import RelayRules

// Orders of a test in the same process to the bridge's socket. The control routes serve others in the same way.
extension RelaySimulator {
    /// Plans a fault for the next connections or updates.
    package func plan(_ fault: SocketFault) { change { $0.relay.plan(fault) } }
    package func forgetSocketFaults() { change { $0.relay.forgetSocketFaults() } }

    /// Closes the open sockets. A code that the protocol does not allow cuts them.
    package func closeSockets(code: Int, reason: String = "") {
        change { $0.relay.closeSockets(code: code, reason: reason) }
    }
    package func cutSockets() { change { $0.relay.cutSockets() } }
    package func silenceSockets(halfOpen: Bool) { change { $0.relay.silenceSockets(halfOpen: halfOpen) } }
    package var sockets: [SocketReport] { state.withLock { $0.relay.socketReports } }

    /// Queues any update of relay.md#updates-relay-to-bridge, with a JSON object as payload, and returns its id.
    @discardableResult
    package func pushUpdate(type: String, session: String? = nil, interaction: String? = nil, payload: String) -> String
    {
        let now = clock.now()
        return change { state in
            state.relay.pushUpdate(
                type: type, session: session, interaction: interaction, payload: Array(payload.utf8), at: now)
        }
    }

    /// Sends a request such as `models.list.req` and returns its id, or nil if no bridge is connected.
    package func ask(type: String?, fields: String = "{}") -> String? {
        change { $0.relay.ask(type: type, fields: Array(fields.utf8)) }
    }
    package func remoteRequest(_ id: String) -> RemoteRequest? { state.withLock { $0.relay.remoteRequest(id) } }

    /// False if there is no such token.
    @discardableResult
    package func revoke(token: String) -> Bool { change { $0.relay.revoke(token: token) } }

    package func revokeInstallation(reason: String = "user_uninstalled") {
        let now = clock.now()
        change { $0.relay.revokeInstallation(reason: reason, at: now) }
    }
}
