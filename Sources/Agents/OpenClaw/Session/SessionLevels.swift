import AgentKit
import Vocabulary

/// Thinking levels: the one that this link set for each session, and the one that each message wants.
///
/// - No list tells which levels a model has: words are tried from the
///   highest down, and the first that the gateway accepts counts.
/// - A new socket starts without knowledge, as in `SessionModels`.
struct SessionLevels {
    private struct Wanted {
        var choice: LevelChoice
        /// Words still to try; nil stands for the agent's own level.
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

    /// The level to set before this message leaves, or nil if none is left to set.
    mutating func next(for run: RunID, in session: AgentSession) -> (choice: LevelChoice, word: String?)? {
        guard let known = wanted[run], !known.isDone else { return nil }
        guard set[session]?.choice != known.choice, let word = known.words.first else {
            wanted[run]?.isDone = true
            return nil
        }
        set[session] = nil
        return (known.choice, word)
    }

    /// True if another word is left to try.
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

    /// The gateway reports a session's level, which another client may have set.
    mutating func noticed(_ word: String?, in session: AgentSession) {
        guard let known = set[session], known.word != word else { return }
        set[session] = nil
    }

    /// The new model may lack the level.
    mutating func modelChanged(in session: AgentSession) { set[session] = nil }

    mutating func forget(_ run: RunID) { wanted[run] = nil }
    /// The message leaves again under another key.
    mutating func move(_ run: RunID, to fresh: RunID) { wanted[fresh] = wanted.removeValue(forKey: run) }

    mutating func socketLost() {
        set = [:]
        for (run, known) in wanted { wants(known.choice, for: run) }
    }
}
