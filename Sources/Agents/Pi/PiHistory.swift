import AgentKit
import JSONReading
import Vocabulary

/// A prompt that is looked for in a session.
struct PiQuestion: Hashable {
    var text: String
    /// Since 1970, on the clock that pi has too: a row that is older has the same words by chance. Nil: not known.
    var notBefore: Int64?

    /// For a clock that was set back a little.
    private static let tolerance: Int64 = 1_000

    func isAsked(by message: FrameNode) -> Bool {
        guard message["content"]?.contentText.map({ PromptText.isPrompt($0, text) }) == true else { return false }
        guard let notBefore, let written = message["timestamp"]?.integer(in: 1...Int.max) else { return true }
        return Int64(written) >= notBefore - Self.tolerance
    }
}

/// The answer to `get_messages` (pi.md#commands-stdin): what became of a run whose process ended or whose end was lost.
struct PiHistory {
    private let messages: [FrameNode]

    init(_ response: FrameNode) { messages = response["data"]?["messages"]?.elements ?? [] }

    /// The answer to the newest question, or to the newest one with this text. An unfinished answer is not in the file
    /// (pi.md#process-end): a message that is missing there will not come.
    func found(question: PiQuestion?) -> RunLookup {
        let asked = messages.lastIndex { message in
            guard message["role"]?.holds("user") == true else { return false }
            return question?.isAsked(by: message) ?? true
        }
        if question != nil, asked == nil { return Self.gone }
        let answer = messages[(asked.map { $0 + 1 } ?? messages.startIndex)...]
            .prefix { $0["role"]?.holds("user") != true }
        // The file keeps a message that failed, and the next attempt continues behind it (pi.md#errors-and-retries).
        let texts = answer.filter { $0["role"]?.holds("assistant") == true && $0["stopReason"]?.holds("error") != true }
            .compactMap { $0["content"]?.contentText }.filter { !$0.isEmpty }
        let last = answer.last?["stopReason"]?.string
        guard !texts.isEmpty, last == "stop" || last == "length" else { return Self.gone }
        return .ended(RunEnd(text: texts.joined(separator: "\n\n"), reason: last == "length" ? .length : .stop))
    }

    private static var gone: RunLookup { .failed(RunFailure(kind: .agentGone, message: "its process ended")) }
}
