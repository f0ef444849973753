package import BridgeModel

/// A message as its agent reads it: what the person wrote, and behind it which of its files did not come along.
package enum PromptText {
    private static let joint = "\n\n[Not attached: "

    package static func noting(_ missing: [MissingFile], behind prompt: String) -> String {
        missing.reduce(into: prompt) { $0 += "\(joint)\($1.sentence)]" }
    }

    /// Whether the agent's history has this prompt, with such notes or without: another process does not know them.
    package static func isPrompt(_ said: some StringProtocol, _ asked: some StringProtocol) -> Bool {
        said == asked || said.hasPrefix(asked) && said.dropFirst(asked.count).hasPrefix(joint)
    }
}
