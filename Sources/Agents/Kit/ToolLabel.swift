package import JSONReading
package import Vocabulary

/// Title of a card without one from the agent: the tool's name and its most telling argument.
package enum ToolLabel {
    private static let keys: [StaticString] = ["command", "cmd", "path", "file", "file_path", "url", "query", "input"]

    package static func make(name: String, arguments: FrameNode?) -> String {
        for key in keys {
            guard let value = arguments?[key]?.string, !value.isEmpty else { continue }
            let short = value.unicodeScalars.count > 60 ? String(value.prefix(60)) + "…" : value
            return "\(name) \(key)=\(short)"
        }
        return name
    }

    /// A result's `content` as a JSON string, or else the value itself.
    package static func result(_ node: FrameNode?) -> JSONText? {
        guard let node else { return nil }
        if let text = (node["content"] ?? node).contentText { return .string(text) }
        return node.compact
    }
}
