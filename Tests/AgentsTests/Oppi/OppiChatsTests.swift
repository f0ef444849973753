import AgentKit
import Testing
import Vocabulary

@testable import Oppi

@Suite("Oppi's chats")
struct OppiChatsTests {
    private static func fact(_ number: Int) -> Fact {
        Fact(
            "session:oppi:ses_\(number)",
            Array("w1\ns\(number)\nr0\n\(OppiConversation.wall - 1_000 + Int64(number))".utf8))
    }

    private static func thousands() -> OppiChats {
        var chats = OppiChats()
        chats.begin((0..<2_000).map(fact), mark: "m")
        return chats
    }

    private static func following(_ lines: [String]) -> [String] { lines.filter { $0.contains("notifications") } }

    @Test("chats of the past are looked at only while they have something to do")
    func rest() {
        var chats = Self.thousands()
        let session = AgentSession("oppi:ses_7")
        #expect(chats.sorted.isEmpty && chats.nextDeadline == nil)
        #expect(chats.session(of: "s7") == session)
        _ = chats.change(session) { $0.send(RunID("r1"), PicturePrompt("hello"), at: .zero) }
        #expect(chats.sorted == [session])
        _ = chats.change(session) { $0.abort(RunID("r1"), at: .zero) }
        #expect(chats.sorted.isEmpty)
        #expect(chats.place(of: session)?.native == "s7")
    }

    @Test("a chat whose session is another now hears nothing of the one before")
    func moved() {
        var chats = Self.thousands()
        let session = AgentSession("oppi:ses_7")
        _ = chats.change(session) { chat in
            chat.home = .kept(OppiPlace(workspace: "w1", native: "other"))
            return []
        }
        #expect(chats.session(of: "s7") == nil && chats.session(of: "other") == session)
    }

    @Test("of many chats at rest the newest are followed, and one that was busy takes the place of the oldest")
    func followed() {
        var oppi = OppiConversation(facts: (0..<50).map(Self.fact))
        let first = Self.following(oppi.greets())
        #expect(first.count == 20 && first.first?.contains(" s30 ") == true && first.last?.contains(" s49 ") == true)
        let session = AgentSession("oppi:ses_3")
        _ = oppi.sends("r1", "Hi", in: session)
        _ = oppi.keeps()
        _ = oppi.follows(2, session: "s3")
        _ = oppi.replies("prompt")
        _ = oppi.hears(#"{"type":"agent_start","sessionId":"s3","seq":1}"#, on: 2)
        _ = oppi.hears(#"{"type":"message_end","sessionId":"s3","seq":2,"role":"user","content":"Hi"}"#, on: 2)
        _ = oppi.hears(#"{"type":"message_end","sessionId":"s3","seq":3,"role":"assistant","content":"Yes"}"#, on: 2)
        _ = oppi.hears(#"{"type":"agent_end","sessionId":"s3","seq":4}"#, on: 2)
        _ = oppi.waits(41_000)
        _ = oppi.replies("unsubscribe", on: 1)
        let lines = oppi.waits(20_000)
        #expect(
            lines.suffix(3) == ["close 2", "1 > unsubscribe s30", "1 > subscribe s3 notifications since 1000000000"],
            "\(lines)")
    }
}
