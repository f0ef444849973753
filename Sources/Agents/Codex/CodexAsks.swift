import JSONReading
import Vocabulary

/// A request of the server that a person answers (codex.md#server-requests).
///
/// Turn and item make the name, because the request's own number belongs to one process of the server. An elicitation names no
/// item, and two may be equal: server and number make its name, and the process keeps the number. One item may ask for several
/// things, one after the other or at once: the first has the bare name, the next one `:2` behind it. The fingerprint of all that is
/// shown tells them apart.
struct CodexAsk {
    enum Kind: Hashable {
        case command, fileChange
        /// Bytes for a running process, whose end says nothing of them.
        case input
        /// The permissions asked for, as they came.
        case permissions(JSONText)
        /// A tool of an MCP server.
        case tool
        /// A form without members: a yes-or-no question.
        case form
    }

    enum Content {
        case approval(ApprovalRequest, Kind)
        case questions([CodexQuestion], CodexForm)
        /// Answered at once, with words for the log.
        case refused(result: String, why: String)
    }

    static let methods: Set = [
        "item/commandExecution/requestApproval", "item/fileChange/requestApproval", "item/permissions/requestApproval",
        "item/tool/requestUserInput", "mcpServer/elicitation/request",
    ]

    let thread: String
    let turn: String?
    let item: String?
    private(set) var name: String
    private(set) var content: Content
    private(set) var fingerprint: AskFingerprint
    /// Card of a file change without the change, which the item's frames may replace while the ask waits. Nil for any other ask.
    private var unchanged: ApprovalRequest?

    /// Nil if the method asks no person. `change` belongs to the item of a file change, whose request has no diff; `call` is the
    /// item's card.
    init?(
        _ method: String, _ params: FrameNode, as number: JSONText, agent: String?, change: CodexChange?,
        call: ToolCallID? = nil
    ) {
        guard Self.methods.contains(method), let thread = params["threadId"]?.string else { return nil }
        self.thread = thread
        turn = params["turnId"]?.string
        item = params["itemId"]?.string
        name = Self.name(params, number)
        let id = ApprovalID(name)
        let prefix = agent.map { "agent \($0): " } ?? ""
        switch method {
        case "item/commandExecution/requestApproval" where params["kind"]?.holds("writeStdin") == true:
            content = .approval(Self.input(id, params, prefix), .input)
        case "item/commandExecution/requestApproval": content = .approval(Self.command(id, params, prefix), .command)
        case "item/fileChange/requestApproval":
            let request = Self.fileChange(id, params, prefix)
            unchanged = request
            content = .approval(Self.showing(change, request), .fileChange)
        case "item/permissions/requestApproval":
            let asked = params["permissions"]?.compact ?? JSONText(unchecked: "{}")
            content = .approval(Self.permissions(id, params, prefix), .permissions(asked))
        case "item/tool/requestUserInput": content = CodexForm.userInput(params, name: name)
        default: content = CodexForm.elicitation(params, id: id, name: name, prefix: prefix)
        }
        fingerprint = Self.fingerprint(content, params)
        if let call, case .approval(var request, let kind) = content {
            request.call = call
            unchanged?.call = call
            content = .approval(request, kind)
        }
    }

    /// The ask of a patch with the item's newest change, or nil if it asks about no patch.
    func showing(_ change: CodexChange?) -> CodexAsk? {
        guard let unchanged else { return nil }
        var ask = self
        let request = Self.showing(change, unchanged)
        ask.content = .approval(request, .fileChange)
        ask.fingerprint = AskFingerprint(of: request)
        return ask
    }

    /// Names the `count`th ask of this turn and item.
    func named(_ count: Int) -> CodexAsk {
        guard count > 1 else { return self }
        var ask = self
        ask.name = "\(name):\(count)"
        switch content {
        case .approval(var request, let kind):
            request.id = ApprovalID(ask.name)
            ask.content = .approval(request, kind)
        case .questions(var questions, let form):
            for index in questions.indices {
                questions[index].question.id = QuestionID("\(ask.name):\(questions[index].member)")
            }
            ask.content = .questions(questions, form)
        case .refused: break
        }
        return ask
    }

