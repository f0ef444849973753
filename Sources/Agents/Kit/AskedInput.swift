package import JSONReading
package import Vocabulary

/// Whole input of a tool for a card: a command and the members beside it, or the input as JSON.
package struct AskedInput: Hashable, Sendable {
    package private(set) var command: String
    package private(set) var facts = AskFacts()

    /// Nil if the tool has no input.
    package init?(_ input: FrameNode?) {
        guard let input else { return nil }
        facts.paths = ["path", "file_path", "filePath"].compactMap { input.member($0)?.string }.filter {
            $0.hasPrefix("/")
        }
        guard let members = input.wholeMembers(atMost: 32), let command = input["command"]?.string, !command.isEmpty
        else {
            command = input.compact.text
            return
        }
        self.command = command
        for (name, value) in members where name != "command" {
            // Prefix these labels with `input`: the model writes names and values, and a tool may ignore them.
            facts.lines.append(AskFacts.Line("input.\(name)", value))
        }
    }
}

extension AskFacts.Line {
    /// One line, which no value can turn into two: text with a line break or a control character is shown as JSON, and so is every
    /// other value.
    package init(_ label: String, _ value: FrameNode) {
        let text = value.string.flatMap { $0.unicodeScalars.contains(where: Self.breaksLine) ? nil : $0 }
        self.init(
            label.unicodeScalars.contains(where: Self.breaksLine) ? JSONText.string(label).text : label,
            text ?? value.compact.text)
    }

    private static func breaksLine(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}

extension FrameNode {
    /// The members of an object, in order. Nil for another value, for more members than the limit, and for a repeated name, of
    /// which a reader would see only one.
    package func wholeMembers(atMost limit: Int) -> [(name: String, value: FrameNode)]? {
        guard isObject else { return nil }
        let names = names(atMost: limit + 1)
        guard names.count <= limit, Set(names).count == names.count else { return nil }
        let members = names.compactMap { name in member(name).map { (name: name, value: $0) } }
        return members.count == names.count ? members : nil
    }
}
