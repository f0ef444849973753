import BridgeModel
import JSONReading

/// One question of a form, under the name of its member.
struct CodexQuestion: Hashable {
    enum Form: Hashable { case text, flag, number }

    var member: String
    var form: Form
    var question: Question
}

/// Questions that are answered together (codex.md#server-requests): user input, and forms of MCP servers. They are asked one after
/// the other, and the answer leaves when the last one is given.
enum CodexForm: Hashable {
    case userInput
    case elicitation

    /// More than this is no form for a phone.
    private static let questionLimit = 20

    // MARK: Requests

    static func userInput(_ params: FrameNode, name: String) -> CodexAsk.Content {
        let refusal = #"{"answers":{}}"#
        let asked = params["questions"]?.elements ?? []
        guard !asked.isEmpty, asked.count <= questionLimit else {
            return .refused(result: refusal, why: "a request for input has \(asked.count) questions")
        }
        // What is typed into a chat is kept there.
        if asked.contains(where: { $0["isSecret"]?.flag == true }) {
            return .refused(result: refusal, why: "Codex asked for a secret, which belongs into no chat")
        }
        var questions: [CodexQuestion] = []
        for node in asked {
            guard let member = node["id"]?.string else {
                return .refused(result: refusal, why: "a question of Codex has no name")
            }
            let options = (node["options"]?.elements ?? []).compactMap { option -> Question.Option? in
                option["label"]?.string.map { Question.Option($0, details: option["description"]?.string) }
            }
            let question = Question(
                id: QuestionID("\(name):\(member)"), title: node["header"]?.string ?? "Codex asks",
                message: node["question"]?.string ?? "", options: options,
                allowsOwnWords: options.isEmpty || node["isOther"]?.flag == true)
            questions.append(CodexQuestion(member: member, form: .text, question: question))
        }
        return .questions(questions, .userInput)
    }

    static func elicitation(_ params: FrameNode, id: ApprovalID, name: String, prefix: String) -> CodexAsk.Content {
        let server = params["serverName"]?.string ?? "a server"
        let message = params["message"]?.string ?? ""
        let title = prefix + (CodexFacts.fitsTitle(message) ? message : "\(server) asks")
        if let meta = params["_meta"], meta["codex_approval_kind"]?.holds("mcp_tool_call") == true {
            return .approval(tool(params, meta, id, title, message), .tool)
        }
        let cancelled = #"{"action":"cancel"}"#
        guard params["mode"]?.holds("url") != true else {
            return .refused(result: cancelled, why: "\(server) asked to open an address, which the chat cannot show")
        }
        let members = params["requestedSchema"]?["properties"]
        let names = members?.names(atMost: questionLimit + 1) ?? []
        guard !names.isEmpty else {
            let whole = CodexFacts.fitsTitle(message) ? "" : message
            let facts = CodexFacts.facts(of: params, read: read)
            return .approval(
                ApprovalRequest(id: id, subject: .dialog, title: title, message: whole, facts: facts), .form)
        }
        let questions = names.compactMap { member -> CodexQuestion? in
            guard let node = members?.member(member) else { return nil }
            return question(member, node, QuestionID("\(name):\(member)"), "\(prefix)\(server): \(message)")
        }
        guard questions.count == names.count, questions.count <= questionLimit else {
            return .refused(result: cancelled, why: "a form of \(server) has members that the chat cannot ask for")
        }
        return .questions(questions, .elicitation)
    }

    /// Of an elicitation.
    private static let read: Set = ["mode", "message", "requestedSchema"]

    /// What Codex would display of the parameters need not be all of them, nor what the tool gets.
    private static func tool(
        _ params: FrameNode, _ meta: FrameNode, _ id: ApprovalID, _ title: String, _ message: String
    ) -> ApprovalRequest {
        let input = [meta["tool_params"], meta["tool_params_display"]].compactMap(\.self).first {
            $0.compact.text != "null"
        }
        var facts = CodexFacts.facts(of: params, read: read.union(["_meta"]))
        facts.lines += CodexFacts.meta(meta, read: ["tool_params", "tool_params_display"])
        return ApprovalRequest(
            id: id, subject: .plugin, title: title, message: CodexFacts.fitsTitle(message) ? "" : message,
            command: input?.compact.text, facts: facts)
    }

