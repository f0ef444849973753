import JSONReading
import Vocabulary

/// Cost of pi's messages, and the end of the last one (pi.md#final-text-and-usage).
enum PiUsage {
    /// Most tokens of one message: the sum over 100,000 messages stays in range.
    private static let tokenLimit = 1 << 40

    /// Nil if the assistant has no message.
    static func of(_ messages: [FrameNode]) -> Usage? {
        guard !messages.isEmpty else { return nil }
        var usage = Usage(inputTokens: 0, outputTokens: 0)
        var cost = 0.0
        for message in messages {
            usage.inputTokens += message["usage"]?["input"]?.integer(in: 0...tokenLimit) ?? 0
            usage.outputTokens += message["usage"]?["output"]?.integer(in: 0...tokenLimit) ?? 0
            cost += message["usage"]?["cost"]?["total"]?.number(in: Usage.costs) ?? 0
            usage.model = message["model"]?.string ?? usage.model
            usage.provider = message["provider"]?.string ?? usage.provider
        }
        usage.estimatedCostUSD = cost > 0 ? cost : nil
        return usage
    }

    static func reason(_ stopReason: String?) -> RunEnd.Reason {
        switch stopReason {
        case "length": .length
        case "toolUse": .toolCall
        default: .stop
        }
    }
}
