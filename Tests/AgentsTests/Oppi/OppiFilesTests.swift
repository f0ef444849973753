import AgentKit
import Oppi
import Testing
import Vocabulary

@Suite("Pictures for Oppi")
struct OppiFilesTests {
    private static let picture = MessageFile(name: "a.png", mimeType: "image/png", path: "/files/1", size: 3)
    private static let photo = MessageFile(name: "b.jpg", mimeType: "image/jpeg", path: "/files/2", size: 1)
    private static let paper = MessageFile(name: "c.pdf", mimeType: "application/pdf", path: "/files/3", size: 9)
    private static let left = "c.pdf was not passed on: Oppi takes pictures alone (PNG, JPEG, GIF, WebP)."

    /// The chat of `r1`, with a live stream.
    private static func sending(_ files: [MessageFile]) -> (OppiConversation, [String]) {
        var oppi = OppiConversation.live()
        var lines = oppi.sends("r1", "look", files: files)
        lines += oppi.answers("POST /workspaces/w1/sessions", 201, #"{"session":{"id":"s1"}}"#)
        lines += oppi.keeps()
        lines += oppi.follows(2)
        return (oppi, lines)
    }

    @Test(
        "are read when their prompt is due, one after another, and go beside the text",
        arguments: ["rpc_result", "command_result"])
    func sent(dialect: String) {
        var (oppi, lines) = Self.sending([Self.picture, Self.photo])
        #expect(lines.last == "read /files/1")
        #expect(oppi.reads([1, 2, 3]) == ["read /files/2"])
        #expect(oppi.reads([9]) == ["2 > prompt s1 r1 look image/png AQID image/jpeg CQ=="])
        #expect(oppi.accepts() == ["send r1 accepted as r1"])
    }

    @Test("alone: what else comes with a message is named to Oppi and to the person, and its run is known again")
    func others() {
        var (oppi, lines) = Self.sending([Self.paper])
        #expect(lines.first == "r1 leaves without \(Self.left)")
        #expect(lines.last == "2 > prompt s1 r1 look\n\n[Not attached: \(Self.left)]")
        _ = oppi.accepts()
        _ = oppi.says("agent_start")
        #expect(
            oppi.says("message_end", #""role":"user","content":"look\n\n[Not attached: \#(Self.left)]""#)
                == ["r1 oppi:ses_1 started"])
    }

    @Test("that cannot be read any more keep the message back")
    func unread() {
        var (oppi, _) = Self.sending([Self.picture])
        let lines = oppi.reads([1])
        #expect(lines.count == 1 && lines[0].contains("could not read a.png from its disk"), "\(lines)")
    }

    @Test("alone, and none of them a picture, are no message")
    func none() {
        var oppi = OppiConversation.live()
        let lines = oppi.sends("r1", " ", files: [Self.paper])
        #expect(lines.count == 2 && lines[1].contains("None of its files could be passed on"), "\(lines)")
    }

    @Test("have the time that a slow line needs for them, and so has what is asked behind them")
    func slowLine() {
        let photo = MessageFile(name: "b.jpg", mimeType: "image/jpeg", path: "/files/2", size: 3_000_000)
        var (oppi, _) = Self.sending([photo])
        #expect(oppi.reads(Array(repeating: 7, count: 3_000_000)).count == 1)
        // 4 MB of base64 at 20,000 bytes a second, and 8 s for the answer.
        // Frames of the other stream do not wait behind them.
        for _ in 0..<5 {
            #expect(oppi.waits(30_000) == [])
            _ = oppi.hears(#"{"type":"ping"}"#, on: 1)
        }
        #expect(oppi.waits(30_000) == [])
        _ = oppi.hears(#"{"type":"ping"}"#, on: 1)
        #expect(oppi.waits(25_000) == [])
        #expect(oppi.waits(5_000).contains { $0.contains("subscribe") })
    }

    @Test("a message that is stopped while they are read is not written")
    func stopped() {
        var (oppi, _) = Self.sending([Self.picture])
        #expect(oppi.aborts("r1") == ["stop of r1 answered"])
        #expect(oppi.reads([1, 2, 3]) == [])
    }

    @Test("a stream that is lost while they are read costs nothing: they go on the next one, once")
    func lost() {
        var (oppi, _) = Self.sending([Self.picture])
        _ = oppi.happens(.closed(code: 1006, reason: ""), 2)
        #expect(oppi.reads([1, 2, 3]) == [])
        #expect(oppi.waits(300).contains("open 3 ws://127.0.0.1:7749/stream") || oppi.openCalls.isEmpty)
        let lines = oppi.follows(3)
        #expect(lines.filter { $0.contains("> prompt") } == ["3 > prompt s1 r1 look image/png AQID"], "\(lines)")
    }

    @Test("a prompt that is repeated has the same pictures")
    func repeated() {
        var (oppi, _) = Self.sending([Self.picture])
        _ = oppi.reads([1, 2, 3])
        _ = oppi.waits(8_500)
        #expect(oppi.subscribes(2).last == "2 > prompt s1 r1 look image/png AQID")
    }

    @Test("a message into a run waits for its pictures, and no later one overtakes it")
    func steering() {
        var oppi = OppiConversation.running()
        #expect(oppi.sends("r2", "and this", files: [Self.picture]) == ["read /files/1"])
        #expect(oppi.sends("r3", "quickly") == [])
        let lines = oppi.reads([1, 2, 3]) + oppi.keeps()
        #expect(lines.last == "2 > steer s1 r2 and this image/png AQID", "\(lines)")
    }

    @Test("what an earlier process did not hand over is not sent without them")
    func earlier() {
        let run = EarlierTurn.Run(RunID("r1"), text: "look", hadFiles: true)
        var turn = OppiRecoveryTests.earlier(isAccepted: false)
        turn.runs = [run]
        let oppi = OppiConversation(turns: [turn])
        #expect(oppi.begun.contains { $0.contains("r1") && $0.contains("send it again") }, "\(oppi.begun)")
    }
}
