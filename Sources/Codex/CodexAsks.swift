import BridgeModel
import JSONReading

/// A request of the server that a person answers (codex.md#server-requests).
///
/// Its name is made of the turn and the item, because the request's own number belongs to one process of the server. An elicitation names
/// no item, and two of them may be equal: the server and the number, which its process keeps.
struct CodexAsk {
    enum Kind: Hashable {
        case command, fileChange
        /// With what is asked for, as it came.
        case permissions(JSONText)
        /// A tool of an MCP server.
        case tool
        /// A form without members: yes or no.
        case form
    }

    enum Content {
        case approval(ApprovalRequest, Kind)
        case questions([CodexQuestion], CodexForm)
        /// It is answered at once, with words for the log.
        case refused(result: String, why: String)
    }

    static let methods: Set = [
        "item/commandExecution/requestApproval", "item/fileChange/requestApproval", "item/permissions/requestApproval",
        "item/tool/requestUserInput", "mcpServer/elicitation/request",
    ]

    let thread: String
    let turn: String?
    let name: String
    var content: Content

    /// Nil for a request of another kind. `change`: the item of a file change, whose request has no diff. `times`: how often one of this name
    /// was closed in the turn.
    init?(
        _ method: String, _ params: FrameNode, as number: JSONText, agent: String?, change: String?,
        times: (String) -> Int
    ) {
        guard Self.methods.contains(method), let thread = params["threadId"]?.string else { return nil }
        self.thread = thread
        turn = params["turnId"]?.string
        name = Self.name(params, number, times)
        let id = ApprovalID(name)
        let prefix = agent.map { "agent \($0): " } ?? ""
        switch method {
        case "item/commandExecution/requestApproval": content = .approval(Self.command(id, params, prefix), .command)
        case "item/fileChange/requestApproval":
            let title = prefix + (params["reason"]?.string ?? "Change files?")
            let request = ApprovalRequest(
                id: id, subject: .permission, title: title, message: change ?? params["grantRoot"]?.string ?? "",
                call: params["itemId"]?.string.map { ToolCallID($0) })
            content = .approval(request, .fileChange)
        case "item/permissions/requestApproval":
            let asked = params["permissions"]?.compact ?? JSONText(unchecked: "{}")
            let request = ApprovalRequest(
                id: id, subject: .permission, title: prefix + (params["reason"]?.string ?? "Grant more permissions?"),
                message: asked.text, call: params["itemId"]?.string.map { ToolCallID($0) }, severity: .high)
            content = .approval(request, .permissions(asked))
        case "item/tool/requestUserInput": content = CodexForm.userInput(params, name: name)
        default: content = CodexForm.elicitation(params, id: id, name: name, prefix: prefix)
        }
    }

    private static func name(_ params: FrameNode, _ number: JSONText, _ times: (String) -> Int) -> String {
        #if PLANTED_FAULTS
            if PlantedFault.approvalByNumber.isPlanted { return "request-\(number.text)" }
        #endif
        let more = params["approvalId"]?.string.map { ":\($0)" } ?? ""
        let item = params["itemId"]?.string ?? "\(params["serverName"]?.string ?? "server")#\(number.text)"
        let first = "\(params["turnId"]?.string ?? params["threadId"]?.string ?? ""):\(item)\(more)"
        let before = times(first)
        return before == 0 ? first : "\(first):\(before + 1)"
    }

    /// The call that an ask of this name is about.
    static func item(inName name: String) -> String? {
        name.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false).dropFirst().first.map { String($0) }
    }

    private static func command(_ id: ApprovalID, _ params: FrameNode, _ prefix: String) -> ApprovalRequest {
        let reason = params["reason"]?.string
        let host = params["networkApprovalContext"]?["host"]?.string
        let question = host.map { "Connect to \($0)?" } ?? "Run a command?"
        return ApprovalRequest(
            id: id, subject: .exec, title: prefix + (reason ?? question), command: CodexWords.command(params),
            host: host, call: params["itemId"]?.string.map { ToolCallID($0) },
            // The model gives a reason where it asks to leave the sandbox.
            severity: reason == nil ? .medium : .high)
    }

    /// The permanent rule of Codex is never written: it would hold in every project (codex.md#server-requests).
    static func result(_ decision: ApprovalDecision, of kind: Kind, isStopping: Bool) -> String {
        switch (kind, decision) {
        case (.command, _), (.fileChange, _):
            let word =
                switch decision {
                case .approve: "accept"
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
        case (.tool, .deny), (.form, .deny): return #"{"action":"decline"}"#
        }
    }

    /// What an answer of a recording decided.
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
