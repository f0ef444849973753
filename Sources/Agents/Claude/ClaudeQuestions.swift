import AgentKit
import JSONReading
import Vocabulary

/// Questions of a session: AskUserQuestion, and a plan that needs an answer (claude-code.md#questions).
enum ClaudeQuestions {
    /// Longest form that a phone can show.
    private static let limit = 20
    static let approve = "approve"
    static let keepPlanning = "keep planning"

    static func content(_ request: FrameNode, into slip: inout ClaudeSlip) -> ClaudeAsk.Content {
        let list = request["input"]?["questions"]
        let asked = list?.elements ?? []
        guard let list, (1...limit).contains(asked.count) else {
            return .refused(
                "The user was not asked: the request holds \(asked.count) questions, expected 1 to \(limit).")
        }
        var questions: [Question] = []
        var answers: [ClaudeQuestion] = []
        for (index, node) in asked.enumerated() {
            guard let text = node["question"]?.string, !text.isEmpty else {
                return .refused("The user was not asked: a question has no text.")
            }
            let options = (node["options"]?.elements ?? []).compactMap(option)
            let id = QuestionID("\(slip.request):\(index + 1)")
            questions.append(
                Question(
                    id: id, title: node["header"]?.string ?? "Claude Code asks", message: text, options: options,
                    isMultiSelect: node["multiSelect"]?.flag == true, allowsOwnWords: true))
            answers.append(ClaudeQuestion(id: id, text: text, labels: options.map(\.value)))
        }
        // The answer holds one value for each text.
        guard Set(answers.map(\.text)).count == answers.count else {
            return .refused("The user was not asked: two of the questions have the same text. Ask them apart.")
        }
        let bytes = slip.input.text.utf8.withContiguousStorageIfAvailable {
            JSONSlice.member(["questions"], of: UnsafeRawBufferPointer($0))
        }
        slip.form = .questions(answers, (bytes ?? nil) ?? list.compact)
        return .questions(questions)
    }

    private static func option(_ node: FrameNode) -> Question.Option? {
        guard let label = node["label"]?.string, !label.isEmpty else { return nil }
        let details = [node["description"]?.string, node["preview"]?.string].compactMap(\.self).filter { !$0.isEmpty }
        return Question.Option(label, details: details.isEmpty ? nil : details.joined(separator: "\n\n"))
    }

    static func plan(_ request: FrameNode, into slip: inout ClaudeSlip) -> ClaudeAsk.Content {
        let id = QuestionID(slip.request)
        slip.form = .plan(id)
        let input = request["input"]
        let plan = input?["plan"]?.string ?? ""
        // A yes returns the whole input, so the card shows its other members.
        let others = (input?.names(atMost: 32) ?? []).filter { !["plan", "planFilePath"].contains($0) }
        let more = others.compactMap { name in input?.member(name).map { "\n\n\(name): \($0.compact.text)" } }.joined()
        return .questions([
            Question(
                id: id, title: "Carry out this plan?", message: (plan.isEmpty ? "It shows no plan." : plan) + more,
                options: [
                    Question.Option(approve, label: "Approve", details: "It leaves plan mode and begins."),
                    Question.Option(keepPlanning, label: "Keep planning"),
                ], allowsOwnWords: true)
        ])
    }
}
