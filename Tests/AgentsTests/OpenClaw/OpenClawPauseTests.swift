import BridgeModel
import OpenClaw
import Testing

@Suite("A gateway that is not read for a while")
struct OpenClawPauseTests {
    @Test("silence says nothing while nothing is read, and counts anew afterwards")
    func silence() {
        let talk = OpenClawConversation()
        talk.goLive()
        talk.clear()
        talk.session.readingPaused(at: talk.now)
        talk.pass(600)
        #expect(talk.orders.isEmpty)
        talk.session.readingResumed(at: talk.now)
        talk.pass(50)
        #expect(!talk.orders.contains { if case .close = $0 { true } else { false } })
        talk.pass(20)
        #expect(talk.orders.contains(.close(code: 4000, reason: "tick timeout")))
    }

    @Test("a request keeps the time that its answer had left")
    func requests() {
        let talk = OpenClawConversation()
        talk.goLive()
        talk.send()
        talk.clear()
        talk.pass(10)
        talk.session.readingPaused(at: talk.now)
        talk.pass(300)
        #expect(talk.orders.isEmpty)
        talk.session.readingResumed(at: talk.now)
        talk.pass(4)
        #expect(talk.orders.isEmpty)
        talk.pass(2)
        #expect(talk.orders.contains(.note(.requestFailed(method: "chat.send", code: "no answer in time"))))
    }

    @Test("one that was asked during the pause has its own time, and not the pause's too")
    func askedMeanwhile() {
        let talk = OpenClawConversation()
        talk.goLive()
        talk.session.readingPaused(at: talk.now)
        talk.pass(300)
        talk.send()
        talk.pass(5)
        talk.clear()
        talk.session.readingResumed(at: talk.now)
        talk.pass(14)
        #expect(talk.orders.isEmpty)
        talk.pass(2)
        #expect(talk.orders.contains(.note(.requestFailed(method: "chat.send", code: "no answer in time"))))
    }

    @Test("a socket that is lost while it is not read is lost like any other")
    func lost() {
        let talk = OpenClawConversation()
        talk.goLive()
        talk.session.readingPaused(at: talk.now)
        talk.close(1006)
        talk.goLive()
        talk.clear()
        talk.pass(70)
        #expect(talk.orders.contains(.close(code: 4000, reason: "tick timeout")))
    }
}