    private static func question(
        _ member: String, _ node: FrameNode, _ id: QuestionID, _ title: String
    ) -> CodexQuestion? {
        var question = Question(
            id: id, title: title, message: node["title"]?.string ?? node["description"]?.string ?? member)
        switch node["type"]?.string {
        case "string":
            let values = (node["enum"]?.elements ?? []).compactMap(\.string)
            let names = (node["enumNames"]?.elements ?? []).compactMap(\.string)
            question.options = values.enumerated().map { index, value in
                Question.Option(value, label: names.indices.contains(index) ? names[index] : nil)
            }
            question.allowsOwnWords = values.isEmpty
            return CodexQuestion(member: member, form: .text, question: question)
        case "boolean":
            question.options = [Question.Option("true", label: "Yes"), Question.Option("false", label: "No")]
            return CodexQuestion(member: member, form: .flag, question: question)
        case "number", "integer":
            question.allowsOwnWords = true
            question.placeholder = "12"
            return CodexQuestion(member: member, form: .number, question: question)
        default: return nil
        }
    }

    // MARK: Answers

    /// Nil: the person declined one of them.
    func result(_ answers: [(CodexQuestion, QuestionAnswer)]) -> String {
        var members: [String] = []
        for (question, answer) in answers {
            guard let value = value(answer, question.form) else { return refusal }
            members.append("\(JSONText.string(question.member).text):\(value)")
        }
        let all = "{\(members.joined(separator: ","))}"
        switch self {
        case .userInput: return #"{"answers":\#(all)}"#
        case .elicitation: return #"{"action":"accept","content":\#(all)}"#
        }
    }

    var refusal: String {
        switch self {
        case .userInput: #"{"answers":{}}"#
        case .elicitation: #"{"action":"decline"}"#
        }
    }

    private func value(_ answer: QuestionAnswer, _ form: CodexQuestion.Form) -> String? {
        let texts: [String]
        switch answer {
        case .declined: return nil
        case .text(let text): texts = [text]
        case .choices(let choices): texts = choices
        }
        switch (self, form) {
        case (.userInput, _): return #"{"answers":[\#(texts.map { JSONText.string($0).text }.joined(separator: ","))]}"#
        case (.elicitation, .text): return JSONText.string(texts.first ?? "").text
        case (.elicitation, .flag): return texts.first == "true" ? "true" : "false"
        case (.elicitation, .number):
            let text = texts.first?.filter { !$0.isWhitespace } ?? ""
            return Self.isNumber(text) ? text : nil
        }
    }

    /// As JSON writes one.
    private static func isNumber(_ text: String) -> Bool {
        let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
        let parts = digits.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), digits.utf8.count <= 18 else { return false }
        let isPlain = parts.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }
        return isPlain && (parts[0].utf8.count == 1 || !parts[0].hasPrefix("0"))
    }

    /// What a recorded answer said of this question.
    func answer(_ question: CodexQuestion, in result: FrameNode) -> QuestionAnswer {
        let given: FrameNode? =
            switch self {
            case .userInput: result["answers"]?.member(question.member)?["answers"]
            case .elicitation: result["content"]?.member(question.member)
            }
        guard let given else { return .declined }
        let texts = given.isArray ? given.elements.compactMap(\.string) : [given.string ?? given.compact.text]
        guard !texts.isEmpty else { return .declined }
        let values = Set(question.question.options.map(\.value))
        return values.isSuperset(of: texts) && !values.isEmpty ? .choices(texts) : .text(texts.joined(separator: "\n"))
    }
}