    private static func fingerprint(_ content: Content, _ params: FrameNode) -> AskFingerprint {
        switch content {
        case .approval(let request, _): AskFingerprint(of: request)
        case .questions, .refused:
            // A question has no card of its own: the fingerprint covers the request's text.
            AskFingerprint(
                of: ApprovalRequest(
                    id: ApprovalID(""), subject: .dialog, title: params["message"]?.string ?? "",
                    message: (params["questions"] ?? params["requestedSchema"])?.compact.text ?? "",
                    facts: CodexFacts.facts(of: params, read: shown)))
        }
    }

    /// Fields of a request with questions that the fingerprint covers by the questions themselves.
    private static let shown: Set = ["message", "questions", "requestedSchema", "isBlocking", "mode", "serverName"]

    private static func name(_ params: FrameNode, _ number: JSONText) -> String {
        let more = params["approvalId"]?.string.map { ":\($0)" } ?? ""
        let item = params["itemId"]?.string ?? "\(params["serverName"]?.string ?? "server")#\(number.text)"
        return "\(params["turnId"]?.string ?? params["threadId"]?.string ?? ""):\(item)\(more)"
    }

    /// Whether an ask of this name concerns that item. The turn is compared too: an item of another turn may have the same id.
    static func isNamed(_ name: String, of item: String, in turn: String) -> Bool {
        let parts = name.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        return parts.count > 1 && parts[0] == turn && parts[1] == item
    }

    // MARK: Cards

    private static func title(_ params: FrameNode, _ prefix: String, or question: String) -> String {
        let reason = params["reason"]?.string.flatMap { CodexFacts.fitsTitle($0) && !$0.isEmpty ? $0 : nil }
        return prefix + (reason ?? question)
    }

    private static func call(_ params: FrameNode) -> ToolCallID? { params["itemId"]?.string.map { ToolCallID($0) } }

    private static func command(_ id: ApprovalID, _ params: FrameNode, _ prefix: String) -> ApprovalRequest {
        let isCommand = params["kind"]?.holds("command") == true
        var facts = CodexFacts.facts(of: params, read: isCommand ? ["kind", "command"] : ["command"])
        let network = params["networkApprovalContext"].flatMap { $0.isObject ? $0 : nil }
        let more = params["additionalPermissions"].flatMap { $0.isObject ? $0 : nil }
        // Codex's policy asks about a command that leaves the sandbox, even if the model gives no reason. Only an ask about
        // a host concerns a command within the sandbox.
        facts.leavesSandbox = network == nil || more != nil
        facts.reachesNetwork = network != nil || more.map { CodexFacts.reachesNetwork($0) } ?? false
        facts.paths = more.map { CodexFacts.paths(in: $0) } ?? []
        let host = network?["host"]?.string
        let question = host.map { "Connect to \($0)?" } ?? "Run a command?"
        let command = CodexWords.command(params)
        return ApprovalRequest(
            id: id, subject: .exec, title: title(params, prefix, or: question), command: command, host: host,
            call: call(params),
            // Without a command and a host, nothing says what a yes would run.
            allowed: command == nil && network == nil ? [.deny] : nil, facts: facts)
    }

    /// Input for a process that was allowed before and now asks for more.
    private static func input(_ id: ApprovalID, _ params: FrameNode, _ prefix: String) -> ApprovalRequest {
        let input = params["stdin"]?.string
        var facts = CodexFacts.facts(of: params, read: ["kind", input == nil ? "command" : "stdin"])
        if let reason = params["reason"]?.string, CodexFacts.fitsTitle(reason) {
            facts.lines.append(AskFacts.Line("reason", reason))
        }
        let command = input ?? CodexWords.command(params)
        return ApprovalRequest(
            id: id, subject: .exec, title: prefix + "Send input to a running process?", command: command,
            call: call(params), allowed: command == nil ? [.deny] : [.approve, .deny], facts: facts)
    }

