import RelayProtocol
import Testing
import Vocabulary

@Suite("Ids that the relay gives")
struct RelayNameTests {
    @Test(
        "an id of the relay's that a shell or a terminal would take for its own is refused, counted by the kind of its update",
        arguments: [
            " ", "a b", "x;curl${IFS}e|sh", "a\\u001b[3A", "a`b", "$(b)", "a|b", "a&b", "a<b", "a>b", "a'b", "a\\\"b",
            "a\\\\b",
            "\u{202E}a", "é", String(repeating: "a", count: 257),
        ])
    func refusedNames(name: String) {
        let key = String(repeating: "0a", count: 32)
        let frames = [
            #"{"update_id":"1","type":"device_added","payload":{"device_id":"\#(name)","pubkey":"\#(key)"}}"#,
            #"{"update_id":"1","type":"session.message","payload":{"session":{"id":"s"},"message":{"id":"\#(name)","text":"a"}}}"#,
            #"{"update_id":"1","type":"session.message","payload":{"session":{"id":"\#(name)"},"message":{"id":"m","text":"a"}}}"#,
            #"{"update_id":"1","type":"session.ended","session_id":"s","interaction_id":"\#(name)","payload":{}}"#,
        ]
        for frame in frames {
            let talk = LinkConversation.live()
            talk.receive(frame)
            #expect(talk.updates.isEmpty)
            #expect(talk.link.unknown.counts.keys.contains { $0.hasPrefix("update with an id that is not taken ") })
        }
        let talk = LinkConversation.live()
        talk.receive(#"{"update_id":"\#(name)","type":"session.ended","session_id":"s","payload":{}}"#)
        #expect(talk.updates.isEmpty && talk.link.unknown.total > 0)
    }

    @Test("ids of any printable form that is safe are taken, and those of agents whatever they are")
    func takenNames() {
        let talk = LinkConversation.live()
        talk.receive(
            #"{"update_id":"u.1:2","type":"session.ended","session_id":"ses_a-b.c/d=e+f~g#h@i","payload":{}}"#)
        talk.receive(
            #"{"update_id":"u2","type":"approval.resolved","session_id":"s","payload":{"approval_id":"a|b c","decision":"deny"}}"#
        )
        #expect(talk.updates.count == 2)
    }

    @Test("an installation whose name is not taken has none, and it is counted")
    func installation() {
        let talk = LinkConversation()
        talk.start()
        talk.open()
        talk.receive(#"{"type":"ready","installation_id":"inst;reboot"}"#)
        #expect(talk.orders.contains(.ready(installation: nil)))
        #expect(talk.link.unknown.counts.keys.contains { $0.hasPrefix("installation with an id that is not taken") })
    }
}
