import Testing
import Vocabulary

@Suite("A number with its noun")
struct CountedTests {
    @Test("one has the singular", arguments: [(0, "0 turns"), (1, "1 turn"), (2, "2 turns")])
    func words(number: Int, expected: String) { #expect(Counted.words(number, "turn") == expected) }

    @Test("a noun has a plural of its own", arguments: [(1, "1 retry"), (2, "2 retries")])
    func plural(number: Int, expected: String) {
        #expect(Counted.words(number, "retry", plural: "retries") == expected)
    }
}
