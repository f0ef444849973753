import BridgeModel
import Testing

@Suite("Relay calls")
struct RelayCallTests {
    private static let session = SessionID("ses_1")
    private static let key = IdempotencyKey("k")

    @Test(
        "each call draws from the bucket of relay.md#buckets and carries its key",
        arguments: [
            (
                RelayCall.sendMessage(SendMessage(session: session, interaction: nil, text: " ", key: key)),
                RelayBucket.msg
            ),
            (.sendMessageDelta(SendMessageDelta(message: MessageID("m"), delta: "a", key: key)), .delta),
            (.sendMessageEnd(SendMessageEnd(message: MessageID("m"), text: "a", key: key)), .msg),
            (
                .finishTask(
                    FinishTask(
                        session: session, interaction: nil, task: TaskID("t"), name: nil, status: .completed,
                        label: nil,
                        error: nil, result: nil, key: key)), .task
            ),
        ])
    func buckets(call: RelayCall, bucket: RelayBucket) {
        #expect(call.bucket == bucket)
        #expect(call.key == Self.key)
    }

    @Test("a new session has no key: a lost reply costs one empty chat")
    func createSession() {
        #expect(RelayCall.createSession(CreateSession(source: "cron")).key == nil)
        #expect(RelayCall.createSession(CreateSession(source: nil)).bucket == .default)
    }
}
