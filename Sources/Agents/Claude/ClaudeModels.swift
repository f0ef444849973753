import AgentKit
import JSONReading
import Vocabulary

/// Models and account in the answer to `initialize` (claude-code.md#control-requests).
enum ClaudeModels {
    static func list(_ answer: FrameNode?) -> [AgentModel] {
        (answer?["models"]?.elements ?? []).prefix(200).compactMap { node in
            guard let value = node["value"]?.string, ModelChoice.isName(value) else { return nil }
            var model = AgentModel(id: value, name: node["displayName"]?.string ?? value, provider: "anthropic")
            model.alias = node["resolvedModel"]?.string
            model.input = ["text", "image"]
            return model
        }
    }

    /// Whole names are accepted unlisted; a wrong one fails with the model's next call.
    static func has(_ name: String, _ models: [AgentModel]) -> Bool {
        models.isEmpty || name.contains("claude") || models.contains { $0.id == name || $0.alias == name }
    }

    /// The budget of thought in tokens, or nil to leave it to the model.
    static func tokens(_ choice: LevelChoice) -> Int? {
        switch choice {
        case .unchanged, .own: nil
        case .level(.extended): 10_000
        case .level(.max): 31_999
        }
    }

    /// An account without a login's name is none (claude-code.md#errors).
    static func isLoggedIn(_ account: FrameNode?) -> Bool {
        guard let account, account.isObject else { return true }
        let source = account["tokenSource"]?.string
        return source.map { $0 != "none" } == true || account["apiKeySource"]?.string != nil
            || account["subscriptionType"]?.string != nil
            || account["apiProvider"]?.string.map { $0 != "firstParty" } == true
    }
}
