import JSONReading
import Vocabulary

/// One question of a form, named by its member.
struct CodexQuestion: Hashable {
    enum Form: Hashable { case text, flag, number, integer }

    var member: String
    var form: Form
    var question: Question
}

/// Questions of one request (codex.md#server-requests): user input, and forms of MCP servers. The bubble asks them one after the
/// other, and the answer leaves behind the last one.
enum CodexForm: Hashable {
    case userInput
    case elicitation

    /// Longest form that a phone can show.
    private static let questionLimit = 20

    // MARK: Requests

    static func userInput(_ params: FrameNode, name: String) -> CodexAsk.Content {
        let refusal = #"{"answers":{}}"#
        let asked = params["questions"]?.elements ?? []
        guard !asked.isEmpty, asked.count <= questionLimit else {
            return .refused(result: refusal, why: "a request for input has \(asked.count) questions")
        }
        // The chat would keep a typed secret.
        if asked.contains(where: { $0["isSecret"]?.flag == true }) {
            return .refused(result: refusal, why: "Codex asked for a secret, which belongs into no chat")
        }
        var questions: [CodexQuestion] = []
        let head = words(CodexFacts.facts(of: params, read: ["questions", "isBlocking"]))
        for node in asked {
            guard let member = node["id"]?.string else {
                return .refused(result: refusal, why: "a question of Codex has no name")
            }
            let options = (node["options"]?.elements ?? []).compactMap { option -> Question.Option? in
                option["label"]?.string.map { Question.Option($0, details: option["description"]?.string) }
            }
            let more = words(CodexFacts.lines(of: node, besides: readOfQuestion))
            let texts = [questions.isEmpty ? head : "", more, node["question"]?.string ?? ""]
            let question = Question(
                id: QuestionID("\(name):\(member)"), title: node["header"]?.string ?? "Codex asks",
                message: joined(texts), options: options,
                allowsOwnWords: options.isEmpty || node["isOther"]?.flag == true)
            questions.append(CodexQuestion(member: member, form: .text, question: question))
        }
        guard areNamedApart(questions) else {
            return .refused(result: refusal, why: "two questions of Codex have one name")
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
        let schema = params["requestedSchema"]
        let members = schema?["properties"]
        let names = members?.names(atMost: questionLimit + 1) ?? []
        var facts = CodexFacts.facts(of: params, read: read)
        if let schema { facts.lines += lines(of: schema, hasMembers: !names.isEmpty) }
        guard !names.isEmpty else {
            let whole = CodexFacts.fitsTitle(message) ? "" : message
            return .approval(
                ApprovalRequest(id: id, subject: .dialog, title: title, message: whole, facts: facts), .form)
        }
        // The form's own message stands above its first question.
        let head = [words(facts), message]
        let questions = names.compactMap { member -> CodexQuestion? in
            guard let node = members?.member(member) else { return nil }
            let texts = member == names.first ? head : []
            return question(member, node, QuestionID("\(name):\(member)"), "\(prefix)\(server) asks", texts)
        }
        guard questions.count == names.count, questions.count <= questionLimit else {
            return .refused(result: cancelled, why: "a form of \(server) has members that the chat cannot ask for")
        }
        guard areNamedApart(questions) else {
            return .refused(result: cancelled, why: "two members of a form of \(server) have one name")
        }
        return .questions(questions, .elicitation)
    }

    /// Fields of an elicitation that the card shows elsewhere.
    private static let read: Set = ["mode", "message", "requestedSchema"]
    /// Fields of a question of user input that the bubble shows.
    private static let readOfQuestion: Set = ["id", "header", "question", "options", "isOther", "isSecret"]
    /// Fields of a form's member that its question shows.
    private static let readOfMember: Set = ["type", "title", "description", "enum", "enumNames"]

    /// Fields beside the members of a form; without members the whole schema, unless it is empty.
    private static func lines(of schema: FrameNode, hasMembers: Bool) -> [AskFacts.Line] {
        let others = CodexFacts.lines(of: schema, besides: ["type", "properties"])
        let isPlain = schema["type"].map { $0.holds("object") } ?? true
        if hasMembers, isPlain {
            return others.filter { $0.label != "required" }.map {
                AskFacts.Line("requestedSchema.\($0.label)", $0.value)
            }
        }
        let hasNone = schema["properties"].map { $0.isObject && $0.names(atMost: 1).isEmpty } ?? true
        if schema.isNull || schema.isObject && isPlain && hasNone && others.isEmpty { return [] }
        return [AskFacts.Line("requestedSchema", schema.compact.text)]
    }

    /// Lines above a question. Values are put on one line: none can imitate a second one.
    private static func words(_ facts: AskFacts) -> String {
        words((facts.folder.map { [AskFacts.Line("Folder", $0)] } ?? []) + facts.lines)
    }

    private static func words(_ lines: [AskFacts.Line]) -> String {
        lines.map { "\(oneLine($0.label)): \(oneLine($0.value))" }.joined(separator: "\n")
    }

    private static func oneLine(_ text: String) -> String {
        text.unicodeScalars.contains { $0.properties.isWhitespace && $0 != " " } ? JSONText.string(text).text : text
    }

    private static func joined(_ texts: [String]) -> String {
        texts.filter { !$0.isEmpty }.joined(separator: "\n\n")
    }

    /// The answer holds one value for each name.
    private static func areNamedApart(_ questions: [CodexQuestion]) -> Bool {
        Set(questions.map(\.member)).count == questions.count
    }

    /// `tool_params_display` may lack parameters that the tool gets, so `tool_params` comes first.
    private static func tool(
        _ params: FrameNode, _ meta: FrameNode, _ id: ApprovalID, _ title: String, _ message: String
    ) -> ApprovalRequest {
        let input = [meta["tool_params"], meta["tool_params_display"]].compactMap(\.self).first {
            $0.compact.text != "null"
        }
        var facts = CodexFacts.facts(of: params, read: read.union(["_meta"]))
        facts.lines += CodexFacts.meta(meta, read: ["tool_params", "tool_params_display"])
        if let schema = params["requestedSchema"] { facts.lines += lines(of: schema, hasMembers: false) }
        return ApprovalRequest(
            id: id, subject: .plugin, title: title, message: CodexFacts.fitsTitle(message) ? "" : message,
            command: input?.compact.text, facts: facts)
    }

    /// `texts`: lines above the question's own.
    private static func question(
        _ member: String, _ node: FrameNode, _ id: QuestionID, _ title: String, _ texts: [String]
    ) -> CodexQuestion? {
        let own = [node["title"]?.string, node["description"]?.string].compactMap(\.self).filter { !$0.isEmpty }
        let more = words(CodexFacts.lines(of: node, besides: readOfMember))
        let message = joined(texts + [more] + (own.isEmpty ? [member] : own))
        var question = Question(id: id, title: title, message: message)
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
            let form: CodexQuestion.Form = node["type"]?.holds("integer") == true ? .integer : .number
            return CodexQuestion(member: member, form: form, question: question)
        default: return nil
        }
    }

    // MARK: Answers

    /// Line for the bubble whose form an answer declined. A question takes one answer, so the person cannot try again.
    static let misfit =
        "An answer was no number where the form wants one, so the form was declined. Please tell the agent in a message."

    /// Whether the answer has the form that its member wants.
    func takes(_ answer: QuestionAnswer, to question: CodexQuestion) -> Bool {
        answer == .declined || value(answer, question.form) != nil
    }

    /// The whole answer, or the refusal if the person declined a question or a value has the wrong form.
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
        case (.elicitation, .number), (.elicitation, .integer):
            let text = texts.first?.filter { !$0.isWhitespace } ?? ""
            return Self.isNumber(text) && (form == .number || !text.contains(".")) ? text : nil
        }
    }

    /// JSON's grammar of a number, without an exponent.
    private static func isNumber(_ text: String) -> Bool {
        let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
        let parts = digits.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), digits.utf8.count <= 18 else { return false }
        let isPlain = parts.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }
        return isPlain && (parts[0].utf8.count == 1 || !parts[0].hasPrefix("0"))
    }

    /// Answer to this question in a recorded reply.
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
