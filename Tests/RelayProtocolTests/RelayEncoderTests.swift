import BridgeModel
import RelayProtocol
import Testing

@Suite("Bodies of relay calls")
struct RelayEncoderTests {
    private static let session = SessionID("ses_1")
    private static let interaction = InteractionID("int_1")
    private static let key = IdempotencyKey("int_1-x")

    private static let calls: [(RelayCall, String, String)] = [
        (
            .sendMessage(SendMessage(session: session, interaction: interaction, text: " ", key: key)), "sendMessage",
            #"{"session_id":"ses_1","interaction_id":"int_1","text":" ","idempotency_key":"int_1-x"}"#
        ),
        (
            .sendMessage(SendMessage(session: session, interaction: nil, text: "x", key: key)), "sendMessage",
            #"{"session_id":"ses_1","text":"x","idempotency_key":"int_1-x"}"#
        ),
        (
            .sendMessageDelta(SendMessageDelta(message: MessageID("msg_1"), delta: "a\"b\\\n\u{1}é👍", key: key)),
            "sendMessageDelta",
            #"{"message_id":"msg_1","delta":"a\"b\\\n\u0001é👍","idempotency_key":"int_1-x"}"#
        ),
        (
            .sendMessageEnd(
                SendMessageEnd(
                    message: MessageID("msg_1"), text: "done",
                    usage: Usage(inputTokens: 3, outputTokens: 4, estimatedCostUSD: 0.25, model: "m", provider: "p"),
                    finishReason: .contentFilter, key: key)), "sendMessageEnd",
            #"{"message_id":"msg_1","text":"done","usage":{"input_tokens":3,"output_tokens":4,"estimated_cost_usd":0.25,"model":"m","provider":"p"},"finish_reason":"content_filter","idempotency_key":"int_1-x"}"#
        ),
        (
            .createTask(
                CreateTask(
                    session: session, interaction: interaction, task: TaskID("t|1"), kind: "exec", label: "exec ls",
                    arguments: JSONText(unchecked: #"{"command":"ls"}"#), key: key)), "createTask",
            #"{"session_id":"ses_1","interaction_id":"int_1","task_id":"t|1","kind":"exec","status_label":"exec ls","args":{"command":"ls"},"idempotency_key":"int_1-x"}"#
        ),
        (
            .updateTask(
                UpdateTask(
                    session: session, interaction: nil, task: TaskID("t"), label: nil, percent: 40,
                    partialResult: .string("a\tb"), key: key)), "updateTask",
            #"{"session_id":"ses_1","task_id":"t","progress_percent":40,"partial_result":"a\tb","idempotency_key":"int_1-x"}"#
        ),
        (
            .finishTask(
                FinishTask(
                    session: session, interaction: interaction, task: TaskID("t"), name: "exec", status: .failed,
                    label: nil, error: "no", result: nil, key: key)), "finishTask",
            #"{"session_id":"ses_1","interaction_id":"int_1","task_id":"t","name":"exec","status":"failed","error":"no","idempotency_key":"int_1-x"}"#
        ),
        (
            .requestApproval(
                RequestApproval(
                    session: session, interaction: interaction, approval: ApprovalID("a"), slug: "s",
                    action: "shell.exec",
                    toolCall: ToolCallID("c"), title: "T", severity: .high, command: "rm", host: "h", message: "M",
                    key: key)), "requestApproval",
            #"{"session_id":"ses_1","interaction_id":"int_1","approval_id":"a","approval_slug":"s","action":"shell.exec","tool_call_id":"c","title":"T","severity":"high","command":"rm","host":"h","message":"M","idempotency_key":"int_1-x"}"#
        ),
        (.createSession(CreateSession(source: "cron")), "createSession", #"{"source":"cron"}"#),
        (.createSession(CreateSession(source: nil)), "createSession", "{}"),
    ]

    @Test("each call has the path and the body of relay.md#bridge-rest-methods", arguments: calls)
    func bodies(call: RelayCall, method: String, body: String) {
        #expect(RelayEncoder.path(of: call) == "/v1/bridge/\(method)")
        #expect(String(decoding: RelayEncoder.body(of: call), as: UTF8.self) == body)
    }
}
