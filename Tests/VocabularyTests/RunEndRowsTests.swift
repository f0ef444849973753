import Testing
import Vocabulary

@Suite("The rows of a history, put together")
struct RunEndRowsTests {
    private static func joined(_ rows: [String], _ stream: String, paragraphs: Bool = false) -> String? {
        RunEnd(rows: rows.map { RunEnd.Row($0, beginsParagraph: paragraphs) }).joined(along: stream).text
    }

    @Test(
        "where the stream covers the joint its white space stands, whatever the rows have",
        arguments: [
            ["Let me look.", "It is full."], ["Let me look. ", "It is full."], ["Let me look.\n\n", "\n It is full."],
        ])
    func streamed(rows: [String]) {
        #expect(Self.joined(rows, "Let me look. It is full.") == "Let me look. It is full.")
        #expect(Self.joined(rows, "Let me look.\nIt i") == "Let me look.\nIt is full.")
        #expect(Self.joined(rows, "Let me look.It is full.") == "Let me look.It is full.")
        #expect(Self.joined(rows, "Let me look.\n It", paragraphs: true) == "Let me look.\n It is full.")
    }

    @Test("where the stream does not cover it, the rows' own stands, else a blank line")
    func uncovered() {
        for stream in ["", "Let me", "Let me look.", "Another text."] {
            #expect(Self.joined(["Let me look. ", "It is full."], stream) == "Let me look. It is full.")
            #expect(Self.joined(["Let me look.", "\nIt is full."], stream) == "Let me look.\nIt is full.")
            #expect(Self.joined(["Let me look.", "It is full."], stream) == "Let me look.\n\nIt is full.")
        }
    }

    @Test("a stream that ends within the joint stays a beginning of the whole")
    func begun() {
        #expect(Self.joined(["Let me look.", "It is full."], "Let me look. ") == "Let me look. It is full.")
        #expect(Self.joined(["Let me look. \n", "It is full."], "Let me look. ") == "Let me look. \nIt is full.")
        #expect(
            Self.joined(["Let me look.", "It is full."], "Let me look. ", paragraphs: true)
                == "Let me look. \n\nIt is full.")
    }

    @Test("a stream that parts from the rows covers nothing after that")
    func parted() {
        #expect(Self.joined(["One.", "Two.", "Three."], "One. Two! Three.") == "One.\n\nTwo.\n\nThree.")
        #expect(Self.joined(["One.", "Two.", "Three."], "One. Two.") == "One. Two.\n\nThree.")
    }

    @Test("two rows never become one word", arguments: ["", "check", "checkYour disk", "checkYour"])
    func words(stream: String) {
        #expect(Self.joined(["Let me check", "Your disk"], "Let me \(stream)") == "Let me check\n\nYour disk")
        #expect(Self.joined(["Let me check ", "Your disk"], "Let me \(stream)") == "Let me check Your disk")
    }

    @Test(
        "what was on its way when the agent was restarted stays, in front of what it said then",
        arguments: [
            ("", "One.\n\nTwo.\n\nThree."), ("One.\n\nLos", "One.\n\nLos\n\nTwo.\n\nThree."),
            ("One.\n\nLos\n\nTw", "One.\n\nLos\n\nTwo.\n\nThree."), ("On", "One.\n\nTwo.\n\nThree."),
            ("One.\n\nLos\n\nTwo.\n\nThree.", "One.\n\nLos\n\nTwo.\n\nThree."),
            ("One.\n\nTwo.", "One.\n\nTwo.\n\nThree."), ("One. \n", "One. \n\nTwo.\n\nThree."),
        ])
    func restarted(stream: String, whole: String) {
        let rows: [RunEnd.Row] = [
            .init("One.", beginsParagraph: true), .init("Two.", beginsParagraph: true, followsRestart: true),
            .init("Three.", beginsParagraph: true),
        ]
        let text = RunEnd(rows: rows).joined(along: stream).text
        #expect(text?.filter { $0 != " " } == whole.filter { $0 != " " }.replacing("\n\n\n", with: "\n\n"))
        #expect(text?.contains("Los") == stream.contains("Los"))
    }

    @Test("segments and follow-ups begin a paragraph, and the ends of the whole stay as they are")
    func paragraphs() {
        #expect(Self.joined([" One. ", "Two.\n"], "", paragraphs: true) == " One. \n\nTwo.\n")
        #expect(Self.joined([" One.", " \n ", "Two.\n"], "") == " One.\n\nTwo.\n")
        #expect(RunEnd(rows: [RunEnd.Row("  ")]).text == nil)
        #expect(RunEnd(rows: []).text == nil)
    }

    @Test("a text of many rows costs no more than its length")
    func long() {
        let rows = (0..<20_000).map { "Row \($0)." }
        #expect(Self.joined(rows, rows.joined(separator: " "))?.utf8.count == rows.joined(separator: " ").utf8.count)
    }
}
