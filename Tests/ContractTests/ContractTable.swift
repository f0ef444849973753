import AgentKit
import Agents
import Worlds

/// The agents under the contract, one line each. Only this registry has the least agent.
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

    /// The program's agents and the least one.
    static let registry = AgentRegistry(
        AgentRegistry.all.plugins
            + live.map(\.agent.plugin).filter { AgentRegistry.all[kind: $0.kind] == nil })

    /// Whether the agent's nature makes up for the fault.
    static func isHarmless(_ fault: MachineFault, to agent: any ContractAgent) -> Bool {
        agent.forgives.contains(fault)
    }
}
