import AgentKit
import Oppi
import Testing
import Vocabulary

@Suite("The link to an Oppi server")
struct OppiMachineTests {
    static let dialects = ["rpc_result", "command_result"]

    // MARK: The main stream

    @Test("it is up when the stream has greeted and the server has said what it is")
    func handshake() {
        var oppi = OppiConversation()
        #expect(oppi.begun == ["open 1 ws://127.0.0.1:7749/stream"])
        #expect(oppi.opens() == [])
        #expect(
            oppi.hears(#"{"type":"stream_connected","userName":"shed"}"#, on: 1)
                == ["GET /server/info", "GET /workspaces", "GET /permissions/pending"])
        #expect(oppi.answers("GET /server/info", 200, #"{"version":"0.9.1","uptime":5}"#) == [])
        #expect(oppi.answers("GET /workspaces", 200, OppiConversation.workspaces) == [])
        #expect(
            oppi.answers("GET /permissions/pending", 200, oppi.pending("[]"))
                == ["up 0.9.1", "link back", "GET /permissions/pending"])
    }

    @Test("a refused token is tried again each minute, and the remedy is to pair again")
    func unauthorised() {
        var oppi = OppiConversation()
        let lines = oppi.happens(.refused(status: 401, body: []))
        #expect(lines.first?.hasPrefix("waits 60 s: Oppi refused the token; pair again: ") == true, "\(lines)")
        #expect(lines.last == "read settings")
        #expect(oppi.waits(59_000) == [])
        #expect(oppi.waits(2_000) == ["open 1 ws://127.0.0.1:7749/stream"])
    }

    @Test("a token that is refused over REST ends the stream too")
    func unauthorisedByCall() {
        var oppi = OppiConversation.running()
        _ = oppi.happens(.closed(code: 1006, reason: ""), 2)
        _ = oppi.waits(300)
        let lines = oppi.answers("GET /workspaces/w1/sessions/s1/events", 401, #"{"error":"Unauthorized"}"#)
        #expect(lines.prefix(2) == ["close 1", "link lost"], "\(lines)")
    }

    @Test("a stream that says nothing is asked, and dialled again if it stays silent")
    func silence() {
        var oppi = OppiConversation.live()
        #expect(oppi.waits(41_000) == ["1 > unsubscribe none"])
        #expect(oppi.replies("unsubscribe", on: 1) == [])
        #expect(oppi.waits(39_000) == [])
        let lines = oppi.waits(25_000)
        #expect(lines.prefix(3) == ["1 > unsubscribe none", "close 1", "link lost"], "\(lines)")
    }

    @Test("after a sleep it dials at once, and pings are signs of life")
    func sleepAndPing() {
        var oppi = OppiConversation.live()
        _ = oppi.waits(30_000)
        #expect(oppi.happens(.heard) == [])
        #expect(oppi.waits(39_000) == [])
        #expect(oppi.sleeps() == ["close 1", "link lost", "open 1 ws://127.0.0.1:7749/stream"])
    }

    @Test("unknown types and what is no JSON are counted")
    func unknown() {
        var oppi = OppiConversation.live()
        #expect(oppi.hears(#"{"type":"weather","sun":true}"#, on: 1) == [#"unknown ["frame weather"]"#])
        #expect(oppi.hears("not JSON", on: 1) == [])
    }

    // MARK: A run

    @Test("the first prompt of a chat makes its session, which is kept before anything is said", arguments: dialects)
    func prompt(_ result: String) {
        var oppi = OppiConversation.live(result: result)
        #expect(oppi.sends("r1", "Hi") == ["POST /workspaces/w1/sessions"])
        #expect(
            oppi.answers("POST /workspaces/w1/sessions", 201, #"{"session":{"id":"s1"}}"#)
                == ["keep session:oppi:ses_1=w1 s1 r1 \(OppiConversation.wall)"])
        #expect(oppi.keeps() == ["open 2 ws://127.0.0.1:7749/stream"])
        #expect(oppi.opens(2) == [])
        #expect(
            oppi.hears(#"{"type":"stream_connected","userName":"shed"}"#, on: 2) == ["2 > subscribe s1 full since 0"])
        #expect(oppi.subscribes(2) == ["2 > prompt s1 r1 Hi"])
        #expect(oppi.accepts() == ["send r1 accepted as r1"])
        #expect(oppi.says("agent_start") == [])
        #expect(oppi.says("message_end", #""role":"user","content":"Hi""#) == ["r1 oppi:ses_1 started"])
        #expect(oppi.says("text_delta", #""delta":"Hel""#) == [#"r1 oppi:ses_1 append "Hel""#])
        #expect(oppi.answers(text: "Hello") == [#"r1 oppi:ses_1 segment ended "Hello""#])
        #expect(oppi.ends() == ["r1 oppi:ses_1 finished stop run -"])
        #expect(oppi.state("ready") == [])
        // The next prompt needs no new session and no new stream.
        #expect(oppi.sends("r2", "More") == ["keep session:oppi:ses_1=w1 s1 r2 \(oppi.wallNow)"])
        #expect(oppi.keeps() == ["2 > prompt s1 r2 More"])
    }

    @Test("a chat at rest lets its stream go, and is followed by its notifications")
    func rest() {
        var oppi = OppiConversation.running()
        _ = oppi.answers(text: "Hello")
        _ = oppi.ends()
        _ = oppi.waits(41_000)
        _ = oppi.replies("unsubscribe", on: 1)
        let lines = oppi.waits(20_000)
        #expect(lines.suffix(2) == ["close 2", "1 > subscribe s1 notifications since 1000000000"], "\(lines)")
        _ = oppi.sends("r2", "More")
        #expect(oppi.keeps() == ["open 3 ws://127.0.0.1:7749/stream"])
        _ = oppi.opens(3)
        #expect(
            oppi.hears(#"{"type":"stream_connected","userName":"shed"}"#, on: 3)
                == ["3 > subscribe s1 full since 1000000000"])
    }

    @Test("a place that could not be written down sends nothing")
    func unkept() {
        var oppi = OppiConversation.live()
        _ = oppi.sends("r1", "Hi")
        _ = oppi.answers("POST /workspaces/w1/sessions", 201, #"{"session":{"id":"s1"}}"#)
        #expect(oppi.keeps(false).first?.hasPrefix(#"send r1 not made "The bridge could not write down"#) == true)
    }

    @Test("of several workspaces one must be named")
    func workspaces() {
        let several = #"{"workspaces":[{"id":"w1","name":"garden"},{"id":"w2","name":"shed"}]}"#
        var oppi = OppiConversation()
        #expect(
            oppi.greets(workspaces: several).contains {
                $0.hasPrefix("remedy Oppi has several workspaces: garden, shed.")
            })
        #expect(oppi.sends("r1", "Hi") == ["GET /workspaces"])
        #expect(oppi.answers("GET /workspaces", 200, several).first?.contains("garden, shed") == true)
        // One of the workspaces has gone meanwhile.
        #expect(oppi.sends("r2", "Hi") == ["GET /workspaces"])
        #expect(oppi.answers("GET /workspaces", 200, OppiConversation.workspaces) == ["POST /workspaces/w1/sessions"])
        var named = OppiConversation.live(
            settings: OppiSettings(
                address: WebAddress(.http, "127.0.0.1", 7749), token: Secret("sk_one"), workspace: "shed"))
        _ = named.sends("r1", "Hi")
        #expect(named.answers("GET /workspaces", 200, several) == ["POST /workspaces/w2/sessions"])
    }

    @Test("while another client's run goes on a prompt waits behind it, and begins where its words come")
    func behindAnother() {
        var oppi = OppiConversation.running()
        _ = oppi.answers(text: "Hello")
        _ = oppi.ends()
        _ = oppi.says("agent_start")
        _ = oppi.state("busy")
        _ = oppi.sends("r2", "More")
        #expect(oppi.keeps() == ["2 > follow_up s1 r2 More"])
        _ = oppi.accepts("r2")
        let lines = oppi.says("message_end", #""role":"user","content":"More""#)
        #expect(lines.last == "r2 oppi:ses_1 started", "\(lines)")
        _ = oppi.answers(text: "Yes")
        #expect(oppi.ends() == ["r2 oppi:ses_1 finished stop run -"])
    }

    @Test("a message during our run steers it, and joins it")
    func steer() {
        var oppi = OppiConversation.running()
        #expect(
            oppi.sends("r2", "Faster") == [
                "keep session:oppi:ses_1=w1 s1 r1 \(OppiConversation.wall) r2 6-WWTOMyEyEpLX"
            ])
        #expect(oppi.keeps() == ["2 > steer s1 r2 Faster"])
        #expect(oppi.replies("steer") == ["send r2 accepted as r1"])
    }

    @Test("a refusal by the server is said, and a refusal after it said yes too")
    func refused() {
        var oppi = OppiConversation.prompted()
        #expect(oppi.replies("prompt", error: "No model") == [#"send r1 refused "No model""#])
        var late = OppiConversation.prompted(result: "command_result")
        _ = late.replies("prompt")
        #expect(late.says("error", #""error":"No API key""#) == [#"r1 oppi:ses_1 failed other "No API key""#])
    }

    @Test("a prompt that is not answered is written again under the same name, then its stream is left")
    func unanswered() {
        var oppi = OppiConversation.prompted()
        #expect(oppi.waits(8_500) == ["2 > subscribe s1 full since 0"])
        #expect(oppi.subscribes(2) == ["2 > prompt s1 r1 Hi"])
        _ = oppi.waits(8_500)
        _ = oppi.subscribes(2)
        let lines = oppi.waits(8_500)
        #expect(lines.contains("close 2"), "\(lines)")
    }

    // MARK: Stop

    @Test("a stop is asked for, confirmed by the end, and answered", arguments: dialects)
    func stop(_ result: String) {
        var oppi = OppiConversation.running(result: result)
        #expect(oppi.aborts("r1") == ["2 > stop s1"])
        #expect(oppi.says("stop_requested", #""source":"user""#) == [])
        #expect(oppi.replies("stop") == [])
        _ = oppi.answers(text: "Par")
        #expect(oppi.ends() == ["r1 oppi:ses_1 finished aborted run -", "stop of r1 answered"])
        #expect(oppi.says("stop_confirmed", #""source":"user""#) == [])
    }

    @Test("a stop before the prompt is written takes it back")
    func stopEarly() {
        var oppi = OppiConversation.live()
        _ = oppi.sends("r1", "Hi")
        #expect(oppi.aborts("r1") == ["stop of r1 answered"])
        #expect(oppi.answers("POST /workspaces/w1/sessions", 201, #"{"session":{"id":"s1"}}"#) == [])
    }

    @Test("a stop that fails is asked for again")
    func stopFails() {
        var oppi = OppiConversation.running()
        _ = oppi.aborts("r1")
        _ = oppi.replies("stop")
        _ = oppi.says("stop_requested", #""source":"user""#)
        _ = oppi.says("stop_failed", #""source":"server","reason":"no""#)
        let lines = oppi.waits(16_000)
        #expect(lines.contains("2 > stop s1"), "\(lines)")
    }

    @Test("a stop of a run that is not known is answered")
    func stopUnknown() {
        var oppi = OppiConversation.live()
        #expect(oppi.aborts("r9") == ["stop of r9 answered"])
    }

    // MARK: Silence

    @Test("a silent run is asked after 15 s, and its stream dialled again after 45 s")
    func silentRun() {
        var oppi = OppiConversation.running()
        #expect(oppi.waits(15_500).contains("2 > get_state s1"))
        _ = oppi.state("busy")
        #expect(!oppi.waits(14_000).contains("2 > get_state s1"))
        let lines = oppi.waits(32_000)
        #expect(lines.contains("close 2"), "\(lines)")
    }

    @Test("a run whose end was lost is closed by the history")
    func lostEnd() {
        var oppi = OppiConversation.running()
        _ = oppi.state("ready")
        #expect(oppi.waits(2_500) == ["GET /workspaces/w1/sessions/s1?view=full&traceView=full"])
        let trace = OppiRecoveryTests.trace([("user", "Hi"), ("assistant", "Hello")])
        #expect(
            oppi.answers("GET /workspaces/w1/sessions/s1?", 200, trace)
                == [#"r1 oppi:ses_1 finished stop run "Hello""#])
    }
}
