import RelayProtocol
import Testing
import Vocabulary

@Suite("Bodies of relay calls")
struct RelayEncoderTests {
    private static let session = SessionID("ses_1")
    private static let interaction = InteractionID("int_1")
    private static let key = IdempotencyKey("int_1-x")

    private static let inTurn = RelayCall.Address.chat(session, interaction)
    private static let inChat = RelayCall.Address.chat(session, nil)
    private static let bubble = RelayCall.Address.bubble(MessageID("msg_1"))

    private static let calls: [(RelayCall, String, String)] = [
        (
            RelayCall(.open, to: inTurn, key: key), "sendMessage",
            #"{"session_id":"ses_1","interaction_id":"int_1","text":" ","idempotency_key":"int_1-x"}"#
        ),
        (
            RelayCall(.open, to: inTurn, key: key, mark: 5), "sendMessage",
            #"{"session_id":"ses_1","interaction_id":"int_1","text":" \t \t\#(String(repeating: " ", count: 29))","idempotency_key":"int_1-x"}"#
        ),
        (
            RelayCall(.message(WholeMessage(part: .late, text: "x")), to: inChat, key: key), "sendMessage",
            #"{"session_id":"ses_1","text":"x","idempotency_key":"int_1-x"}"#
        ),
        (
            RelayCall(.text("a\"b\\\n\u{1}é👍"), to: bubble, key: key),
            "sendMessageDelta",
            #"{"message_id":"msg_1","delta":"a\"b\\\n\u0001é👍","idempotency_key":"int_1-x"}"#
        ),
        (
            RelayCall(
                .end(
                    EndOfTurn(
                        text: "done",
                        usage: Usage(
                            inputTokens: 3, outputTokens: 4, estimatedCostUSD: 0.25, model: "m", provider: "p"),
                        finishReason: .contentFilter)), to: bubble, key: key), "sendMessageEnd",
            #"{"message_id":"msg_1","text":"done","usage":{"input_tokens":3,"output_tokens":4,"estimated_cost_usd":0.25,"model":"m","provider":"p"},"finish_reason":"content_filter","idempotency_key":"int_1-x"}"#
        ),
        (
            RelayCall(
                .taskStarted(
                    TaskStart(
                        task: TaskID("t|1"), kind: "exec", label: "exec ls",
                        arguments: JSONText(unchecked: #"{"command":"ls"}"#))), to: inTurn, key: key), "createTask",
            #"{"session_id":"ses_1","interaction_id":"int_1","task_id":"t|1","kind":"exec","status_label":"exec ls","args":{"command":"ls"},"idempotency_key":"int_1-x"}"#
        ),
        (
            RelayCall(
                .taskProgress(TaskProgress(task: TaskID("t"), percent: 40, partialResult: .string("a\tb"))), to: inChat,
                key: key), "updateTask",
            #"{"session_id":"ses_1","task_id":"t","progress_percent":40,"partial_result":"a\tb","idempotency_key":"int_1-x"}"#
        ),
        (
            RelayCall(
                .taskEnded(TaskEnd(task: TaskID("t"), name: "exec", status: .failed, error: "no")), to: inTurn, key: key
            ),
            "finishTask",
            #"{"session_id":"ses_1","interaction_id":"int_1","task_id":"t","name":"exec","status":"failed","error":"no","idempotency_key":"int_1-x"}"#
        ),
        (
            RelayCall(
                .approval(
                    ApprovalCard(
                        approval: ApprovalID("a"), action: "shell.exec", title: "T", message: "M", severity: .high,
                        command: "rm", host: "h", slug: "s", toolCall: ToolCallID("c"))), to: inTurn, key: key),
            "requestApproval",
            #"{"session_id":"ses_1","interaction_id":"int_1","approval_id":"a","approval_slug":"s","action":"shell.exec","tool_call_id":"c","title":"T","severity":"high","command":"rm","host":"h","message":"M","idempotency_key":"int_1-x"}"#
        ),
        (.newSession(source: "cron"), "createSession", #"{"source":"cron"}"#),
        (.newSession(source: nil), "createSession", "{}"),
    ]

    @Test("each call has the path and the body of relay.md#bridge-rest-methods", arguments: calls)
    func bodies(call: RelayCall, method: String, body: String) {
        #expect(RelayEncoder.path(of: call) == "/v1/bridge/\(method)")
        #expect(String(decoding: RelayEncoder.body(of: call), as: UTF8.self) == body)
    }
}
