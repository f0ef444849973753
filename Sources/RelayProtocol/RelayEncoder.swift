package import BridgeModel

/// Makes the bytes of relay calls (relay.md#bridge-rest-methods), plain or sealed.
///
/// With sealed content not one of the plain members that it replaces is written, not even one that it lacks: what is meant for the
/// phone alone cannot go out in the open by an omission.
///
/// Bodies are compact JSON with the members in a fixed order, so that the same call always gives the same bytes: a retry
/// under the same key must not differ (relay.md#rules). Absent members are left out, never null (relay.md#json-rules).
package enum RelayEncoder {
    package static func path(of call: RelayCall) -> String {
        switch call {
        case .sendMessage: "/v1/bridge/sendMessage"
        case .sendMessageDelta: "/v1/bridge/sendMessageDelta"
        case .sendMessageEnd: "/v1/bridge/sendMessageEnd"
        case .createTask: "/v1/bridge/createTask"
        case .updateTask: "/v1/bridge/updateTask"
        case .finishTask: "/v1/bridge/finishTask"
        case .requestApproval: "/v1/bridge/requestApproval"
        case .createSession: "/v1/bridge/createSession"
        }
    }

    package static func body(of call: RelayCall, sealed: SealedContent? = nil) -> [UInt8] {
        var json = JSONObjectWriter()
        switch call {
        case .sendMessage(let call):
            json.string("session_id", call.session.text)
            json.string("interaction_id", call.interaction?.text)
            json.content(.text, sealed) { $0.string("text", call.text) }
            json.usage(call.usage)
            json.string("idempotency_key", call.key.text)
        case .sendMessageDelta(let call):
            json.string("message_id", call.message.text)
            json.content(.delta, sealed) { $0.string("delta", call.delta) }
            json.string("idempotency_key", call.key.text)
        case .sendMessageEnd(let call):
            json.string("message_id", call.message.text)
            json.content(.text, sealed) { $0.string("text", call.text) }
            json.usage(call.usage)
            json.string("finish_reason", call.finishReason?.rawValue)
            json.string("idempotency_key", call.key.text)
        case .createTask(let call):
            json.task(call.session, call.interaction, call.task)
            json.string("kind", call.kind)
            json.content(.statusLabel, sealed) { $0.string("status_label", call.label) }
            json.content(.arguments, sealed) { $0.value("args", call.arguments) }
            json.string("idempotency_key", call.key.text)
        case .updateTask(let call):
            json.task(call.session, call.interaction, call.task)
            json.content(.statusLabel, sealed) { $0.string("status_label", call.label) }
            json.integer("progress_percent", call.percent)
            json.content(.partialResult, sealed) { $0.value("partial_result", call.partialResult) }
            json.string("idempotency_key", call.key.text)
        case .finishTask(let call):
            json.task(call.session, call.interaction, call.task)
            json.string("name", call.name)
            json.string("status", call.status.rawValue)
            json.content(.statusLabel, sealed) { $0.string("status_label", call.label) }
            json.content(.error, sealed) { $0.string("error", call.error) }
            json.content(.result, sealed) { $0.value("result", call.result) }
            json.string("idempotency_key", call.key.text)
        case .requestApproval(let call):
            if let sealed { json.approval(call, sealed) } else { json.approval(call) }
        case .createSession(let call): json.string("source", call.source)
        }
        return json.finish()
    }
}

extension JSONObjectWriter {
    /// One or the other, never both (relay.md#bridge-rest-methods).
    fileprivate mutating func content(
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
        }
    }

    fileprivate mutating func approval(_ call: RequestApproval, _ sealed: SealedContent) {
        string("session_id", call.session.text)
        string("interaction_id", call.interaction?.text)
        string("approval_id", call.approval.text)
        string("action", call.action)
        string("severity", call.severity.rawValue)
        content(.details, sealed) { _ in }
        string("idempotency_key", call.key.text)
    }

    fileprivate mutating func task(_ session: SessionID, _ interaction: InteractionID?, _ task: TaskID) {
        string("session_id", session.text)
        string("interaction_id", interaction?.text)
        string("task_id", task.text)
    }

    fileprivate mutating func approval(_ call: RequestApproval) {
        string("session_id", call.session.text)
        string("interaction_id", call.interaction?.text)
        string("approval_id", call.approval.text)
        string("approval_slug", call.slug)
        string("action", call.action)
        string("tool_call_id", call.toolCall?.text)
        string("title", call.title)
        string("severity", call.severity.rawValue)
        string("command", call.command)
        string("host", call.host)
        string("message", call.message)
        string("idempotency_key", call.key.text)
    }

    fileprivate mutating func usage(_ usage: Usage?) {
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
