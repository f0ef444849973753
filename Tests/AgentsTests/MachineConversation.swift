import AgentKit
import Testing
import Vocabulary

/// An agent's machine and the events that it meets. Orders become lines.
protocol MachineConversation {
    associatedtype Machine: AgentMachine

    var machine: Machine { get set }
    var now: Instant { get set }
    /// The host's clock of reading, which stands while channels are not read.
    var reading: ReadingClock { get set }
    mutating func occasion() -> Occasion
    mutating func lines(_ orders: [AgentOrder]) -> [String]
}

extension MachineConversation {
    private var nextAlarm: Instant? {
        let reading = machine.nextReadingDeadline.flatMap { self.reading.moment(of: $0) }
        return [machine.nextDeadline, reading].compactMap(\.self).min()
    }

    mutating func pauses() { reading.stands(true, at: now) }
    mutating func resumes() { reading.stands(false, at: now) }

    /// Advances time and fires deadlines on the way.
    mutating func waits(_ milliseconds: Int64) -> [String] {
        let end = now + .milliseconds(milliseconds)
        var all: [String] = []
        var alarms = 0
        while let deadline = nextAlarm, deadline <= end {
            alarms += 1
            guard alarms < 1_000 else { return all + ["its alarm rings for ever"] }
            now = max(now, deadline)
            let occasion = occasion()
            all += lines(machine.timePassed(occasion))
            // A deadline that stays would ring without pause.
            if let left = nextAlarm, left <= now {
                Issue.record("the deadline \(left) has passed and stays")
            }
        }
        now = end
        return all
    }
}
