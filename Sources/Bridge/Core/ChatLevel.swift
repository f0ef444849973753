package import Vocabulary

/// The chosen level of a chat, which the journal keeps: a message without a level leads back from it.
package struct ChosenLevel: Hashable, Sendable {
    package var level: ThoughtLevel
    /// The session's level before the first choice, in the agent's word, or nil if unknown.
    package var original: String?

    package init(_ level: ThoughtLevel, original: String? = nil) {
        self.level = level
        self.original = original
    }
}

/// How long the agent thinks in one chat: the choice that goes to it with the next message, and the lines about it.
///
/// - Words that the relay does not know (relay.md#sessionmessage-the-user-wrote) count as the agent's own level.
/// - Each line is written once, until another level is chosen.
struct ChatLevel: Hashable, Sendable {
    var chosen: ChosenLevel?
    /// The choice before the unanswered one.
    private var previous: ChosenLevel?
    private var told: ThoughtLevel?
    private var isOwnTold = false

    init(_ chosen: ChosenLevel? = nil) { self.chosen = chosen }

    mutating func choice(of word: String?) -> LevelChoice {
        guard let level = word.flatMap({ ThoughtLevel(rawValue: $0) }) else {
            return chosen.map { .own($0.original) } ?? .unchanged
        }
        previous = chosen
        if chosen?.level != level { chosen = ChosenLevel(level, original: chosen?.original) }
        return .level(level)
    }

    mutating func answered(_ choice: LevelChoice, _ answer: LevelAnswer) -> String? {
        switch (choice, answer) {
        case (.unchanged, _): return nil
        case (.level(let level), .set(let before, let instead)):
            // The first choice alone has the session's own level before it; later ones have an earlier choice.
            if chosen?.level == level, previous == nil { chosen?.original = before }
            previous = chosen
            guard let instead else {
                told = nil
                return nil
            }
            return isNews(level) ? Sentences.levelIsLower(level, instead) : nil
        case (.level(let level), .refused(let reason)):
            chosen = previous
            return isNews(level) ? Sentences.levelRefused(level, reason) : nil
        case (.level(let level), .unsettled(let reason)):
            return isNews(level) ? Sentences.levelRefused(level, reason) : nil
        case (.own, .set):
            self = ChatLevel()
            return nil
        case (.own, .refused(let reason)), (.own, .unsettled(let reason)):
            defer { isOwnTold = true }
            return isOwnTold ? nil : Sentences.ownLevelRefused(reason)
        }
    }

    private mutating func isNews(_ level: ThoughtLevel) -> Bool {
        defer { told = level }
        return told != level
    }
}
