import AgentKit
import BridgeModel
import Testing

/// An agent's machine and the events that it meets: its orders as lines.
protocol MachineConversation {
    associatedtype Machine: AgentMachine

    var machine: Machine { get set }
    var now: Instant { get set }
    mutating func occasion() -> Occasion
    mutating func lines(_ orders: [AgentOrder]) -> [String]
}

extension MachineConversation {
    /// Time passes, and deadlines on its way are met.
    mutating func waits(_ milliseconds: Int64) -> [String] {
        let end = now + .milliseconds(milliseconds)
        var all: [String] = []
        var alarms = 0
        while let deadline = machine.nextDeadline, deadline <= end {
            alarms += 1
            guard alarms < 1_000 else { return all + ["its alarm rings for ever"] }
            now = max(now, deadline)
            let occasion = occasion()
            all += lines(machine.timePassed(occasion))
            // Its alarm would ring without pause.
            if let left = machine.nextDeadline, left <= now {
                Issue.record("the deadline \(left) has passed and stays")
            }
        }
        now = end
        return all
    }
}
