import AgentKit
import Oppi
import Testing
import Vocabulary

@Suite("Oppi after a loss")
struct OppiRecoveryTests {
    static let events = "GET /workspaces/w1/sessions/s1/events"
    static let history = "GET /workspaces/w1/sessions/s1?"

    static func trace(_ rows: [(type: String, text: String)], status: String = "ready") -> String {
        let list = rows.enumerated().map { index, row in
            let id = row.type == "assistant" ? "e\(index)-text-0" : "e\(index)"
            return
                #"{"id":"\#(id)","type":"\#(row.type)","timestamp":"2026-02-02T02:40:0\#(index).000Z","text":"\#(row.text)"}"#
        }
        return #"{"session":{"id":"s1","status":"\#(status)"},"trace":[\#(list.joined(separator: ","))]}"#
    }

    static func missed(_ current: Int, isWhole: Bool = true, status: String = "busy") -> String {
        #"{"events":[],"currentSeq":\#(current),"catchUpComplete":\#(isWhole),"session":{"id":"s1","status":"\#(status)"}}"#
    }

    /// The chat's stream breaks, and the machine asks the server.
    private func broken(_ oppi: inout OppiConversation) {
        _ = oppi.happens(.closed(code: 1006, reason: ""), 2)
        #expect(oppi.waits(300) == [Self.events + "?since=\(oppi.sequence)"])
    }

    // MARK: The chat's stream

