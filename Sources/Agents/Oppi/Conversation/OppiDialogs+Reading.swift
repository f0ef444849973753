import AgentKit
import JSONReading
import Vocabulary

// Questions of a dialog, from its frame (oppi.md#extension-dialogs).
extension OppiDialogs {
    static func questions(_ method: String, _ root: FrameNode, _ id: String, _ expiresAt: Instant?) -> [Question] {
        let (title, message) = DialogRequest.heading(root)
        switch method {
        case "select":
            let options = (root["options"]?.elements ?? []).compactMap { $0.string.map { Question.Option($0) } }
            guard !options.isEmpty else { return [] }
            return [
                Question(
                    id: QuestionID(id), title: title, message: message, options: options, expiresAt: expiresAt)
            ]
        case "input", "editor":
            return [
                Question(
                    id: QuestionID(id), title: title, message: message, prefill: root["prefill"]?.string,
                    placeholder: root["placeholder"]?.string, expiresAt: expiresAt)
            ]
        case "ask":
            let allowsOwnWords = root["allowCustom"]?.flag == true
            return asked(root).enumerated().map { index, part in
                let options = (part["options"]?.elements ?? []).compactMap { option(in: $0) }
                let (title, message) = DialogRequest.heading(part["question"]?.string ?? title)
                return Question(
                    id: Self.id(of: index, in: id), title: title, message: message, options: options,
                    isMultiSelect: part["multiSelect"]?.flag == true,
                    allowsOwnWords: allowsOwnWords || options.isEmpty, expiresAt: expiresAt)
            }
        default: return []
        }
    }

    static func parts(_ root: FrameNode, _ questions: [Question]) -> [OppiChoices] {
        zip(asked(root), questions).map { part, question in
            OppiChoices(id: name(of: part), options: question.options)
        }
    }

    /// Parts of an `ask`. The answer has one place for each name: a repeated question is asked once. If two of one name
    /// differ, none is asked, since an answer to the first would also be one to a question that no person read.
    private static func asked(_ root: FrameNode) -> [FrameNode] {
        var known: [String: JSONText] = [:]
        var asked: [FrameNode] = []
        for part in root["questions"]?.elements ?? [] {
            let text = part.compact
            if let before = known.updateValue(text, forKey: name(of: part)) {
                if before != text { return [] }
            } else {
                asked.append(part)
            }
        }
        return asked
    }

    /// The name under which the server looks an answer up, as JavaScript would
    /// print it: the arguments are the model's, unchecked.
    private static func name(of part: FrameNode) -> String { part["id"].map { text(of: $0) ?? "" } ?? "undefined" }

    private static func option(in node: FrameNode) -> Question.Option? {
        let label = node["label"].flatMap { text(of: $0) }
        guard let value = node["value"].flatMap({ text(of: $0) }) ?? label else { return nil }
        return Question.Option(value, label: label, details: node["description"]?.string)
    }

    /// Numbers and booleans as written.
    private static func text(of node: FrameNode) -> String? {
        node.string ?? (node.isObject || node.isArray ? nil : node.compact.text)
    }
}
