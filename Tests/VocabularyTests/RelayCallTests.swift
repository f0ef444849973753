import Testing
import Vocabulary

@Suite("Relay calls")
struct RelayCallTests {
    @Test("a new session has no key: a lost reply costs one empty chat")
    func newSession() {
        let call = RelayCall.newSession(source: "cron")
        #expect(call.key == nil && call.post == nil && call.address == .relay)
    }

    @Test("only what belongs to a chat carries its interaction")
    func interaction() {
        let key = IdempotencyKey("k")
        let asked = RelayCall(.open, to: .chat(SessionID("ses_1"), InteractionID("int_1")), key: key)
        #expect(asked.interaction == InteractionID("int_1") && asked.key == key)
        #expect(RelayCall(.text("a"), to: .bubble(MessageID("m")), key: key).interaction == nil)
    }
}
