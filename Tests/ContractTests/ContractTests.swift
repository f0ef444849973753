import AgentKit
import Testing

@Suite("The contract that every agent passes against its own double")
struct ContractTests {
    @Test("all of it", arguments: ContractTable.live, Contract.checks.map(\.name))
    func holds(_ entry: ContractEntry, _ name: String) throws {
        let check = try #require(Contract.checks.first { $0.name == name }?.check)
        let found = check(Contract(agent: entry.agent))
        #expect(found.isEmpty, "\(found.prefix(5).joined(separator: "; "))")
    }

    @Test("what is planted is found", arguments: ContractTable.live, MachineFault.allCases)
    func catches(_ entry: ContractEntry, _ fault: MachineFault) {
        guard !ContractTable.isHarmless(fault, to: entry.agent) else { return }
        let contract = Contract(agent: entry.agent, fault: fault)
        #expect(Contract.checks.contains { !$0.check(contract).isEmpty }, "nothing was found")
    }

    @Test("every live agent of the program is in the table")
    func complete() {
        let live = ContractTable.registry.plugins.filter(\.isLive).map(\.kind)
        #expect(Set(live) == Set(ContractTable.live.map(\.agent.plugin.kind)))
    }
}
