import Vocabulary

/// One value of the configuration file, with the line it begins on.
package struct ConfigurationValue: Hashable, Sendable {
    package struct Member: Hashable, Sendable {
        package var name: String
        package var value: ConfigurationValue
    }

    package enum Content: Hashable, Sendable {
        case null
        case bool(Bool)
        case number(Double)
        case string(String)
        case list([ConfigurationValue])
        case members([Member])
    }

    package var content: Content
    package var line: Int

    /// All strings of the value, at any depth.
    package var strings: [String] {
        switch content {
        case .string(let text): [text]
        case .list(let values): values.flatMap(\.strings)
        case .members(let members): members.flatMap { $0.value.strings }
        case .null, .bool, .number: []
        }
    }
}

extension ConfigurationValue.Content {
    /// The value as a fault shows it: short, on one line.
    package var shown: String {
        switch self {
        case .null: "null"
        case .bool(let value): "\(value)"
        case .number(let value): Int(exactly: value).map { "\($0)" } ?? "\(value)"
        case .string(let text):
            text.count <= 80 ? JSONText.string(text).text : JSONText.string(String(text.prefix(79)) + "…").text
        case .list: "a list"
        case .members: "an object"
        }
    }
}
