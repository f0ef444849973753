import Vocabulary

/// Which model each session has, as far as this link has set it, and which one each message is to have.
///
/// - A choice is asked for once before its message leaves for the first time on a link (`next`); the answer, whatever it is, lets the
///   message go.
/// - What this link has set is not set again, unless the gateway says that it was changed. Another socket knows nothing: the gateway may
///   have been given another model meanwhile.
struct SessionModels {
    private enum Step: Hashable { case due, asked, done }

    private static let limit = 1_000

    private var wanted: [RunID: (choice: ModelChoice, step: Step)] = [:]
    /// Nil: the agent's own.
    private var set: [AgentSession: String?] = [:]

    mutating func wants(_ choice: ModelChoice, for run: RunID) {
        if choice != .unchanged { wanted[run] = (choice, .due) }
    }

    /// What is to be set before this message leaves; nil: nothing more.
    mutating func next(for run: RunID, in session: AgentSession) -> ModelChoice? {
        guard let (choice, step) = wanted[run], step != .done else { return nil }
        let isSet: Bool =
            switch choice {
            case .unchanged: true
            case .own: set[session] == .some(nil)
            case .named(let model): set[session] == .some(model)
            }
        wanted[run]?.step = isSet ? .done : .asked
        guard !isSet else { return nil }
        // Until it is answered.
        set.removeValue(forKey: session)
        return choice
    }

    mutating func answered(_ choice: ModelChoice, for run: RunID, in session: AgentSession, isSet: Bool) {
        wanted[run]?.step = .done
        if set.count >= Self.limit { set = [:] }
        guard isSet else { return }
        if case .named(let model) = choice { set.updateValue(model, forKey: session) }
        if case .own = choice { set.updateValue(nil, forKey: session) }
    }

    /// `names`: how the new one may be spelt.
    mutating func changed(in session: AgentSession, to names: [String]) {
        if case .some(.some(let model)) = set[session], !names.contains(model) { set.removeValue(forKey: session) }
    }

    mutating func forget(_ run: RunID) { wanted[run] = nil }

    mutating func socketLost() {
        set = [:]
        for run in wanted.keys { wanted[run]?.step = .due }
    }
}
