package import AgentKit
import Vocabulary

/// Names of facts and running children in the journal: settings of the connection.
package struct KeptFacts: Sendable {
    private let kind: AgentKind
    private let prefix: String

    package init(_ kind: AgentKind) {
        self.kind = kind
        prefix = "agent \(kind.rawValue) "
    }

    /// Past of this agent, out of all settings.
    func past(_ settings: [Fact], turns: [EarlierTurn]) -> AgentPast {
        var past = AgentPast()
        past.turns = turns
        for setting in settings.sorted(by: { $0.name < $1.name }) where setting.name.hasPrefix(prefix) {
            if let process = KeptProcess(setting: setting.name, value: setting.value ?? []) {
                past.processes.append(process.name)
            } else {
                past.facts.append(Fact(String(setting.name.dropFirst(prefix.count)), setting.value))
            }
        }
        return past
    }

    func entries(_ facts: [Fact]) -> [JournalEntry] {
        facts.map { .setting(name: prefix + $0.name, value: $0.value) }
    }

    /// Entry of a child, written before it runs.
    func entry(of process: ProcessName, _ plan: ChildPlan) -> JournalEntry {
        let kept = KeptProcess(kind, process, plan)
        return .setting(name: kept.setting, value: kept.value)
    }

    /// Entries that delete ended children.
    func entries(ofEnded processes: [ProcessName]) -> [JournalEntry] {
        processes.map { .setting(name: KeptProcess.setting(of: $0, kind), value: nil) }
    }
}
