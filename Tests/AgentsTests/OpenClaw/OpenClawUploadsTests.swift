import AgentKit
import OpenClaw
import Testing
import Vocabulary
import Worlds

/// Messages with files take time to reach the gateway, and other requests wait behind them.
@Suite("Messages with files on their way to OpenClaw")
struct OpenClawUploadsTests {
    private typealias Talk = OpenClawConversation

    private static let scan = MessageFile(
        name: "scan.pdf", mimeType: "application/pdf", path: "/files/1", size: 2_000_000)
    private static let picture = MessageFile(name: "a.png", mimeType: "image/png", path: "/files/2", size: 3)
    private static let stop = AgentCommand.abort(session: Talk.session, run: RunID("r1"))

    private static func live() -> OpenClawConversation {
        let talk = Talk()
        talk.maxPayload = 26_214_400
        talk.files = #","attachments":{"maxBytes":20000000}"#
        talk.goLive()
        talk.clear()
        return talk
    }

    private static func message(_ files: [MessageFile], run: String = "r1", text: String = "Look.") -> AgentCommand {
        var message = UserMessage(id: MessageID("m-\(run)"), session: SessionID("s"), interaction: nil, text: text)
        message.attachments = files.map { file in
            var attachment = Attachment(name: file.name)
            attachment.outcome = .file(file)
            return attachment
        }
        return .send(turn: TurnID("t-\(run)"), session: Talk.session, run: RunID(run), message: message)
    }

    private static func loaded(_ files: MessageFile..., run: String = "r1") -> FileLoads.Loaded {
        var loaded = FileLoads.Loaded(run: RunID(run))
        loaded.files = files.map { LoadedFile($0, Array(repeating: 7, count: $0.size)) }
        return loaded
    }

    private static func sends(_ talk: OpenClawConversation) -> Int { talk.methods.count { $0 == "chat.send" } }

    @Test("no second copy leaves on a socket where the first may still be on its way")
    func oneCopy() {
        let talk = Self.live()
        talk.command(Self.message([Self.scan]))
        talk.load(Self.loaded(Self.scan))
        #expect(Self.sends(talk) == 1)
        for _ in 0..<60 {
            talk.event("tick", "{}")
            talk.pass(20)
        }
        #expect(Self.sends(talk) == 1 && talk.loads.count == 1)
        #expect(talk.methods.last == "chat.history", "then the history is asked what became of it")
    }

    @Test("files that were read for an earlier link are of no use where the history decides")
    func restarted() {
        let talk = Self.live()
        talk.command(Self.message([Self.picture]))
        talk.load(Self.loaded(Self.picture))
        talk.close(1006)
        talk.pass(5)
        talk.clear()
        talk.goLive()
        #expect(talk.loads == [[Self.picture]], "the gateway knows the key")
        talk.close(1006)
        talk.pass(5)
        talk.gatewayBegan = talk.now
        talk.goLive()
        #expect(talk.methods.contains("chat.history"))
        talk.load(Self.loaded(Self.picture))
        #expect(Self.sends(talk) == 0, "the history has not answered")
        talk.answer("chat.history", Talk.history([Talk.row("user", "Look.")], more: #","inFlightRun":{"runId":"r1"}"#))
        #expect(Self.sends(talk) == 0)
        #expect(talk.observations.contains(.accepted("r1")))
    }

    @Test("a stop while they are read again is sent, and answered")
    func stoppedAgain() {
        let talk = Self.live()
        talk.command(Self.message([Self.picture]))
        talk.load(Self.loaded(Self.picture))
        talk.close(1006)
        talk.pass(5)
        talk.clear()
        talk.goLive()
        talk.command(Self.stop)
        #expect(talk.methods.contains("chat.abort"))
        talk.answer("chat.abort", #"{"ok":true,"aborted":false,"runIds":[]}"#)
        #expect(talk.observations.contains(.abortAnswered(RunID("r1"))))
        talk.load(Self.loaded(Self.picture))
        #expect(Self.sends(talk) == 0)
    }

    @Test("what was left out for one gateway is left out for the next: the text under a key stays the same")
    func sameFiles() {
        let talk = Self.live()
        talk.files = #","attachments":{"maxBytes":5}"#
        talk.command(Self.message([Self.picture]))
        talk.load(Self.loaded(Self.picture))
        talk.close(1006)
        talk.pass(5)
        talk.files = #","attachments":{"maxBytes":2}"#
        talk.clear()
        talk.goLive()
        #expect(talk.loads == [] && Self.sends(talk) == 0 && talk.methods.contains("chat.history"))
        talk.answer("chat.history", Talk.history([], more: #","sessionInfo":{"activeRunIds":[]}"#))
        #expect(Self.sends(talk) == 0)
        let answers = talk.observations.compactMap { if case .sendAnswered(_, let answer) = $0 { answer } else { nil } }
        #expect(answers.count == 1, "\(talk.observations)")
    }

    @Test("a look-up of one that is being read or leaves says that the gateway has not taken it")
    func lookedUp() {
        let talk = Self.live()
        talk.command(Self.message([Self.scan]))
        talk.lookUp()
        #expect(talk.observations == [.lookedUp(RunID("r1"), .waits)])
        talk.load(Self.loaded(Self.scan))
        talk.clear()
        talk.lookUp()
        #expect(talk.observations == [.lookedUp(RunID("r1"), .waits)])
        talk.answer("chat.send", #"{"runId":"r1","status":"started"}"#)
        talk.clear()
        talk.lookUp()
        #expect(talk.methods == ["chat.history"])
    }

    @Test("they leave one after another, and a message without files waits for none of them")
    func inTurn() {
        let talk = Self.live()
        talk.command(Self.message([Self.scan], run: "r1"))
        talk.command(Self.message([Self.picture], run: "r2"))
        #expect(talk.loads == [[Self.scan]])
        talk.command(Self.message([], run: "r3"))
        #expect(Self.sends(talk) == 1)
        talk.load(Self.loaded(Self.scan, run: "r1"))
        #expect(talk.loads == [[Self.scan]])
        let first = talk.sent.last?.id ?? ""
        talk.answer(id: first, #"{"runId":"r1","status":"started"}"#)
        #expect(talk.loads == [[Self.scan], [Self.picture]])
    }

    @Test("what is asked behind one has its time from when that has arrived")
    func behind() {
        let talk = Self.live()
        talk.command(Self.message([Self.scan]))
        talk.load(Self.loaded(Self.scan))
        talk.command(Self.message([], run: "r2"))
        talk.clear()
        for _ in 0..<3 {
            talk.event("tick", "{}")
            talk.pass(20)
        }
        #expect(talk.methods == [], "it was not asked a second time")
        talk.answer(
            id: talk.allSent.last { $0.params.contains(#""r1""#) }?.id ?? "", #"{"runId":"r1","status":"started"}"#)
        talk.pass(14)
        #expect(Self.sends(talk) == 0)
        talk.pass(2)
        #expect(Self.sends(talk) == 1)
    }
}