    private static func fileChange(_ id: ApprovalID, _ params: FrameNode, _ prefix: String) -> ApprovalRequest {
        var facts = CodexFacts.facts(of: params, read: [])
        facts.paths = params["grantRoot"].map { CodexFacts.paths(in: $0) } ?? []
        return ApprovalRequest(
            id: id, subject: .permission, title: title(params, prefix, or: "Change files?"), call: call(params),
            facts: facts)
    }

    private static func showing(_ change: CodexChange?, _ unchanged: ApprovalRequest) -> ApprovalRequest {
        var request = unchanged
        request.facts.paths = (change?.paths ?? []) + unchanged.facts.paths
        // The text of an added file can imitate the head of another file: count and names come first.
        let heads = change?.heads ?? []
        request.facts.lines += heads.enumerated().map { AskFacts.Line("File \($0 + 1) of \(heads.count)", $1) }
        request.message = change?.diff ?? "Codex does not say any more what would change."
        request.isIncomplete = change == nil
        return request
    }

    private static func permissions(_ id: ApprovalID, _ params: FrameNode, _ prefix: String) -> ApprovalRequest {
        var facts = CodexFacts.facts(of: params, read: ["permissions"])
        let asked = params["permissions"]
        facts.leavesSandbox = true
        facts.reachesNetwork = asked.map { CodexFacts.reachesNetwork($0) } ?? false
        facts.paths = asked.map { CodexFacts.paths(in: $0) } ?? []
        return ApprovalRequest(
            id: id, subject: .permission, title: title(params, prefix, or: "Grant more permissions?"),
            message: asked?.compact.text ?? "{}", call: call(params), facts: facts)
    }

    // MARK: Answers

    /// Codex's permanent rule is never written: it would hold in every project (codex.md#server-requests).
    /// `isUnanswered`: no person denied it. Only an elicitation has a word for that. `cancel` for a command or a change means that
    /// the person stops the turn; permissions and questions have only an empty answer.
    static func result(
        _ decision: ApprovalDecision, of kind: Kind, isStopping: Bool, isUnanswered: Bool = false
    ) -> String {
        switch (kind, decision) {
        case (.command, _), (.fileChange, _), (.input, _):
            let word =
                switch decision {
                case .approve: "accept"
                // Input is allowed once: for this process, at this moment.
                case .approveAlways where kind == .input: "accept"
                case .approveAlways: "acceptForSession"
                case .deny: isStopping ? "cancel" : "decline"
                }
            return #"{"decision":"\#(word)"}"#
        case (.permissions(let asked), .approve): return #"{"permissions":\#(asked.text),"scope":"turn"}"#
        case (.permissions(let asked), .approveAlways): return #"{"permissions":\#(asked.text),"scope":"session"}"#
        case (.permissions, .deny): return #"{"permissions":{},"scope":"turn"}"#
        case (.tool, .approveAlways): return #"{"action":"accept","content":{},"_meta":{"persist":"session"}}"#
        case (.tool, .approve), (.form, .approve), (.form, .approveAlways):
            return #"{"action":"accept","content":{}}"#
        case (.tool, .deny), (.form, .deny): return #"{"action":"\#(isUnanswered ? "cancel" : "decline")"}"#
        }
    }

    /// Decision that a recorded answer carried.
    static func decision(_ result: FrameNode) -> ApprovalDecision {
        if result["decision"]?.holds("acceptForSession") == true { return .approveAlways }
        if result["_meta"]?["persist"]?.string != nil { return .approveAlways }
        if let granted = result["permissions"] {
            guard granted.compact.text != "{}" else { return .deny }
            return result["scope"]?.holds("session") == true ? .approveAlways : .approve
        }
        let accepts = result["decision"]?.isObject == true || result["decision"]?.holds("accept") == true
        return accepts || result["action"]?.holds("accept") == true ? .approve : .deny
    }
}
