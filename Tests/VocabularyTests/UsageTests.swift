import Testing
import Vocabulary

@Suite("What parts of a turn cost together")
struct UsageTests {
    @Test("is counted up to what JavaScript counts exactly, however much is said and however often")
    func limit() {
        let most = 1 << 53
        let part = Usage(inputTokens: most, outputTokens: 7)
        let sum = (0..<1_100).reduce(part) { sum, _ in sum + part }
        #expect(sum.inputTokens == most && sum.outputTokens == 7 * 1_101)
        let damaged = Usage(inputTokens: .max, outputTokens: 0)
        #expect((damaged + damaged).inputTokens == most)
    }
}
