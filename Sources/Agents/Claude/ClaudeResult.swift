import AgentKit
import JSONReading
import Vocabulary

/// The end of a turn, by its `result` (claude-code.md#the-end-of-a-turn).
enum ClaudeResult {
    /// The most tokens of one model in one turn.
    private static let tokenLimit = 1 << 40
    private static let modelLimit = 100

    static func event(_ root: FrameNode, of turn: ClaudeTurn, usage: Usage?) -> RunEvent {
        let terminal = root["terminal_reason"]?.string
        if terminal?.hasPrefix("aborted_") == true || isStop(root, terminal, turn) {
            return .finished(RunEnd(usage: usage, reason: .aborted))
        }
        let stop = root["stop_reason"]?.string
        guard root["is_error"]?.flag == true || stop == "refusal" else {
            // A command may end without any text: then there is none to look for.
            let text = turn.words.hasText ? nil : root["result"]?.string
            return .finished(RunEnd(text: text, usage: usage, reason: stop == "max_tokens" ? .length : .stop))
        }
        let reason = ClaudeFailure.Reason(
            status: root["api_error_status"]?.integer(in: 100...599), error: turn.error, terminal: terminal,
            subtype: root["subtype"]?.string, isRefusal: stop == "refusal")
        return .failed(reason.failure(sentence(root), usage: usage))
    }

    /// The session began the turn by itself, according to its origin. A schedule's turn has none.
    static func isOfItsOwn(_ root: FrameNode) -> Bool {
        root["origin"]?["kind"]?.string.map { $0 != "human" } ?? false
    }

    /// Earlier versions give no reason: a failed execution behind our interrupt is the stop.
    private static func isStop(_ root: FrameNode, _ terminal: String?, _ turn: ClaudeTurn) -> Bool {
        terminal == nil && turn.isInterrupted && root["subtype"]?.holds("error_during_execution") == true
    }

    /// The process's words, without diagnostics for its makers.
    static func sentence(_ root: FrameNode) -> String {
        if let result = root["result"]?.string, !result.isEmpty { return result }
        return (root["errors"]?.elements ?? []).compactMap(\.string).filter { !$0.hasPrefix("[ede_diagnostic]") }
            .joined(separator: " / ")
    }

    /// `before`: cost of all earlier turns, or nil if unknown.
    static func usage(_ root: FrameNode, model: String?, costBefore before: Double?) -> Usage? {
        if let models = root["model_usage_since_last_result"], models.isObject { return sum(models, model) }
        guard let own = root["usage"], own.isObject else { return nil }
        var usage = Usage(inputTokens: 0, outputTokens: 0, model: model)
        for name in ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"] {
            usage.inputTokens += own.member(name)?.integer(in: 0...tokenLimit) ?? 0
        }
        usage.outputTokens = own["output_tokens"]?.integer(in: 0...tokenLimit) ?? 0
        if let before, let total = root["total_cost_usd"]?.number(in: Usage.costs), total > before {
            usage.estimatedCostUSD = total - before
        }
        return usage
    }

    private static func sum(_ models: FrameNode, _ model: String?) -> Usage {
        var usage = Usage(inputTokens: 0, outputTokens: 0, model: model)
        var cost = 0.0
        for name in models.names(atMost: modelLimit) {
            guard let one = models.member(name) else { continue }
            for part in ["inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens"] {
                usage.inputTokens += one.member(part)?.integer(in: 0...tokenLimit) ?? 0
            }
            usage.outputTokens += one["outputTokens"]?.integer(in: 0...tokenLimit) ?? 0
            cost += one["costUSD"]?.number(in: Usage.costs) ?? 0
        }
        usage.estimatedCostUSD = cost > 0 ? cost : nil
        return usage
    }
}
