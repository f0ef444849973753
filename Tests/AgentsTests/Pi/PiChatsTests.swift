import AgentKit
import Pi
import Testing
import Vocabulary

@testable import ConversationEngine

@Suite("pi's chats")
struct PiChatsTests {
    private let session = AgentSession("pi-ses_7")

    private let dialect = PiDialect(PiSettings(command: ["pi"], folder: "/work"))
    private let now = Occasion(now: .zero, wallMilliseconds: 1, random: 0)

    private func thousands() -> ChildChats<PiDialect> {
        var chats = ChildChats<PiDialect>(mark: "m")
        for number in 0..<2_000 {
            chats.remember(Place(native: "/s/\(number)"), of: AgentSession("pi-ses_\(number)"))
        }
        return chats
    }

    @Test("chats of the past are looked at only while they have something to do")
    func rest() {
        var chats = thousands()
        #expect(chats.awake.isEmpty)
        let begun = chats.change(session, dialect) { $0.send(RunID("r1"), PicturePrompt("hello"), now) }
        guard case .start(let plan)? = begun.first else {
            Issue.record("\(begun)")
            return
        }
        #expect(begun.count == 1 && plan.arguments == ["pi", "--session", "/s/7"])
        #expect(Array(chats.awake.keys) == [session])
        let orders = chats.change(session, dialect) { $0.died("not found", hasRun: false, now) }
        #expect(orders.count == 1 && chats.awake.isEmpty && chats.nextDeadline == nil)
        #expect(chats.change(session, dialect) { $0.home.kept.native } == "/s/7")
    }

    @Test("a chat that only remembers a prompt's text until its run is looked up stays awake")
    func remembered() {
        var chats = thousands()
        chats.change(session, dialect) { $0.prompts.remember(.init(sought: Sought(RunID("r1"), text: "hello"))) }
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
