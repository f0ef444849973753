import AgentKit
import Testing
import Vocabulary

@Suite("The agents' words for a level of thought")
struct ThoughtWordsTests {
    @Test(
        "the word of a level among those of a model",
        arguments: [
            (ThoughtLevel.extended, "low medium high xhigh", "high", false), (.extended, "xhigh low", "low", true),
            (.extended, "medium", "medium", true), (.extended, "xhigh", "xhigh", false),
            (.extended, "off", "off", true), (.max, "low medium high xhigh", "xhigh", false),
            (.max, "ultra max high", "ultra", false), (.max, "medium low", "medium", false),
            (.max, "none minimal", "minimal", true), (.max, "deep high", "high", false),
        ])
    func found(_ level: ThoughtLevel, _ words: String, _ word: String, _ isLower: Bool) {
        let found = ThoughtWords.word(for: level, among: words.split(separator: " ").map(String.init))
        #expect(found?.word == word && found?.isLower == isLower)
    }

    @Test("a model without a word that is known has none")
    func none() {
        #expect(ThoughtWords.word(for: .max, among: []) == nil)
        #expect(ThoughtWords.word(for: .extended, among: ["deep", "default"]) == nil)
    }

    @Test("what is tried where no list says what a model has")
    func ladder() {
        #expect(ThoughtWords.ladder(for: .max, from: "xhigh") == ["xhigh", "high", "medium", "low"])
        #expect(ThoughtWords.ladder(for: .extended, from: "xhigh") == ["high", "medium", "low"])
    }
}
