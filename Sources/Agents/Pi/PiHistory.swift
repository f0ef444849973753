import AgentKit
import JSONReading
import Vocabulary

/// A prompt to find in a session.
struct PiQuestion: Hashable {
    var text: String
    /// Milliseconds since 1970, by the clock that pi shares, or nil if unknown. An older row has the same words by chance.
    var notBefore: Int64?

    /// Allows for a clock that was set back a little.
    private static let tolerance: Int64 = 1_000

    func isAsked(by message: FrameNode) -> Bool {
        guard message["content"]?.contentText.map({ PromptText.isPrompt($0, text) }) == true else { return false }
        guard let notBefore, let written = message["timestamp"]?.integer(in: 1...Int.max) else { return true }
        return Int64(written) >= notBefore - Self.tolerance
    }
}

/// The answer to `get_messages` (pi.md#commands-stdin): the outcome of a run whose process ended or whose end was lost.
struct PiHistory {
    private let messages: [FrameNode]

    init(_ response: FrameNode) { messages = response["data"]?["messages"]?.elements ?? [] }

    /// Answer to the newest question, or to the newest with this text. The file lacks an unfinished answer, and will not get it
    /// (pi.md#process-end).
    func found(question: PiQuestion?) -> RunLookup {
        let asked = messages.lastIndex { message in
            guard message["role"]?.holds("user") == true else { return false }
            return question?.isAsked(by: message) ?? true
        }
        if question != nil, asked == nil { return Self.gone }
        let answer = messages[(asked.map { $0 + 1 } ?? messages.startIndex)...]
            .prefix { $0["role"]?.holds("user") != true }
        // The file keeps failed messages, and the next attempt continues behind them (pi.md#errors-and-retries).
        let texts = answer.filter { $0["role"]?.holds("assistant") == true && $0["stopReason"]?.holds("error") != true }
            .compactMap { $0["content"]?.contentText }.filter { !$0.isEmpty }
        let last = answer.last?["stopReason"]?.string
        guard !texts.isEmpty, last == "stop" || last == "length" else { return Self.gone }
        return .ended(RunEnd(text: texts.joined(separator: "\n\n"), reason: last == "length" ? .length : .stop))
    }

    private static var gone: RunLookup { .failed(RunFailure(kind: .agentGone, message: "its process ended")) }
}