    @Test(
        "inside the ring nothing is missed, and deltas wait for the next message", arguments: OppiMachineTests.dialects)
    func insideRing(_ result: String) {
        var oppi = OppiConversation.running(result: result)
        _ = oppi.says("text_delta", #""delta":"Hel""#)
        broken(&oppi)
        #expect(oppi.answers(Self.events, 200, Self.missed(4)) == ["\(Self.history)view=full&traceView=full"])
        let ours = Self.trace([("user", "Hi")], status: "busy")
        #expect(oppi.answers(Self.history, 200, ours) == ["open 3 ws://127.0.0.1:7749/stream"])
        let since = oppi.sequence
        let missed = oppi.frame("message_end", #""role":"assistant","content":"Hello""#)
        let lines = oppi.follows(3, status: "busy", replay: [missed])
        #expect(
            lines == ["3 > subscribe s1 full since \(since)", #"r1 oppi:ses_1 segment ended "Hello""#], "\(lines)")
        #expect(
            oppi.says("text_delta", #""delta":"rest of a message""#, on: 3) == ["r1 oppi:ses_1 alive, working"])
        #expect(oppi.answers(text: "And more", on: 3) == [#"r1 oppi:ses_1 segment ended "And more""#])
        #expect(oppi.ends(on: 3) == ["r1 oppi:ses_1 finished stop run -"])
    }

    @Test("a replayed frame whose number none has hides nothing that follows")
    func absurdNumber() {
        var oppi = OppiConversation.running()
        broken(&oppi)
        _ = oppi.answers(Self.events, 200, Self.missed(3))
        _ = oppi.answers(Self.history, 200, Self.trace([("user", "Hi")], status: "busy"))
        let absurd =
            #"{"type":"message_end","sessionId":"s1","seq":253402300800000,"role":"assistant","content":"Hello"}"#
        _ = oppi.frame("message_end")
        _ = oppi.follows(3, status: "busy", replay: [absurd])
        _ = oppi.answers(Self.history, 200, Self.trace([("user", "Hi"), ("assistant", "Hello")], status: "busy"))
        #expect(oppi.answers(text: "And more", on: 3).last == #"r1 oppi:ses_1 segment ended "And more""#)
    }

    @Test("a history that cannot be read leaves the replay, which the numbers call whole")
    func insideRingWithoutHistory() {
        var oppi = OppiConversation.running()
        broken(&oppi)
        _ = oppi.answers(Self.events, 200, Self.missed(4))
        #expect(oppi.fails(Self.history) == ["open 3 ws://127.0.0.1:7749/stream"])
    }

    @Test("a stream that is lost again and again is opened ever later")
    func streamPauses() {
        var (oppi, pauses) = (OppiConversation.running(), [Int64]())
        for channel in 2..<8 {
            _ = oppi.happens(.closed(code: 1006, reason: ""), channel)
            let lost = oppi.now
            while !oppi.openCalls.contains(where: { $0.hasPrefix(Self.events) }), oppi.now < lost + .seconds(20) {
                _ = oppi.waits(50)
            }
            pauses.append((oppi.now - lost).nanoseconds / 1_000_000)
            _ = oppi.answers(Self.events, 200, Self.missed(4))
            _ = oppi.fails(Self.history)
        }
        #expect(pauses == [250, 750, 2_000, 4_000, 4_000, 4_000])
    }

    @Test("a look at what was missed that fails is repeated ever later")
    func lookPauses() {
        var (oppi, pauses) = (OppiConversation.running(), [Int64]())
        broken(&oppi)
        for _ in 0..<4 {
            _ = oppi.fails(Self.events)
            let failed = oppi.now
            while !oppi.openCalls.contains(where: { $0.hasPrefix(Self.events) }), oppi.now < failed + .seconds(90) {
                _ = oppi.waits(500)
            }
            pauses.append((oppi.now - failed).components.seconds)
        }
        #expect(pauses == [2, 4, 8, 16])
    }

    @Test("numbers that another client brought beyond ours in a new activation are not taken for our run's")
    func hiddenActivation() {
        var oppi = OppiConversation.running()
        broken(&oppi)
        _ = oppi.answers(Self.events, 200, Self.missed(16))
        // The same holds while that client's run is at work.
        let theirs = Self.trace([("user", "Hi"), ("assistant", "Hello"), ("user", "Desk")], status: "busy")
        #expect(oppi.answers(Self.history, 200, theirs) == [#"r1 oppi:ses_1 finished stop run "Hello""#])
        _ = oppi.sends("r2", "More")
        #expect(oppi.keeps() == ["open 3 ws://127.0.0.1:7749/stream"])
        #expect(oppi.follows(3, current: 16).first == "3 > subscribe s1 full since 1000000000")
    }

    @Test("a session that could not be made is tried again, five times")
    func noSession() {
        let call = "POST /workspaces/w1/sessions"
        var oppi = OppiConversation.live()
        #expect(oppi.sends("r1", "Hi") == [call])
        for _ in 0..<4 {
            #expect(oppi.fails(call).allSatisfy { $0.hasPrefix("note") })
            #expect(oppi.waits(2_000) == [call])
        }
        let lines = oppi.fails(call)
        #expect(lines.count == 1 && lines[0].hasPrefix("send r1 not made"), "\(lines)")
        #expect(oppi.sends("r2", "Hi") == [call])
        #expect(oppi.fails(call).allSatisfy { $0.hasPrefix("note") })
    }

    @Test("a frame that comes twice is heard once")
    func duplicate() {
        var oppi = OppiConversation.running()
        let frame = oppi.frame("message_end", #""role":"assistant","content":"Hello""#)
        #expect(oppi.hears(frame, on: 2).count == 1)
        #expect(oppi.hears(frame, on: 2) == [])
    }

    @Test("a gap is asked for on the same stream, and comes in order")
    func gap() {
        var oppi = OppiConversation.running()
        let first = oppi.frame("message_end", #""role":"assistant","content":"One""#)
        let second = oppi.frame("message_end", #""role":"assistant","content":"Two""#)
        #expect(oppi.hears(second, on: 2).contains("2 > subscribe s1 full since 2"))
        let lines = oppi.subscribes(2, status: "busy", replay: [first, second])
        #expect(lines == [#"r1 oppi:ses_1 segment ended "One""#, #"r1 oppi:ses_1 segment ended "Two""#])
    }

    @Test("an overflown ring is never taken as complete: the history has the text")
    func outsideRing() {
        var oppi = OppiConversation.running()
        _ = oppi.says("text_delta", #""delta":"Hel""#)
        broken(&oppi)
        #expect(
            oppi.answers(Self.events, 200, Self.missed(900, isWhole: false))
                == ["GET /workspaces/w1/sessions/s1?view=full&traceView=full"])
        let soFar = Self.trace([("user", "Hi"), ("assistant", "Hello")], status: "busy")
        #expect(
            oppi.answers(Self.history, 200, soFar) == [
                #"r1 oppi:ses_1 snapshot "Hello""#, "r1 oppi:ses_1 segment ended -",
                "open 3 ws://127.0.0.1:7749/stream",
            ])
        let lines = oppi.follows(3, current: 900, status: "busy")
        #expect(lines.first == "3 > subscribe s1 full since 900")
        // A message that the history already had is not reported again.
        _ = oppi.answers(Self.history, 200, soFar)
        #expect(oppi.answers(text: "Hello", on: 3) == [])
        #expect(oppi.answers(text: "World", on: 3) == [#"r1 oppi:ses_1 segment ended "World""#])
        #expect(oppi.ends(on: 3) == ["GET /workspaces/w1/sessions/s1?view=full&traceView=full"])
        let whole = Self.trace([("user", "Hi"), ("assistant", "Hello"), ("toolResult", ""), ("assistant", "World")])
        #expect(
            oppi.answers(Self.history, 200, whole) == [#"r1 oppi:ses_1 finished stop run "Hello\n\nWorld""#])
    }

    @Test("a truncated catch-up on the stream itself is not taken as complete either")
    func truncatedOnStream() {
        var oppi = OppiConversation.running()
        broken(&oppi)
        _ = oppi.answers(Self.events, 200, Self.missed(2))
        _ = oppi.answers(Self.history, 200, Self.trace([("user", "Hi")], status: "busy"))
        let lines = oppi.follows(3, current: 800, isWhole: false, status: "busy")
        #expect(lines.last == "GET /workspaces/w1/sessions/s1?view=full&traceView=full", "\(lines)")
    }

    @Test("smaller numbers are a new activation: what the run came to is in the history")
    func activation() {
        var oppi = OppiConversation.running()
        broken(&oppi)
        #expect(
            oppi.answers(Self.events, 200, Self.missed(0, status: "ready"))
                == ["GET /workspaces/w1/sessions/s1?view=full&traceView=full"])
        let whole = Self.trace([("user", "Hi"), ("assistant", "Hello")])
        #expect(oppi.answers(Self.history, 200, whole) == [#"r1 oppi:ses_1 finished stop run "Hello""#])
    }

    @Test("a run that was cut off by a restart is explained, not begun again")
    func cutOff() {
        var oppi = OppiConversation.running()
        broken(&oppi)
        _ = oppi.answers(Self.events, 404, #"{"error":"Session not active"}"#)
        let half = Self.trace([("user", "Hi"), ("assistant", "I look."), ("toolCall", "")], status: "busy")
        var lines = oppi.answers(Self.history, 200, half)
        for _ in 0..<5 { lines += oppi.waits(2_100) + oppi.answers(Self.history, 200, half) }
        #expect(lines.contains { $0.hasPrefix(#"r1 oppi:ses_1 failed agentGone "its work was cut off""#) }, "\(lines)")
        #expect(!lines.contains { $0.hasPrefix("open") || $0.contains("prompt") }, "no agent is started by looking")
    }

    @Test("a session that ended elsewhere ends its run, and the next prompt activates it again")
    func endedElsewhere() {
        var oppi = OppiConversation.running()
        let lines = oppi.says("session_ended", #""reason":"stopped""#)
        #expect(
            lines.contains { $0.hasPrefix(#"r1 oppi:ses_1 failed agentGone "stopped""#) } && lines.contains("close 2"))
        _ = oppi.sends("r2", "More")
        #expect(oppi.keeps() == ["open 3 ws://127.0.0.1:7749/stream"])
        let again = oppi.follows(3, current: 0)
        #expect(again == ["3 > subscribe s1 full since 1000000000", "3 > prompt s1 r2 More"])
    }

    @Test("a session that is gone makes room for another")
    func gone() {
        var oppi = OppiConversation.running()
        broken(&oppi)
        let lines = oppi.answers(Self.events, 404, #"{"error":"Session not found"}"#)
        #expect(lines.contains { $0.hasPrefix("r1 oppi:ses_1 failed agentGone") }, "\(lines)")
        #expect(oppi.sends("r2", "More") == ["POST /workspaces/w1/sessions"])
    }

    @Test("the seed dialect's silent downgrade is noticed by its complaint")
    func downgrade() {
        var oppi = OppiConversation.prompted()
        let complaint = #"{"type":"error","error":"Session s1 is not subscribed at level=full","sessionId":"s1"}"#
        #expect(oppi.hears(complaint, on: 2) == ["2 > subscribe s1 full since 0"])
        #expect(oppi.subscribes(2) == ["2 > prompt s1 r1 Hi"])
    }

    @Test("head's deduplicated answer is no subscription")
    func deduplicated() {
        var oppi = OppiConversation.live(result: "command_result")
        _ = oppi.sends("r1", "Hi")
        _ = oppi.answers("POST /workspaces/w1/sessions", 201, #"{"session":{"id":"s1"}}"#)
        _ = oppi.keeps()
        _ = oppi.opens(2)
        _ = oppi.hears(#"{"type":"stream_connected","userName":"shed"}"#, on: 2)
        let answer = #""data":{"sessionId":"s1","deduplicated":true},"sessionId":"s1"}"#
        let lines = oppi.hears(
            #"{"type":"command_result","command":"subscribe","requestId":"\#(oppi.request("subscribe"))","success":true,"#
                + answer, on: 2)
        #expect(lines == ["2 > unsubscribe s1", "2 > subscribe s1 full since 0"])
    }

    // MARK: Prompts of unknown outcome

    @Test("a prompt whose answer was lost is looked for, and is not run twice")
    func arrived() {
        var oppi = OppiConversation.prompted()
        broken(&oppi)
        _ = oppi.answers(Self.events, 200, Self.missed(2))
        let there = Self.trace([("user", "Hi")], status: "busy")
        let lines = oppi.answers(Self.history, 200, there)
        #expect(lines.first == "send r1 accepted as r1" && !lines.contains { $0.contains("prompt") }, "\(lines)")
    }

    @Test("a prompt that did not arrive is written again under the same name")
    func notArrived() {
        var oppi = OppiConversation.prompted()
        broken(&oppi)
        _ = oppi.answers(Self.events, 200, Self.missed(0, status: "ready"))
        #expect(oppi.answers(Self.history, 200, Self.trace([])) == ["open 3 ws://127.0.0.1:7749/stream"])
        #expect(oppi.follows(3) == ["3 > subscribe s1 full since 0", "3 > prompt s1 r1 Hi"])
        #expect(oppi.replies("prompt", on: 3) == ["send r1 accepted as r1"])
    }

    @Test("the same words of an earlier time are another question")
    func earlierQuestion() {
        var oppi = OppiConversation.prompted()
        broken(&oppi)
        _ = oppi.answers(Self.events, 200, Self.missed(0, status: "ready"))
        let old = #"{"id":"e1","type":"user","timestamp":"2026-01-01T00:00:00.000Z","text":"Hi"}"#
        let trace = #"{"session":{"id":"s1","status":"ready"},"trace":[\#(old)]}"#
        #expect(oppi.answers(Self.history, 200, trace) == ["open 3 ws://127.0.0.1:7749/stream"])
    }

    @Test("where it cannot be found out the bubble says so: a command may be in the history in other words")
    func unknowable() {
        var oppi = OppiConversation.prompted(text: "/review")
        broken(&oppi)
        _ = oppi.answers(Self.events, 200, Self.missed(0, status: "ready"))
        let lines = oppi.answers(Self.history, 200, Self.trace([]))
        #expect(lines.first?.contains("cannot be found out whether it arrived") == true, "\(lines)")
    }

    @Test("a conflict means that the prompt was taken in some form")
    func conflict() {
        var oppi = OppiConversation.prompted()
        #expect(
            oppi.replies("prompt", error: "clientTurnId conflict: r1")
                == ["send r1 accepted as r1", "GET /workspaces/w1/sessions/s1?view=full&traceView=full"])
        let lines = oppi.answers(Self.history, 200, Self.trace([("user", "Hi"), ("assistant", "Hello")]))
        #expect(lines == [#"r1 oppi:ses_1 finished stop run "Hello""#])
    }

    @Test("a duplicate acknowledgement accepts it")
    func duplicateAcknowledged() {
        var oppi = OppiConversation.prompted()
        let lines = oppi.hears(
            #"{"type":"turn_ack","command":"prompt","clientTurnId":"r1","stage":"accepted","duplicate":true,"sessionId":"s1"}"#,
            on: 2)
        #expect(lines == ["send r1 accepted as r1"])
    }

    // MARK: The whole link

    @Test("with the main stream all of them are lost, and what the bridge asks is answered from the history")
    func mainLost() {
        var oppi = OppiConversation.running()
        let lost = oppi.happens(.closed(code: 1001, reason: "Server shutting down"))
        #expect(lost.prefix(2) == ["close 2", "link lost"], "\(lost)")
        _ = oppi.waits(3_500)
        #expect(oppi.greets(uptime: 1).contains(Self.events + "?since=0"), "it has restarted")
        _ = oppi.answers(Self.events, 404, #"{"error":"Session not active"}"#)
        let whole = Self.trace([("user", "Hi"), ("assistant", "Hello")])
        #expect(oppi.answers(Self.history, 200, whole) == [])
        #expect(oppi.looksUp("r1") == [#"looked up r1 finished stop run "Hello""#])
    }

    @Test(
        "a server that began in about the second of the last word may be the same one: what was missed is asked for by number"
    )
    func barelyStarted() {
        var oppi = OppiConversation.running()
        _ = oppi.happens(.failed(message: "reset"))
        _ = oppi.waits(1_500)
        #expect(oppi.greets(uptime: 1).contains(Self.events + "?since=2"))
    }

    @Test("a slow answer about its age does not make a server younger")
    func slowAnswer() {
        var oppi = OppiConversation.running()
        _ = oppi.happens(.failed(message: "reset"))
        _ = oppi.waits(1_500)
        #expect(oppi.greets(uptime: 1, after: 900).contains(Self.events + "?since=2"))
    }

    @Test("after a restart of the bridge an accepted run is found by its words")
    func restart() {
        let fact = Fact("session:oppi:ses_1", Array("w1\ns1\nr1\n\(OppiConversation.wall - 5_000)".utf8))
        var oppi = OppiConversation(facts: [fact], turns: [Self.earlier(isAccepted: true)])
        #expect(oppi.greets().contains(Self.events + "?since=0"))
        _ = oppi.answers(Self.events, 200, Self.missed(7))
        let soFar = Self.trace([("user", "Hi"), ("assistant", "Hello")], status: "busy")
        let lines = oppi.answers(Self.history, 200, soFar)
        #expect(lines.last == "open 2 ws://127.0.0.1:7749/stream" && !lines.contains { $0.contains("prompt") })
        #expect(oppi.looksUp("r1") == [])
        #expect(oppi.follows(2, current: 7, status: "busy").first == "2 > subscribe s1 full since 7")
    }

    @Test("a prompt that had not left is sent after a restart, one that may have is looked for")
    func restartUnsent() {
        var unsent = OppiConversation(turns: [Self.earlier(isAccepted: false)])
        #expect(unsent.greets().contains("POST /workspaces/w1/sessions"))
        let fact = Fact("session:oppi:ses_1", Array("w1\ns1\nr0\n\(OppiConversation.wall - 5_000)".utf8))
        var other = OppiConversation(facts: [fact], turns: [Self.earlier(isAccepted: false)])
        #expect(other.greets().contains { $0.hasPrefix("keep session:oppi:ses_1=w1 s1 r1") })
        let own = Fact("session:oppi:ses_1", Array("w1\ns1\nr1\n\(OppiConversation.wall - 5_000)".utf8))
        var doubtful = OppiConversation(facts: [own], turns: [Self.earlier(isAccepted: false)])
        #expect(doubtful.greets().contains(Self.events + "?since=0"))
    }

    static func earlier(isAccepted: Bool) -> EarlierTurn {
        EarlierTurn(
            session: OppiConversation.chat, runs: [.init(RunID("r1"), text: "Hi")], isAccepted: isAccepted,
            isStopping: false, receivedAt: .zero, decisions: [], detached: [])
    }

    // MARK: Other clients

    @Test("a run of another client in a chat at rest is told whole, from the history")
    func mirrored() {
        let fact = Fact("session:oppi:ses_1", Array("w1\ns1\nr1\n0".utf8))
        var oppi = OppiConversation(facts: [fact])
        #expect(oppi.greets().contains("1 > subscribe s1 notifications since 1000000000"))
        #expect(oppi.says("agent_start", on: 1) == [])
        #expect(oppi.endsElsewhere() == ["GET /workspaces/w1/sessions/s1?view=full&traceView=full"])
        let lines = oppi.answers(Self.history, 200, Self.trace([("user", "Elsewhere"), ("assistant", "Hello")]))
        #expect(lines.count == 3 && lines[2].hasSuffix(#"finished stop run "Hello""#), "\(lines)")
    }

    // MARK: A burst

    @Test("of a burst with dropped deltas the message is the text, once")
    func burst() {
        var oppi = OppiConversation.running()
        var streamed = ""
        for index in 0..<2_000 where index % 5 != 3 {
            let lines = oppi.says("text_delta", #""delta":"w\#(index) ""#)
            #expect(lines == [#"r1 oppi:ses_1 append "w\#(index) ""#])
            streamed += "w\(index) "
        }
        let whole = (0..<2_000).map { "w\($0) " }.joined()
        #expect(oppi.answers(text: whole).count == 1)
        #expect(oppi.ends() == ["r1 oppi:ses_1 finished stop run -"])
    }
}
