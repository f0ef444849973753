/// Faults of a bridge for `status --healthy`. A healthy bridge runs, reports every few seconds, can write its journal, and hears the relay.
/// The agent may be unreachable: the phone says so (DESIGN.md#links-and-watchdogs).
package struct Health: Hashable, Sendable {
    package enum Fault: String, Hashable, Sendable {
        case notRunning = "not_running"
        case stale
        case journal
        case relay
        /// The relay accepts nothing more from a connection until it is paired again.
        case relayStopped = "relay_stopped"
    }

    package struct Finding: Hashable, Sendable {
        package var fault: Fault
        /// The fault in words, and what to do.
        package var message: String
    }

    package private(set) var findings: [Finding] = []

    package var isHealthy: Bool { findings.isEmpty }

    package init(status: BridgeStatus?, isLocked: Bool, isStateWritable: Bool, wallMilliseconds: Int64) {
        guard isLocked else {
            add(.notRunning, "no bridge runs here; start one: sophon-bridge run, or sophon-bridge service restart")
            return
        }
        guard let status else {
            add(.stale, "the bridge has not said yet how it is; ask again in some seconds")
            return
        }
        let age = status.age(at: wallMilliseconds)
        if age >= StatusFile.freshMilliseconds {
            add(.stale, "the bridge has said nothing for \(age / 1_000) s; look into its log, then restart it")
        }
        if let fault = status.journalFault {
            add(.journal, "the journal cannot be written (\(fault)); free some space, or let the bridge write there")
        } else if !isStateWritable {
            add(.journal, "the state directory cannot be written; let this user write there")
        }
        for connection in status.connections where !connection.relay.isUp {
            let words = StatusText.words(connection.relay, of: "the relay", wallMilliseconds: wallMilliseconds)
            add(connection.relay.state == .stopped ? .relayStopped : .relay, "\(connection.name): \(words)")
        }
    }

    /// Unmet conditions of readiness, one line each. Reasons of links are omitted, since a peer may have worded them.
    package static func hindrances(_ status: BridgeStatus, isStateWritable: Bool) -> [String] {
        var lines: [String] = []
        if status.journalFault != nil || !isStateWritable { lines.append("the journal cannot be written") }
        for connection in status.connections {
            for (side, link) in [("relay", connection.relay), ("agent", connection.agent.link)] where !link.isUp {
                lines.append("\(connection.name): the link to the \(side) is down (\(link.state.rawValue))")
            }
        }
        return lines
    }

    private mutating func add(_ fault: Fault, _ message: String) {
        findings.append(Finding(fault: fault, message: message))
    }
}
