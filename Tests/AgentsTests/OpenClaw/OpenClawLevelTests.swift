import AgentKit
import OpenClaw
import Testing
import Vocabulary
import Worlds

@Suite("A phone's level of thought at OpenClaw")
struct OpenClawLevelTests {
    private typealias Talk = OpenClawConversation

    private static func live() -> OpenClawConversation {
        let talk = Talk()
        talk.goLive()
        talk.clear()
        return talk
    }

    private static func patch(_ level: String) -> String {
        #"{"key":"agent:main:phone-1","thinkingLevel":\#(level)}"#
    }

    private static let unsupported =
        #"{"code":"INVALID_REQUEST","message":"thinkingLevel \"xhigh\" is not supported for acme/big (use off|low|high)"}"#

    @Test("the level is patched before the message leaves, and not again for the next one that names it")
    func set() {
        let talk = Self.live()
        talk.send("r1", level: .level(.extended))
        #expect(talk.sent.map(\.params) == [Self.patch(#""high""#)])
        talk.answer("sessions.patch", #"{"ok":true}"#)
        #expect(talk.methods.last == "chat.send")
        #expect(
            talk.observations == [
                .levelAnswered(RunID("r1"), .level(.extended), .set(before: nil, instead: nil))
            ])
        talk.answer("chat.send", #"{"runId":"r1","status":"started"}"#)
        talk.chat("final", "Done.")
        talk.clear()
        talk.send("r2", level: .level(.extended))
        #expect(talk.methods == ["chat.send"])
        talk.clear()
        talk.send("r3", level: .own(nil))
        #expect(talk.sent.last?.params == Self.patch("null"))
    }

    @Test("the highest level is the highest that the model takes")
    func ladder() {
        let talk = Self.live()
        talk.send("r1", level: .level(.max))
        #expect(talk.sent.last?.params == Self.patch(#""xhigh""#))
        talk.answer("sessions.patch", nil, error: Self.unsupported)
        #expect(talk.sent.last?.params == Self.patch(#""high""#))
        talk.answer("sessions.patch", #"{"ok":true}"#)
        #expect(talk.methods.last == "chat.send")
        #expect(
            talk.observations == [.levelAnswered(RunID("r1"), .level(.max), .set(before: nil, instead: nil))])
    }

    @Test("a model that takes none of them answers as it does, and the reason is passed on")
    func none() {
        let talk = Self.live()
        talk.send("r1", level: .level(.extended))
        for _ in 0..<3 { talk.answer("sessions.patch", nil, error: Self.unsupported) }
        #expect(talk.methods.last == "chat.send")
        guard case .levelAnswered(_, _, .refused(let reason))? = talk.observations.last else {
            Issue.record("no answer")
            return
        }
        #expect(reason.contains("not supported"))
    }

    @Test("a missing scope says what a person can do, and tries no other level", arguments: [GatewayEra.e1, .e3])
    func scope(era: GatewayEra) {
        let talk = Talk(era: era)
        talk.goLive()
        talk.clear()
        talk.send("r1", level: .level(.max))
        talk.answer(
            "sessions.patch", nil, error: #"{"code":"INVALID_REQUEST","message":"missing scope: operator.admin"}"#)
        guard case .levelAnswered(_, _, .refused(let reason))? = talk.observations.first else {
            Issue.record("no answer")
            return
        }
        #expect(reason.contains("operator.admin"))
        #expect(talk.methods.last == "chat.send")
    }
}
