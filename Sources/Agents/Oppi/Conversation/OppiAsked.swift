import AgentKit
import Vocabulary

/// Messages by run, for searches in the trace; the newest runs only.
struct OppiAsked {
    struct Question: Hashable {
        var text: String
        /// When the message was written, on the server's clock.
        var sentAt: Int64?
        /// The message is in the history.
        var hasBegun = false
    }

    private static let limit = 32
    private var questions: [RunID: Question] = [:]
    private var order: [RunID] = []
    /// Runs whose look-up the bridge requested.
    private var wanted: Set<RunID> = []
    var steers = OppiSteers()

    subscript(run: RunID) -> Question? { questions[run] }
    func knows(_ text: String) -> Bool {
        questions.values.contains { PromptText.isPrompt(text, $0.text) }
    }

    mutating func remember(_ run: RunID, _ text: String, sentAt: Int64?) {
        if questions.updateValue(Question(text: text, sentAt: sentAt), forKey: run) == nil { order.append(run) }
        if order.count > Self.limit { questions[order.removeFirst()] = nil }
    }

    mutating func wasWritten(_ run: RunID, at milliseconds: Int64) { questions[run]?.sentAt = milliseconds }

    mutating func hasBegun(_ run: RunID) { questions[run]?.hasBegun = true }

    /// Times of earlier messages with the same words that are in the history.
    func earlierTwins(of run: RunID) -> [Int64?] {
        guard let question = questions[run], let place = order.firstIndex(of: run) else { return [] }
        let words = question.text.trimmed
        return order[..<place].compactMap { questions[$0] }
            .filter { $0.hasBegun && $0.text.trimmed == words }.map(\.sentAt)
    }

    mutating func wants(_ run: RunID) { wanted.insert(run) }
    var hasWishes: Bool { !wanted.isEmpty }
    func isWanted(_ run: RunID) -> Bool { wanted.contains(run) }
    mutating func takeWish(_ run: RunID) -> Bool { wanted.remove(run) != nil }
}
