import JSONReading
import Testing
import Vocabulary

@testable import Oppi

@Suite("What a run of Oppi's cost")
struct OppiAccountTests {
    private func account(_ cost: String) -> OppiAccount? {
        let state = Array(#"{"tokens":{"input":1,"output":\#(cost.utf8.count)},"cost":\#(cost)}"#.utf8)
        let parser = FrameParser()
        return state.withUnsafeBytes { OppiAccount(parser.parse($0, capacity: $0.count)) }
    }

    @Test("is the difference of two sums, without the digits that only the subtraction makes")
    func difference() throws {
        let before = try #require(account("0.1"))
        let after = try #require(account("0.30000001"))
        #expect(after.usage(since: before)?.estimatedCostUSD == 0.2)
    }
}
