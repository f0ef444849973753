import Testing
import Vocabulary

@Suite("Signs of life, thinned out")
struct LifeSignsTests {
    private var signs = LifeSigns()

    /// Runs of these whose sign is due at that second, in this order.
    private mutating func due(_ runs: [String], at second: Int64) -> [String] {
        runs.filter { signs.isDue(RunID($0), at: .zero + .seconds(second)) }
    }

    @Test("a run has one in ten seconds, also beside another")
    mutating func paced() {
        let seen = [
            due(["a"], at: 0), due(["a"], at: 9), due(["b", "a"], at: 9), due(["a"], at: 10), due(["b"], at: 18),
            due(["b", "a"], at: 19), due(["a"], at: 20),
        ]
        #expect(seen == [["a"], [], ["b"], ["a"], [], ["b"], ["a"]])
    }

    @Test("runs in plenty are forgotten, and then have one too many at most")
    mutating func bounded() {
        let names = (0..<3_000).map { "r\($0)" }
        #expect(due(names, at: 0) == names)
        #expect(due(["r0"], at: 0) == ["r0"])
    }
}
