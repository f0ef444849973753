package import AgentKit
import BridgeModel

/// Facts and running children as the journal names them: settings of the connection.
package struct KeptFacts: Sendable {
    private static let process = "process "
    private let prefix: String

    package init(_ kind: AgentKind) { prefix = "agent \(kind.rawValue) " }

    /// Of all settings, those of this agent.
    func past(_ settings: [Fact], turns: [EarlierTurn]) -> AgentPast {
        var past = AgentPast()
        past.turns = turns
        for setting in settings.sorted(by: { $0.name < $1.name }) where setting.name.hasPrefix(prefix) {
            let name = String(setting.name.dropFirst(prefix.count))
            if let process = Self.process(name) {
                past.processes.append(process)
            } else {
                past.facts.append(Fact(name, setting.value))
            }
        }
        return past
    }

    func entries(_ facts: [Fact]) -> [JournalEntry] {
        facts.map { .setting(name: prefix + $0.name, value: $0.value) }
    }

    /// What is written down of a child before it runs, and forgotten after its end.
    static func fact(of process: ProcessName, isRunning: Bool) -> Fact {
        Fact("\(Self.process)\(process.id) \(process.startTicks)", isRunning ? [] : nil)
    }

    private static func process(_ name: String) -> ProcessName? {
        guard name.hasPrefix(process) else { return nil }
        let parts = name.dropFirst(process.count).split(separator: " ")
        guard parts.count == 2, let id = Int32(parts[0]), let ticks = UInt64(parts[1]) else { return nil }
        return ProcessName(id: id, startTicks: ticks)
    }
}
