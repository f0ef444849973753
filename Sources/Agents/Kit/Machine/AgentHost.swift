/// Carries machines: one implementation for `run`, `doctor` and the tests, so that all take the same way.
package protocol AgentHost {
    /// `settings` rereads them, on the thread that carries the machine's orders out; nil: they cannot be read now.
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
