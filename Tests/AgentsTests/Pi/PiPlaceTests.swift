import AgentKit
import Testing
import Vocabulary

@Suite("pi's processes and their places")
struct PiPlaceTests {
    @Test("an idle process gives its place up where it is wanted, and its chat goes on in another one")
    func givesUpItsPlace() {
        var pi = PiConversation.ready()
        #expect(pi.isWanted() == ["end 1"])
        #expect(pi.isWanted() == [])
        #expect(pi.exits(0) == [])
        #expect(pi.sends("r1", "one") == ["start 2 --session /s/1"])
    }

    @Test("a process says that it is idle, and that it is not before it gets a prompt; then its place stays its own")
    func saysThatItIsIdle() {
        var pi = PiConversation.ready()
        pi.showsIdle = true
        let lines = pi.sends("r1", "one")
        #expect(lines.first == "busy 1")
        #expect(lines.last?.contains("prompt") == true)
        #expect(pi.isWanted() == ["busy 1"])
        _ = pi.says(PiSays.accepted(3))
        _ = pi.says(PiSays.started)
        _ = pi.says(PiSays.ended)
        #expect(pi.waits(250).last == "idle 1")
    }

    @Test("a process that is asked what became of a run is not idle before it has answered")
    func isAsked() {
        var pi = PiConversation.ready()
        pi.showsIdle = true
        #expect(pi.looksUp("r9") == ["busy 1", #"1 > {"type":"get_messages","id":"sb-3"}"#])
        #expect(pi.isWanted() == ["busy 1"])
        #expect(pi.says(PiSays.messages(3, "[]")).last == "idle 1")
        #expect(pi.isWanted() == ["end 1"])
    }

    @Test("a prompt that waits for a place says so in its bubble until its process runs")
    func waitsForPlace() {
        var pi = PiConversation()
        #expect(pi.sends("r1", "one") == ["start 1 "])
        #expect(
            pi.waitsForPlace(behind: 8) == [
                #"r1 pi-ses_1 tool started place-r1 call wait title="Waiting for a place: 8 agents are running""#,
                "note 8 agents are running; a message waits",
            ])
        let lines = pi.spawns()
        #expect(lines.first == "r1 pi-ses_1 tool finished place-r1 call wait completed")
        #expect(lines.count == 2)
    }

    @Test("where chats that wait for an answer hold all places, the bubble names them, and no word of theirs")
    func heldUp() {
        let chats = [WaitingChat(SessionID("ses_8"), since: 1_770_000_300_000)]
        var pi = PiConversation()
        _ = pi.sends("r1", "one")
        _ = pi.waitsForPlace(behind: 1)
        #expect(
            pi.waitsForPlace(behind: 1, chats: chats) == [
                #"r1 pi-ses_1 tool progress place-r1 call title="All places for agents are held by chats that wait for an answer: ses_8 (since 02:45 UTC). Answer there, or write /bridge asks.""#,
                "note all places for agents are held by chats that wait for an answer; a message waits",
            ])
        #expect(pi.waitsForPlace(behind: 1, chats: chats).count == 1, "its card says so already")
        let title = pi.sends("r2", "two").first ?? ""
        #expect(title.contains("tool started place-r2") && title.contains("ses_8"), "\(title)")
        let many = (0..<8).map { WaitingChat(SessionID("ses_0123456789abcdef\($0)"), since: 1_770_000_300_000) }
        let cut = pi.waitsForPlace(behind: 8, chats: many).first ?? ""
        #expect(cut.contains(" and 6 more. Answer there, or write /bridge asks."), "\(cut)")
        #expect(pi.waitsForPlace(behind: 8).first?.contains("Waiting for a place: 8 agents are running") == true)
    }

    @Test("a process whose dialog is open tells the host whose person it waits for, and when it does no more")
    func asks() {
        var pi = PiConversation.going()
        pi.showsIdle = true
        let dialog = #"{"type":"extension_ui_request","id":"d1","method":"confirm","title":"Sure?","message":"m"}"#
        _ = pi.waits(5_000)
        #expect(pi.says(dialog).last == "1 asks ses_1 since 5000")
        #expect(!pi.says(dialog.replacing("d1", with: "d2")).contains { $0.hasPrefix("1 asks") })
        #expect(!pi.decides("d1", .approve).contains { $0.hasPrefix("1 asks") })
        #expect(pi.decides("d2", .deny).last == "1 asks nobody")
    }

    @Test("a prompt that is taken back while it waits for a place starts no process")
    func stopsWaiting() {
        var pi = PiConversation()
        _ = pi.sends("r1", "one")
        _ = pi.waitsForPlace(behind: 8)
        #expect(pi.aborts("r1") == ["kill 1", "stop of r1 answered"])
        #expect(pi.sends("r2", "two") == ["start 2 "])
    }

    @Test("prompts count in the ledger of bytes until their runs have ended")
    func heldBytes() {
        var pi = PiConversation()
        _ = pi.sends("r1", String(repeating: "x", count: 10_000))
        #expect(pi.heldBytes == 10_000 + HeldBytes.entryCost)
        _ = pi.spawns()
        _ = pi.says(PiSays.state(1, #""sessionFile":"/s/1""#))
        _ = pi.keeps()
        _ = pi.says(PiSays.accepted(2))
        _ = pi.says(PiSays.started)
        _ = pi.says(PiSays.ended)
        _ = pi.waits(250)
        #expect(pi.heldBytes == 0)
    }
}
