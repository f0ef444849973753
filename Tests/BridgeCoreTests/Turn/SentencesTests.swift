import Testing
import Vocabulary

@testable import BridgeCore

@Suite("The sentences for people")
struct SentencesTests {
    @Test(
        "each failure says what to do and keeps to one line",
        arguments: [
            RunFailure.Kind.refusal, .timeout, .rateLimit, .contextLength, .agentGone, .other, .noLogin,
        ])
    func failures(kind: RunFailure.Kind) {
        let sentence = Sentences.failed(
            RunFailure(kind: kind, message: "Error:\n  at x\u{2028}" + String(repeating: "y", count: 9_000)))
        #expect(sentence.contains("Please "))
        #expect(!sentence.contains { $0.isNewline })
        #expect(sentence.contains("Error: at x yyy"))
        #expect(sentence.utf8.count < 600)
    }

    @Test("an agent that is away is told with what a person can do, which can be copied whole")
    func away() {
        #expect(Sentences.agentAway(nil).contains("Please check that it is running"))
        let lines = Sentences.agentAway("run: openclaw devices approve req-1").split(separator: "\n")
        #expect(lines.count == 3)
        #expect(lines[1] == "run: openclaw devices approve req-1")
    }

    @Test("a failure without words is not an empty bracket")
    func wordless() {
        #expect(Sentences.failed(RunFailure(message: " \n")).contains("(no reason given)"))
    }
}
