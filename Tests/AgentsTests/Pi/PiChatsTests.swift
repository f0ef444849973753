import AgentKit
import Testing
import Vocabulary

@testable import Pi

@Suite("pi's chats")
struct PiChatsTests {
    private let session = AgentSession("pi-ses_7")

    private func thousands() -> PiChats {
        var chats = PiChats(mark: "m")
        for number in 0..<2_000 {
            chats.remember(PiChats.Place(file: "/s/\(number)"), of: AgentSession("pi-ses_\(number)"))
        }
        return chats
    }

    @Test("chats of the past are looked at only while they have something to do")
    func rest() {
        var chats = thousands()
        #expect(chats.awake.isEmpty)
        #expect(
            chats.change(session) { $0.send(RunID("r1"), PicturePrompt("hello"), at: .zero) } == [.start(file: "/s/7")])
        #expect(Array(chats.awake.keys) == [session])
        let orders = chats.change(session) { $0.ended("not found", hasRun: false, at: .zero) }
        #expect(orders.count == 1 && chats.awake.isEmpty && chats.nextDeadline == nil)
        #expect(chats.change(session) { $0.file } == "/s/7")
    }

    @Test("a chat that only remembers a prompt's text until its run is looked up stays awake")
    func remembered() {
        var chats = thousands()
        chats.change(session) { $0.remember(PiQuestion(text: "hello"), of: RunID("r1")) }
        #expect(chats.awake.count == 1)
    }

    @Test("runs that no prompt began have other names in another life of their chat")
    func names() {
        let started = #"{"type":"agent_start"}"#
        var pi = PiConversation.ready()
        let first = pi.says(started)
        _ = pi.exits()
        _ = pi.looksUp("none")
        _ = pi.spawns(2)
        _ = pi.says(
            #"{"id":"sb-1","type":"response","command":"get_state","success":true,"data":{"sessionFile":"/s/1"}}"#, 2)
        let second = pi.says(started, 2)
        #expect(first.count == 1 && second.count == 1 && first != second)
    }
}
