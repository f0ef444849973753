import JSONReading
import Vocabulary

/// Cost of a session since its creation, from its state; the cost of a run is a difference (oppi.md#usage).
struct OppiAccount: Hashable {
    var input: Int
    var output: Int
    var cost: Double?
    /// `provider/id`.
    var model: String?

    /// Nil if this state has no token counts.
    init?(_ session: FrameNode?) {
        guard let tokens = session?["tokens"], let input = tokens["input"]?.integer(in: .counts),
            let output = tokens["output"]?.integer(in: .counts)
        else { return nil }
        self.input = input
        self.output = output
        cost = session?["cost"]?.number(in: Usage.costs)
        model = session?["model"]?.string
    }

    /// Usage since `start`, or nil if no model has answered since then.
    func usage(since start: OppiAccount) -> Usage? {
        guard output > start.output else { return nil }
        var usage = Usage(inputTokens: max(0, input - start.input), outputTokens: output - start.output)
        if let cost, let before = start.cost, cost > before {
            // The difference of two sums is exact to the millionth at best.
            usage.estimatedCostUSD = ((cost - before) * 1_000_000).rounded() / 1_000_000
        }
        guard let model else { return usage }
        let slash = model.firstIndex(of: "/")
        usage.provider = slash.map { String(model[..<$0]) }
        usage.model = slash.map { String(model[model.index(after: $0)...]) } ?? model
        return usage
    }
}
