import BridgeModel
import Testing

@testable import BridgeCore

@Suite("A question as the chat shows it")
struct QuestionTextTests {
    @Test("has a title, a message, numbered options and what a reply may be")
    func options() {
        let question = Question(
            id: QuestionID("q1"), title: "Which colour?", message: "For the door.\n",
            options: [Question.Option("r", label: "Red"), Question.Option("g", label: "Light\nGreen", details: "new")])
        #expect(
            QuestionText.whole(question) == """
                Which colour?

                For the door.

                1. Red
                2. Light Green: new

                Reply with the number of one option. /skip declines.
                """)
    }

    @Test("quotes the text that the answer replaces")
    func text() {
        let question = Question(
            id: QuestionID("q1"), title: "", allowsOwnWords: true, prefill: "one\n\ntwo\n", placeholder: "three")
        #expect(
            QuestionText.whole(question) == """
                The agent asks:

                The text so far:

                > one
                > 
                > two

                For example: three

                Reply with your text. /skip declines.
                """)
    }

    @Test(
        "says what a reply may be",
        arguments: [
            (true, false, "Reply with the numbers of all that you choose, such as 1, 3. /skip declines."),
            (
                true, true,
                "Reply with the numbers of all that you choose, such as 1, 3, or in your own words. /skip declines."
            ),
            (false, true, "Reply with the number of one option, or in your own words. /skip declines."),
        ])
    func hints(several: Bool, words: Bool, hint: String) {
        let question = Question(
            id: QuestionID("q1"), title: "t", options: [Question.Option("a")], isMultiSelect: several,
            allowsOwnWords: words)
        #expect(QuestionText.hint(question) == hint)
    }

    @Test("is none where it would be too much")
    func impossible() {
        func shown(_ options: Int, label: Int = 5, value: Int = 1) -> String? {
            let one = Question.Option(String(repeating: "v", count: value), label: String(repeating: "x", count: label))
            return QuestionText.whole(
                Question(id: QuestionID("q1"), title: "t", options: [Question.Option](repeating: one, count: options)))
        }
        #expect(shown(0) != nil)
        #expect(shown(100) != nil)
        #expect(shown(101) == nil)
        #expect(shown(100, label: 190) != nil)
        let long = String(repeating: "m", count: 33_000)
        #expect(QuestionText.whole(Question(id: QuestionID("q1"), title: "t", message: long)) == nil)
        #expect(shown(2, value: 64_000) == nil)
        #expect(shown(1, label: 1_000)?.contains("… (cut)") == true)
    }
}
