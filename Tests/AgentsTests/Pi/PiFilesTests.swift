import AgentKit
import Pi
import Testing
import Vocabulary

@Suite("Pictures for pi")
struct PiFilesTests {
    private static let picture = MessageFile(name: "a.png", mimeType: "image/png", path: "/files/1", size: 3)
    private static let photo = MessageFile(name: "b.jpg", mimeType: "image/jpeg", path: "/files/2", size: 1)
    private static let paper = MessageFile(name: "c.pdf", mimeType: "application/pdf", path: "/files/3", size: 9)

    @Test("are read when their prompt's turn has come, one after another, and go beside the text")
    func sent() {
        var pi = PiConversation.ready()
        #expect(pi.sends("r1", "look", files: [Self.picture, Self.photo]) == ["read /files/1"])
        #expect(pi.reads([1, 2, 3]) == ["read /files/2"])
        #expect(
            pi.reads([9]) == [
                #"1 > {"type":"prompt","id":"sb-3","message":"look","images":["#
                    + #"{"type":"image","data":"AQID","mimeType":"image/png"},"#
                    + #"{"type":"image","data":"CQ==","mimeType":"image/jpeg"}],"streamingBehavior":"followUp"}"#
            ])
    }

    @Test("alone: what else comes with a message is named to pi and to the person")
    func others() {
        var pi = PiConversation.ready()
        let reason = "c.pdf was not passed on: pi takes pictures alone (PNG, JPEG, GIF, WebP)."
        #expect(
            pi.sends("r1", "look", files: [Self.paper]) == [
                "r1 leaves without \(reason)",
                #"1 > {"type":"prompt","id":"sb-3","message":"look\n\n[Not attached: \#(reason)]","streamingBehavior":"followUp"}"#,
            ])
    }

    @Test("a run that begins before pi has answered is that of the prompt by its words and what is noted behind them")
    func begunFirst() {
        var pi = PiConversation.ready()
        _ = pi.sends("r1", "look", files: [Self.paper])
        #expect(pi.says(PiSays.started) == [])
        let words = #"look\n\n[Not attached: c.pdf was not passed on: pi takes pictures alone (PNG, JPEG, GIF, WebP).]"#
        let message = #"{"role":"user","content":[{"type":"text","text":"\#(words)"}]}"#
        #expect(
            pi.says(#"{"type":"message_start","message":\#(message)}"#) == ["r1 pi-ses_1 started"])
        #expect(pi.says(PiSays.accepted(3)) == [])
    }

    @Test("larger than models take are left out before they are read: pi would send them with every later prompt")
    func large() {
        var pi = PiConversation.ready()
        let photo = MessageFile(name: "b.jpg", mimeType: "image/jpeg", path: "/files/2", size: 3_700_001)
        let lines = pi.sends("r1", "look", files: [photo])
        #expect(lines.first == "r1 leaves without b.jpg was not passed on: the agent takes pictures of up to 3.7 MB.")
        #expect(lines.count == 2 && !lines[1].contains("images"))
    }

    @Test("a message of files alone that pi does not take is no prompt")
    func alone() {
        var pi = PiConversation.ready()
        let lines = pi.sends("r1", " ", files: [Self.paper])
        #expect(lines.count == 2 && lines[0].hasPrefix("r1 leaves without c.pdf"))
        #expect(lines.last?.contains("None of its files could be passed on") == true, "\(lines)")
    }

    @Test("a later message does not overtake them")
    func order() {
        var pi = PiConversation.ready()
        #expect(pi.sends("r1", "look", files: [Self.picture]) == ["read /files/1"])
        #expect(pi.sends("r2", "and?") == [])
        let lines = pi.reads([1, 2, 3])
        #expect(lines.count == 1 && lines[0].contains("look"))
    }

    @Test("a message that is stopped while they are read is not written")
    func stopped() {
        var pi = PiConversation.ready()
        _ = pi.sends("r1", "look", files: [Self.picture])
        #expect(pi.aborts("r1") == ["stop of r1 answered"])
        #expect(pi.reads([1, 2, 3]) == [])
    }

    @Test("that cannot be read any more keep the message back")
    func unread() {
        var pi = PiConversation.ready()
        _ = pi.sends("r1", "look", files: [Self.picture])
        let lines = pi.reads([1])
        #expect(lines.count == 1 && lines[0].contains("could not read a.png from its disk"), "\(lines)")
        #expect(pi.sends("r2", "two").count == 1)
    }

    @Test("a process that ends meanwhile loses nothing: the next one gets the message with them")
    func died() {
        var pi = PiConversation.ready()
        _ = pi.sends("r1", "look", files: [Self.picture])
        #expect(pi.exits(1) == ["start 2 --session /s/1"])
        #expect(pi.reads([1, 2, 3]) == [])
        _ = pi.spawns(2)
        let lines = pi.says(
            #"{"id":"sb-3","type":"response","command":"get_state","success":true,"data":{"sessionFile":"/s/1"}}"#, 2)
        #expect(lines.count == 1 && lines[0].hasPrefix("2 > ") && lines[0].contains("AQID"))
    }
}
