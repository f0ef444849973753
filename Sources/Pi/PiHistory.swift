import AgentKit
import BridgeModel
import JSONReading

/// The answer to `get_messages` (pi.md#commands-stdin): what became of a run whose process ended or whose end was lost.
struct PiHistory {
    private let messages: [FrameNode]

    init(_ response: FrameNode) { messages = response["data"]?["messages"]?.elements ?? [] }

    /// The answer to the newest question, or to the newest one with this text. An unfinished answer is not in the file
    /// (pi.md#process-end): a message that is missing there will not come.
    func found(question: String?) -> RunLookup {
        let asked = messages.lastIndex { message in
            guard message["role"]?.holds("user") == true else { return false }
            guard let question else { return true }
            return message["content"]?.contentText.map { PromptText.isPrompt($0, question) } == true
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
