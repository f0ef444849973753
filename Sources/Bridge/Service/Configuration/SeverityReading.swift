import ConfigurationFile
import Vocabulary

/// Reads `connections[].severity`. Texts are literal, so `${` and `@/` mean nothing in them; each rule is judged by itself.
struct SeverityReading {
    private static let limit = 100
    private static let textLimit = 1_000
    private static let example = #"such as {"match": "terraform apply", "severity": "critical"}"#
    private static let severities: [ApprovalRequest.Severity] = [.high, .critical]

    func rules(
        _ key: String, of connection: ConfigurationSection, _ reader: inout ConfigurationReader
    ) -> [SeverityMatch] {
        let path = connection.path(of: key)
        guard let value = connection[key] else {
            reader.remember(path, Self.json([]))
            return []
        }
        guard case .list(let values) = value.content, values.count <= Self.limit else {
            let found =
                if case .list(let values) = value.content { "a list of \(values.count)" } else { value.content.shown }
            reader.complain(
                path, found: found, expected: "a list of at most \(Self.limit) rules, \(Self.example)",
                origin: reader.origin(value))
            return []
        }
        let rules = values.enumerated().compactMap { rule($1, at: "\(path)[\($0)]", &reader) }
        reader.remember(path, Self.json(rules), origin: reader.origin(value))
        return rules
    }

    private func rule(
        _ value: ConfigurationValue, at path: String, _ reader: inout ConfigurationReader
    ) -> SeverityMatch? {
        let section = reader.section(value, at: path, keys: ["match", "severity"])
        guard case .members = value.content else { return nil }
        let text: String? = member("match", of: section, value, "a text of 1 to 1,000 bytes", &reader) { content in
            guard case .string(let text) = content, (1...Self.textLimit).contains(text.utf8.count) else { return nil }
            return text
        }
        let severity: ApprovalRequest.Severity? = member(
            "severity", of: section, value, Self.severities.map(\.rawValue).joined(separator: " or "), &reader
        ) { content in
            guard case .string(let name) = content else { return nil }
            return Self.severities.first { $0.rawValue == name }
        }
        guard let text, let severity else { return nil }
        return SeverityMatch(text, severity)
    }

    /// Value of a rule's member, or nil after a complaint.
    private func member<Value>(
        _ key: String, of section: ConfigurationSection, _ whole: ConfigurationValue, _ expected: String,
        _ reader: inout ConfigurationReader, read: (ConfigurationValue.Content) -> Value?
    ) -> Value? {
        let member = section[key]
        if let value = member.flatMap({ read($0.content) }) { return value }
        reader.complain(
            section.path(of: key), found: member.map { Self.shown($0.content) } ?? "not set", expected: expected,
            origin: reader.origin(member ?? whole))
        return nil
    }

    /// A text over the limit is shown by its length: its beginning would not identify it.
    private static func shown(_ content: ConfigurationValue.Content) -> String {
        guard case .string(let text) = content, text.utf8.count > textLimit else { return content.shown }
        return "a text of \(text.utf8.count) bytes"
    }

    private static func json(_ rules: [SeverityMatch]) -> JSONText {
        let objects = rules.map {
            #"{"match":\#(JSONText.string($0.text).text),"severity":\#(JSONText.string($0.severity.rawValue).text)}"#
        }
        return JSONText(unchecked: "[\(objects.joined(separator: ","))]")
    }
}
