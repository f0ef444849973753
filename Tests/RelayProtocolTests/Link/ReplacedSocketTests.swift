import RelayProtocol
import Testing
import Vocabulary

@Suite("A socket whose place another bridge takes")
struct ReplacedSocketTests {
    @Test("a socket that a newcomer has replaced is tried again after 30 s, with what a person can do")
    func replaced() {
        let talk = LinkConversation.live()
        talk.close(4000, "replaced by a newer connection")
        let orders = talk.orders
        let remedy = "let one bridge have this token: stop the other one, or pair one of them again"
        #expect(orders.first == .note(.remedy(remedy)))
        let reason = "another connection with this token took its place (4000, replaced by a newer connection)"
        #expect(orders.last == .lost(reason: reason, retryAt: talk.now + .seconds(30)))
        talk.pass(29)
        #expect(talk.orders == [])
        talk.pass(1)
        #expect(talk.orders == [LinkConversation.dial])
    }
}
