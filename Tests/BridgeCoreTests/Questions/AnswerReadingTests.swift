import Testing
import Vocabulary

@testable import BridgeCore

@Suite("What a message says as the answer to a question")
struct AnswerReadingTests {
    private static func question(
        _ labels: [String], several: Bool = false, words: Bool = false
    ) -> Question {
        Question(
            id: QuestionID("q1"), title: "Which one?",
            options: labels.map { Question.Option($0.lowercased(), label: $0) },
            isMultiSelect: several, allowsOwnWords: words)
    }

    private static let colours = question(["Red", "Light Green", "Blue"])

    @Test(
        "is an option by its number, its label or its value",
        arguments: ["2", " 2.\n", "2)", "#2", "Light Green", "light  GREEN", "light green"])
    func option(text: String) {
        #expect(AnswerReading(text, to: Self.colours) == .answer(.choices(["light green"]), words: "Light Green"))
    }

    @Test("is a refusal to answer", arguments: ["/skip", " /SKIP "])
    func skip(text: String) {
        #expect(AnswerReading(text, to: Self.colours) == .answer(.declined, words: ""))
    }

    @Test(
        "does not fit, and the question stays open",
        arguments: [
            ("4", Sentences.noOption("4")), ("0", Sentences.noOption("0")), ("#12", Sentences.noOption("#12")),
            ("99999999999999999999", Sentences.noOption("99999999999999999999")),
            ("purple", Sentences.noSuchOption), ("1, 2", Sentences.noSuchOption), ("/skip it", Sentences.noSuchOption),
        ])
    func misfit(text: String, why: String) {
        let hint = "Reply with the number of one option. /skip declines."
        #expect(AnswerReading(text, to: Self.colours) == .misfit("\(why) The question is still open. \(hint)"))
    }

    @Test("is nothing without words, whatever the question takes", arguments: ["", " \n"])
    func noWords(text: String) {
        let questions = [
            Self.question([]), Self.question(["Red"], words: true), Self.question(["Red"], several: true), Self.colours,
        ]
        for question in questions {
            guard case .misfit(let line) = AnswerReading(text, to: question) else {
                Issue.record("an empty answer to \(question)")
                continue
            }
            #expect(line.hasPrefix("An answer needs words. The question is still open."))
        }
    }

    @Test("is never the wrong option of two that are called alike")
    func ambiguous() {
        let sizes = Self.question(["3", "5", "10"])
        guard case .misfit(let line) = AnswerReading("3", to: sizes) else {
            Issue.record("3 is the third option and the name of the first")
            return
        }
        #expect(line.hasPrefix(Sentences.ambiguousOption))
        #expect(AnswerReading("#3", to: sizes) == .answer(.choices(["10"]), words: "10"))
        #expect(AnswerReading("10", to: sizes) == .answer(.choices(["10"]), words: "10"))
        #expect(AnswerReading("2", to: sizes) == .answer(.choices(["5"]), words: "5"))
        let twins = Self.question(["Yes", "yes"])
        #expect(AnswerReading("yes", to: twins) != .answer(.choices(["yes"]), words: "Yes"))
        #expect(AnswerReading("2", to: twins) == .answer(.choices(["yes"]), words: "yes"))
    }

    @Test(
        "is several options, in their own order, each once",
        arguments: ["1, 3", "3 1", "3;1", "blue, red", "1\n3", "#3, Red, 1"])
    func several(text: String) {
        let question = Self.question(["Red", "Light Green", "Blue"], several: true)
        #expect(AnswerReading(text, to: question) == .answer(.choices(["red", "blue"]), words: "Red, Blue"))
        #expect(AnswerReading("light green", to: question) == .answer(.choices(["light green"]), words: "Light Green"))
    }

    @Test("is none of several when one of them does not fit", arguments: ["1, 7", "1, purple", ",", "1 purple"])
    func severalMisfit(text: String) {
        let question = Self.question(["Red", "Light Green", "Blue"], several: true)
        guard case .misfit = AnswerReading(text, to: question) else {
            Issue.record("\(text) was taken")
            return
        }
    }

    @Test("is in own words where the agent takes them, but no number that is a slip")
    func ownWords() {
        let question = Self.question(["Red", "Blue"], words: true)
        #expect(
            AnswerReading(" none of\n both ", to: question) == .answer(.text("none of\n both"), words: "none of both"))
        #expect(AnswerReading("blue", to: question) == .answer(.choices(["blue"]), words: "Blue"))
        guard case .misfit = AnswerReading("3", to: question) else {
            Issue.record("3 was taken for words")
            return
        }
        for takesWords in [true, false] {
            let free = Question(id: QuestionID("q1"), title: "Name it", allowsOwnWords: takesWords)
            #expect(AnswerReading("3", to: free) == .answer(.text("3"), words: "3"))
        }
    }
}
