package import BridgeCore
import Metrics
package import Vocabulary

/// Figures of one page of metrics, at one moment.
package struct MetricFigures: Sendable {
    package struct Connection: Sendable {
        package var name: ConnectionName
        package var relayIsUp = false
        package var agentIsUp = false
        /// The core's figures, or nil once the machine has been shut down.
        package var bridge: BridgeFigures?

        package init(_ name: ConnectionName) { self.name = name }
    }

    package var version: String
    package var connections: [Connection] = []
    package var agentProcesses = 0
    package var journalBytes: Int64 = 0
    package var logLinesDropped = 0
    package var heldBytes = 0
    package var residentBytes = 0

    package init(version: String) { self.version = version }

    /// The page, with what the meter has counted.
    package func page(_ meter: Meter) -> String {
        let counts = meter.state
        var page = MetricsText()
        page.add(.buildInfo, [MetricSample([version], 1)])
        page.add(.turns, counts.turns.samples)
        page.add(.relayCalls, counts.calls.samples)
        page.add(.relayRefusals, counts.refusals.samples)
        page.add(
            .bucketLevel,
            connections.flatMap { connection in
                RelayBucket.allCases.compactMap { bucket in
                    connection.bridge?.levels[bucket].map { MetricSample([connection.name.text, bucket.rawValue], $0) }
                }
            })
        page.add(.laneWaiting, ofEach { Double($0.waitingPosts) })
        page.add(.laneOldest, ofEach { max(0, Double(($0.longestWait ?? .zero).nanoseconds) / 1e9) })
        page.add(.placeholder, counts.placeholder)
        page.add(.addedLatency, counts.addedLatency)
        let asks = connections.flatMap { $0.bridge?.asks ?? [] }
        page.add(.approvalsOpen, Double(asks.count { $0.cards > 0 }))
        page.add(.questionsOpen, Double(asks.count { $0.cards == 0 }))
        page.add(.asksUnanswered, Double(asks.count { $0.ended > 0 && !$0.isOnPhone }))
        page.add(
            .linkUp,
            connections.flatMap { connection in
                [
                    MetricSample([connection.name.text, "relay"], connection.relayIsUp ? 1 : 0),
                    MetricSample([connection.name.text, "agent"], connection.agentIsUp ? 1 : 0),
                ]
            })
        page.add(.reconnects, counts.reconnects.samples)
        page.add(.agentProcesses, Double(agentProcesses))
        page.add(.notices, counts.notices.samples)
        page.add(.journalBytes, Double(journalBytes))
        page.add(.journalCommit, counts.commits)
        page.add(.logDropped, Double(logLinesDropped))
        page.add(.heldBytes, Double(heldBytes))
        page.add(.residentMemory, Double(residentBytes))
        return page.text
    }

    private func ofEach(_ figure: (BridgeFigures) -> Double) -> [MetricSample] {
        connections.compactMap { connection in
            connection.bridge.map { MetricSample([connection.name.text], figure($0)) }
        }
    }
}
