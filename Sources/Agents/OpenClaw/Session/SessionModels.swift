import Vocabulary

/// Models: the one that this link set for each session, and the one that each message wants.
///
/// - A choice is sent once, before its message leaves for the first time on a link (`next`); any answer releases the message.
/// - A model that this link set is not set again unless the gateway reports a change. A new socket
///   starts without knowledge: another client may have changed the model meanwhile.
struct SessionModels {
    private enum Step: Hashable { case due, asked, done }

    private static let limit = 1_000

    private var wanted: [RunID: (choice: ModelChoice, step: Step)] = [:]
    /// Model of each session; nil stands for the agent's own.
    private var set: [AgentSession: String?] = [:]

    mutating func wants(_ choice: ModelChoice, for run: RunID) {
        if choice != .unchanged { wanted[run] = (choice, .due) }
    }

    /// The model to set before this message leaves, or nil if none is left to set.
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
        // Unknown until the answer comes.
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

    /// `names`: possible spellings of the new model.
    mutating func changed(in session: AgentSession, to names: [String]) {
        if case .some(.some(let model)) = set[session], !names.contains(model) { set.removeValue(forKey: session) }
    }

    mutating func forget(_ run: RunID) { wanted[run] = nil }
    /// The message leaves again under another key.
    mutating func move(_ run: RunID, to fresh: RunID) { wanted[fresh] = wanted.removeValue(forKey: run) }

    mutating func socketLost() {
        set = [:]
        for run in wanted.keys { wanted[run]?.step = .due }
    }
}
