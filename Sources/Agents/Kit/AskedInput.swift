package import JSONReading
package import Vocabulary

/// The input of a tool as a card shows it, with nothing left out: a command and the members beside it, or the whole input.
package struct AskedInput: Hashable, Sendable {
    package private(set) var command: String
    package private(set) var facts = AskFacts()

    /// Nil: there is none.
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
            // Under the name of the input: the model writes names and values, and a tool may well ignore them.
            facts.lines.append(AskFacts.Line("input.\(name)", value))
        }
    }
}

extension AskFacts.Line {
    /// One line, which no value can make look like two: a text with a line's end or a control in it is shown as JSON, as is all that is
    /// no text.
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
    /// The members of an object in its order. Nil: it is none, or has more than that, or one name twice, of which a reader sees one.
    package func wholeMembers(atMost limit: Int) -> [(name: String, value: FrameNode)]? {
        guard isObject else { return nil }
        let names = names(atMost: limit + 1)
        guard names.count <= limit, Set(names).count == names.count else { return nil }
        let members = names.compactMap { name in member(name).map { (name: name, value: $0) } }
        return members.count == names.count ? members : nil
    }
}
