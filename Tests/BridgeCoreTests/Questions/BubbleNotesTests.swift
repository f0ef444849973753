import Testing
import Vocabulary
import Worlds

@testable import BridgeCore

@Suite("Text of ours between the agent's")
struct BubbleNotesTests {
    private func noted(_ steps: [(String, String)]) -> BubbleNotes {
        var notes = BubbleNotes()
        for (whole, note) in steps { notes = notes.adding(note, behind: whole).notes }
        return notes
    }

    @Test("has its place behind what was said when it came")
    func place() {
        let notes = noted([("One.", "ASK"), ("One.\n\nTwo.", "DONE")])
        #expect(notes.composed("One.\n\nTwo.\n\nThree.") == "One.\n\nASK\n\nTwo.\n\nDONE\n\nThree.")
        #expect(noted([("", "ASK")]).composed("One.") == "ASK\n\nOne.")
        #expect(noted([("One.", "ASK"), ("One.", "DONE")]).composed("One.\n\nTwo.") == "One.\n\nASK\n\nDONE\n\nTwo.")
        #expect(noted([("ab", "ASK")]).composed("abcd") == "ab\n\nASK\n\ncd")
    }

    @Test("keeps its place when the agent trims its text, or says less")
    func trimmed() {
        #expect(noted([("One. \n", "ASK")]).composed("One.\n\nTwo.") == "One.\n\nASK\n\nTwo.")
        #expect(noted([("One.\n\nTwo.", "ASK")]).composed("One.") == "One.\n\nASK")
        #expect(noted([("é", "ASK")]).composed("👩‍👩‍👧x") == "ASK\n\n👩‍👩‍👧x")
    }

    @Test("comes before the new attempt")
    func restart() {
        var notes = noted([("One.", "ASK")])
        notes.restart(after: 0)
        #expect(notes.composed("Again.") == "ASK\n\nAgain.")
    }

    @Test("grows at its end alone, and can be taken out again", arguments: UInt64(1)...300)
    func grows(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var notes = BubbleNotes()
        var whole = ""
        var streamed = ""
        for number in 0..<12 {
            switch Int.random(in: 0..<3, using: &random) {
            case 0: whole += random.pick(["word ", "é", "x", "line\n"])
            case 1: whole += whole.isEmpty ? "first" : "\n\nparagraph"
            default: notes = notes.adding("NOTE \(number)", behind: whole).notes
            }
            // The preview trims likewise.
            let now = notes.composed(whole).trimmedEnd
            #expect(extends(now, streamed), "\(streamed) | \(now)")
            streamed = now
        }
        let words = { (text: String) in text.split(whereSeparator: \.isWhitespace).joined() }
        #expect(words(notes.removed(from: streamed)) == words(whole))
    }

    @Test("is taken out to the byte where it came between paragraphs")
    func removed() {
        let notes = noted([("One.", "ASK"), ("One.\n\nTwo.", "DONE")])
        #expect(notes.removed(from: "One.\n\nASK\n\nTwo.\n\nDONE\n\nThr") == "One.\n\nTwo.\n\nThr")
        #expect(notes.removed(from: "One.\n\nAS") == "One.")
        #expect(notes.removed(from: "One.") == "One.")
        #expect(noted([("", "ASK")]).removed(from: "ASK\n\nOne.") == "One.")
    }
}

extension String {
    fileprivate var trimmedEnd: String { String(dropLast(reversed().prefix(while: \.isWhitespace).count)) }
}
