import AgentKit
import Vocabulary

/// How long each session's model thinks, as far as this link has set it, and what each message is to have.
///
/// - No list says which levels a model has: the words are tried from the highest one down, and the first that is taken counts.
/// - Another socket knows nothing, as with `SessionModels`.
struct SessionLevels {
    private struct Wanted {
        var choice: LevelChoice
        /// Words that are not tried yet; nil: the agent's own.
        var words: [String?]
        var isDone = false
    }

    private static let limit = 1_000

    private var wanted: [RunID: Wanted] = [:]
    private var set: [AgentSession: (choice: LevelChoice, word: String?)] = [:]

    mutating func wants(_ choice: LevelChoice, for run: RunID) {
        switch choice {
        case .unchanged: break
        case .own: wanted[run] = Wanted(choice: choice, words: [nil])
        case .level(let level):
            wanted[run] = Wanted(choice: choice, words: ThoughtWords.ladder(for: level, from: "xhigh"))
        }
    }

    /// What is to be set before this message leaves; nil: nothing more.
    mutating func next(for run: RunID, in session: AgentSession) -> (choice: LevelChoice, word: String?)? {
        guard let known = wanted[run], !known.isDone else { return nil }
        guard set[session]?.choice != known.choice, let word = known.words.first else {
            wanted[run]?.isDone = true
            return nil
        }
        set[session] = nil
        return (known.choice, word)
    }

    /// True: the next word is to be tried.
    mutating func lacks(_ run: RunID) -> Bool {
        wanted[run]?.words.removeFirst()
        return wanted[run]?.words.isEmpty == false
    }

    mutating func isSettled(_ choice: LevelChoice, for run: RunID, in session: AgentSession, isSet: Bool) {
        let word = wanted[run]?.words.first ?? nil
        wanted[run]?.isDone = true
        if set.count >= Self.limit { set = [:] }
        if isSet { set[session] = (choice, word) }
    }

    /// The gateway says what a session has: another client may have set it.
    mutating func noticed(_ word: String?, in session: AgentSession) {
        guard let known = set[session], known.word != word else { return }
        set[session] = nil
    }

    /// Its new model may lack the level.
    mutating func modelChanged(in session: AgentSession) { set[session] = nil }

    mutating func forget(_ run: RunID) { wanted[run] = nil }

    mutating func socketLost() {
        set = [:]
        for (run, known) in wanted { wants(known.choice, for: run) }
    }
}
