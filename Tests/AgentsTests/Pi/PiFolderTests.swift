import AgentKit
import Pi
import Testing
import Vocabulary

@Suite("The folder that pi works in")
struct PiFolderTests {
    @Test("a process works in the folder of the message that it is started for, and both are kept")
    func folder() {
        var pi = PiConversation()
        #expect(pi.sends("r1", "hello", folder: "/srv/site") == ["start 1  in /srv/site"])
        _ = pi.spawns()
        #expect(
            pi.says(PiSays.state(1, #""sessionFile":"/s/1","isStreaming":false"#))
                == ["keep session:pi-ses_1=/s/1", "keep folder:pi-ses_1=/srv/site"])
        #expect(pi.keeps().first?.contains(#""message":"hello""#) == true)
    }

    @Test("a look-up of a later process works where the session did")
    func later() {
        let facts = [
            Fact("folder:pi-ses_1", Array("/srv/site".utf8)), Fact("session:pi-ses_1", Array("/s/9".utf8)),
        ]
        var pi = PiConversation(facts: facts)
        #expect(pi.looksUp("r0") == ["start 1 --session /s/9 in /srv/site"])
        _ = pi.spawns()
        // Nothing changed that must be recorded.
        #expect(pi.says(PiSays.state(1, #""sessionFile":"/s/9""#)).first?.contains("get_messages") == true)
    }

    @Test("a process that works elsewhere ends, and the next one gets the message")
    func moved() {
        var pi = PiConversation.ready()
        #expect(pi.sends("r1", "hello", folder: "/srv/site") == ["end 1"])
        #expect(pi.exits(0) == ["start 2 --session /s/1 in /srv/site"])
        _ = pi.spawns(2)
        let state =
            #"{"id":"sb-3","type":"response","command":"get_state","success":true,"data":{"sessionFile":"/s/1"}}"#
        #expect(pi.says(state, 2) == ["keep session:pi-ses_1=/s/1", "keep folder:pi-ses_1=/srv/site"])
        #expect(pi.keeps().first?.contains(#""message":"hello""#) == true)
    }
}
