import AgentKit
import JSONReading
import Vocabulary

/// Reasoning efforts of the server's models (codex.md#methods, `model/list`), and the effort for a chosen level.
struct CodexEfforts: Hashable {
    private struct Model: Hashable {
        var words: [String]
        var own: String?
    }

    /// Effort of a model that no list describes: every version and every reasoning model takes this word.
    private static let safe = "high"

    private var models: [String: Model] = [:]
    /// Model of a thread that names none.
    private var usual: String?

    /// No list of models is available.
    init() {}

    init(_ result: FrameNode) {
        for node in result["data"]?.elements ?? [] {
            guard let name = node["model"]?.string ?? node["id"]?.string else { continue }
            let words = (node["supportedReasoningEfforts"]?.elements ?? []).compactMap {
                $0["reasoningEffort"]?.string ?? $0.string
            }
            models[name] = Model(words: words, own: node["defaultReasoningEffort"]?.string)
            if node["isDefault"]?.flag == true { usual = name }
        }
    }

    /// Nil if the turn names no effort. `before`: effort of the thread so far.
    func effort(
        for choice: LevelChoice, model: String?, before: String?
    ) -> (effort: String?, answer: LevelAnswer)? {
        let model = (model ?? usual).flatMap { models[$0] }
        switch choice {
        case .unchanged: return nil
        case .own(let original):
            guard let own = original ?? model?.own else {
                return (nil, .unsettled(message: "Codex does not say which effort is the model's own"))
            }
            return (own, .set(before: before, instead: nil))
        case .level(let level):
            guard let words = model?.words, !words.isEmpty else {
                return (Self.safe, .set(before: before, instead: level == .max ? Self.safe : nil))
            }
            guard let found = ThoughtWords.word(for: level, among: words) else {
                return (nil, .refused(message: "Codex knows no effort of the model that the bridge knows"))
            }
            return (found.word, .set(before: before, instead: found.isLower ? found.word : nil))
        }
    }
}
