import Vocabulary

extension JournalFailure {
    /// Remedy for the person at the phone, who may be far from the machine.
    var remedyForUser: String {
        code == .full
            ? "There must be room on the agent's machine first."
            : "On the agent's machine, \"sophon-bridge status\" says what is wrong."
    }
}
