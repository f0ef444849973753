import AgentKit
import Agents
import Worlds

/// The agents under the contract. An agent is in it by one line; the least one is in no registry but this one's.
enum ContractTable {
    static let live: [ContractEntry] = [
        ContractEntry(OpenClawContract()),
        ContractEntry(PiContract()),
        ContractEntry(OppiContract(dialect: .seed)),
        ContractEntry(OppiContract(dialect: .head)),
        ContractEntry(CodexContract()),
        ContractEntry(ClaudeContract()),
        ContractEntry(LeastContract()),
    ]

    /// The agents of the program, and the least one.
    static let registry = AgentRegistry(
        AgentRegistry.all.plugins
            + live.map(\.agent.plugin).filter { AgentRegistry.all[kind: $0.kind] == nil })

    /// A fault that an agent makes up for by what it is.
    static func isHarmless(_ fault: MachineFault, to agent: any ContractAgent) -> Bool {
        agent.forgives.contains(fault)
    }
}
