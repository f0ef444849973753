import Vocabulary
import Worlds

@testable import BridgeCore

/// Questions of a disordered turn, as its judge knows them.
struct QuestionWatch {
    struct Given {
        var question: QuestionID
        var answerer: TurnID
        var answer: QuestionAnswer
        var words: String
    }

    private var given: [QuestionID: QuestionAnswer] = [:]
    private var sent: [QuestionID: Int] = [:]
    private var askedAgain: Set<QuestionID> = []
    private var answerers: Set<TurnID> = []
    private var texts: [PostName: String] = [:]
    /// Text that the phone has.
    private var shown = ""
    private var streamed = 0

    static func question(_ id: QuestionID, at now: Instant, using random: inout SeededGenerator) -> Question {
        Question(
            id: id, title: "asks \(id)",
            options: random.happens(0.7) ? [Question.Option("a"), Question.Option("b")] : [],
            allowsOwnWords: random.happens(0.5), expiresAt: random.happens(0.3) ? now + .seconds(20) : nil)
    }

    mutating func posted(_ name: PostName, _ text: String) { texts[name] = text }

    mutating func delivered(_ name: PostName) {
        shown += texts[name] ?? ""
        if case .text(let end) = name { streamed = end }
    }

    mutating func asked(_ id: QuestionID) { if given[id] != nil { askedAgain.insert(id) } }

    /// The person writes. Returns the answer, or nil if the turn would not take the text as one.
    mutating func answers(_ turn: Turn, _ text: String, _ faults: inout [String]) -> Given? {
        guard let question = turn.openQuestion(streamed: streamed) else { return nil }
        if !shown.contains(question.title) { faults.append("\(question.id) is to be answered and was not shown") }
        guard case .answer(let answer, let words) = AnswerReading(text, to: question) else { return nil }
        given[question.id] = answer
        let answerer = TurnID("t\(given.count)")
        answerers.insert(answerer)
        return Given(question: question.id, answerer: answerer, answer: answer, words: words)
    }

    mutating func left(_ id: QuestionID, _ answer: QuestionAnswer, afterStop: Bool, _ faults: inout [String]) {
        // A question that is given up is declined, whatever the answer was.
        guard answer != .declined else { return }
        sent[id, default: 0] += 1
        if sent[id, default: 0] > 1, askedAgain.remove(id) == nil { faults.append("\(id) was answered twice") }
        if afterStop { faults.append("answered after a stop") }
        if given[id] != answer { faults.append("\(id) was answered by none") }
    }

    mutating func heard(_ answerer: TurnID, _ faults: inout [String]) {
        if answerers.remove(answerer) == nil { faults.append("\(answerer) hears twice what became of its answer") }
    }

    func end(_ faults: inout [String]) {
        if !answerers.isEmpty { faults.append("\(answerers) never hear what became of their answers") }
    }
}
