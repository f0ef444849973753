/// Carries machines: one implementation serves `run`, `doctor` and the tests.
package protocol AgentHost {
    /// `settings` rereads them, on the thread that carries out the machine's orders, or returns nil if they cannot be read now.
    func carry<Machine: AgentMachine & ~Copyable>(
        _ machine: consuming sending Machine, settings: @escaping @Sendable () -> Machine.Settings?
    ) -> any AgentLink
}

extension AgentHost {
    /// A machine whose settings cannot change.
    package func carry<Machine: AgentMachine & ~Copyable>(
        _ machine: consuming sending Machine
    ) -> any AgentLink { carry(machine) { nil } }
}
