package import Vocabulary

/// Makes the bytes of relay calls (relay.md#bridge-rest-methods), plain or sealed.
///
/// Sealed content replaces all plain members of its kind, even those without a sealed twin: no omission can send private content in the open.
///
/// Bodies are compact JSON with the members in a fixed order: the same call always gives the same bytes, since a retry under the
/// same key must not differ (relay.md#rules). Absent members are omitted, never null (relay.md#json-rules).
package enum RelayEncoder {
    package static func path(of call: RelayCall) -> String { "/v1/bridge/\(method(of: call.content))" }

    private static func method(of content: RelayCall.Content) -> String {
        switch content {
        case .post(.open), .post(.message): "sendMessage"
        case .post(.text): "sendMessageDelta"
        case .post(.end): "sendMessageEnd"
        case .post(.taskStarted): "createTask"
        case .post(.taskProgress): "updateTask"
        case .post(.taskEnded): "finishTask"
        case .post(.approval): "requestApproval"
        case .newSession: "createSession"
        case .toolFile: "notifyToolFile"
        }
    }

    package static func body(of call: RelayCall, sealed: SealedContent? = nil) -> [UInt8] {
        var json = JSONObjectWriter()
        json.address(call.address)
        switch call.content {
        case .post(let post): json.post(post, sealed, mark: call.mark)
        case .newSession(let source): json.string("source", source)
        case .toolFile(let use, let file): json.toolFile(use, file, sealed)
        }
        json.string("idempotency_key", call.key?.text)
        return json.finish()
    }
}

extension JSONObjectWriter {
    fileprivate mutating func address(_ address: RelayCall.Address) {
        switch address {
        case .chat(let session, let interaction):
            string("session_id", session.text)
            string("interaction_id", interaction?.text)
        case .bubble(let message): string("message_id", message.text)
        case .relay: break
        }
    }

    fileprivate mutating func post(_ post: Post, _ sealed: SealedContent?, mark: UInt32?) {
        switch post {
        // The relay refused an empty placeholder.
        case .open: content(.text, sealed) { $0.string("text", mark.map { StateMark.text($0) } ?? " ") }
        case .message(let message):
            content(.text, sealed) { $0.string("text", message.text) }
            usage(message.usage)
        case .text(let text): content(.delta, sealed) { $0.string("delta", text) }
        case .end(let end):
            content(.text, sealed) { $0.string("text", end.text) }
            usage(end.usage)
            string("finish_reason", end.finishReason?.rawValue)
        case .taskStarted(let start):
            string("task_id", start.task.text)
            string("kind", start.kind)
            content(.statusLabel, sealed) { $0.string("status_label", start.label) }
            content(.arguments, sealed) { $0.value("args", start.arguments) }
        case .taskProgress(let progress):
            string("task_id", progress.task.text)
            content(.statusLabel, sealed) { $0.string("status_label", progress.label) }
            integer("progress_percent", progress.percent)
            content(.partialResult, sealed) { $0.value("partial_result", progress.partialResult) }
        case .taskEnded(let end):
            string("task_id", end.task.text)
            string("name", end.name)
            string("status", end.status.rawValue)
            content(.statusLabel, sealed) { $0.string("status_label", end.label) }
            content(.error, sealed) { $0.string("error", end.error) }
            content(.result, sealed) { $0.value("result", end.result) }
        case .approval(let card): if let sealed { approval(card, sealed) } else { approval(card) }
        }
    }

    /// Writes one of the two, never both (relay.md#bridge-rest-methods).
    private mutating func content(
        _ field: SealedContent.Field, _ sealed: SealedContent?, plain: (inout JSONObjectWriter) -> Void
    ) {
        guard let sealed else { return plain(&self) }
        guard let text = sealed[field] else { return }
        switch field {
        case .text: string("text_ct", text)
        case .delta: string("delta_ct", text)
        case .statusLabel: string("status_label_ct", text)
        case .arguments: string("args_ct", text)
        case .partialResult: string("partial_result_ct", text)
        case .error: string("error_ct", text)
        case .result: string("result_ct", text)
        case .details: string("details_ct", text)
        case .path: string("path_ct", text)
        case .displayName: string("display_name_ct", text)
        case .blindIndex: string("path_blind_idx", text)
        }
    }

    private mutating func approval(_ card: ApprovalCard, _ sealed: SealedContent) {
        string("approval_id", card.approval.text)
        string("action", card.action)
        string("severity", card.severity.rawValue)
        integer("expires_in_ms", card.endsAfter.map { Int($0 / .milliseconds(1)) })
        content(.details, sealed) { _ in }
    }

    private mutating func approval(_ card: ApprovalCard) {
        string("approval_id", card.approval.text)
        string("approval_slug", card.slug)
        string("action", card.action)
        string("tool_call_id", card.toolCall?.text)
        string("title", card.title)
        string("severity", card.severity.rawValue)
        integer("expires_in_ms", card.endsAfter.map { Int($0 / .milliseconds(1)) })
        string("command", card.command)
        string("host", card.host)
        string("message", card.message)
    }

    /// The plain form follows the rule of pairs (relay.md#bridge-rest-methods): the relay's own page documents only the sealed form.
    fileprivate mutating func toolFile(_ use: ToolFile.Use, _ file: SeenFile, _ sealed: SealedContent?) {
        string("tool", use.rawValue)
        integer("size_bytes", file.size)
        string("mime", file.mimeType)
        content(.path, sealed) { $0.string("path", file.path) }
        content(.displayName, sealed) { $0.string("display_name", file.name) }
        content(.blindIndex, sealed) { _ in }
    }

    private mutating func usage(_ usage: Usage?) {
        guard let usage else { return }
        var json = JSONObjectWriter()
        json.integer("input_tokens", usage.inputTokens)
        json.integer("output_tokens", usage.outputTokens)
        json.number("estimated_cost_usd", usage.estimatedCostUSD)
        json.string("model", usage.model)
        json.string("provider", usage.provider)
        raw("usage", json.finish())
    }
}
