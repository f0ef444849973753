import JSONReading
import Vocabulary

/// Cost and model of a run, from the frames that report them (openclaw.md#chat, openclaw.md#small-ones).
struct OpenClawUsage {
    private static let limit = 1_000

    /// Models by session key, from the rows of sessions.
    private var models: [String: (model: String, provider: String?)] = [:]

    /// Notes the model of a session's row. `sessions.changed` has the row's members beside or within `session`.
    mutating func note(_ payload: FrameNode) {
        let row = payload["session"].flatMap { $0.isObject ? $0 : nil } ?? payload
        guard let key = (payload["sessionKey"] ?? row["key"])?.string, let model = row["model"]?.string else { return }
        if models.count >= Self.limit, models[key] == nil { models = [:] }
        models[key] = (model, row["modelProvider"]?.string)
    }

    /// Cost of the history rows of each session's run since it began.
    private var rows: [String: Usage] = [:]

    /// Adds the cost of a history row as the gateway writes it. The row names no run: a session has one at a time.
    mutating func spent(_ payload: FrameNode) {
        guard let key = payload["sessionKey"]?.string, let row = payload["message"],
            row["role"]?.holds("assistant") == true, var usage = Self.read(row["usage"])
        else { return }
        (usage.model, usage.provider) = (row["model"]?.string, row["provider"]?.string)
        if rows.count >= Self.limit, rows[key] == nil { rows = [:] }
        rows[key] = rows[key].map { $0 + usage } ?? usage
    }

    mutating func begins(_ payload: FrameNode) {
        if let key = payload["sessionKey"]?.string { rows[key] = nil }
    }

    /// Usage of a terminal frame, from the frame itself or its message, else the sum of the run's rows.
    mutating func usage(of payload: FrameNode) -> Usage? {
        let spent = (payload["sessionKey"]?.string).flatMap { rows.removeValue(forKey: $0) }
        guard var usage = Self.read(payload["usage"] ?? payload["message"]?["usage"]) else { return spent }
        if usage.model == nil, let known = (payload["sessionKey"]?.string).flatMap({ models[$0] }) {
            (usage.model, usage.provider) = (known.model, known.provider)
        }
        return usage
    }

    /// Usage of one message or of a run, or nil if the node counts no tokens.
    static func read(_ node: FrameNode?) -> Usage? {
        guard let node,
            let input = (node["input"] ?? node["input_tokens"] ?? node["inputTokens"])?.integer(in: .counts),
            let output = (node["output"] ?? node["output_tokens"] ?? node["outputTokens"])?.integer(in: .counts)
        else { return nil }
        return Usage(
            inputTokens: input, outputTokens: output, estimatedCostUSD: node["cost"]?["total"]?.number(in: Usage.costs),
            model: node["model"]?.string, provider: node["provider"]?.string)
    }

    static func reason(_ payload: FrameNode) -> RunEnd.Reason {
        switch (payload["stopReason"] ?? payload["message"]?["stopReason"])?.string {
        case "length", "max_tokens": .length
        case "content_filter", "refusal": .contentFilter
        case "tool_call", "tool_use", "toolUse": .toolCall
        default: .stop
        }
    }
}

extension RunFailure.Kind {
    init(named node: FrameNode?) {
        switch node?.string {
        case "refusal": self = .refusal
        case "timeout": self = .timeout
        case "rate_limit": self = .rateLimit
        case "context_length": self = .contextLength
        default: self = .other
        }
    }
}
