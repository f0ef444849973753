import AgentKit
import OpenClaw
import Testing
import Vocabulary
import Worlds

@Suite("Files on an OpenClaw link")
struct OpenClawFilesTests {
    private typealias Talk = OpenClawConversation

    private static let picture = MessageFile(name: "a.png", mimeType: "image/png", path: "/files/1", size: 3)
    private static let other = MessageFile(name: "b.pdf", mimeType: "application/pdf", path: "/files/2", size: 4)

    private static func message(_ files: [MessageFile], missing: [MissingFile] = [], text: String = "Look.")
        -> AgentCommand
    {
        var message = UserMessage(id: MessageID("m"), session: SessionID("s"), interaction: nil, text: text)
        message.attachments =
            files.map { file in
                var attachment = Attachment(name: file.name)
                attachment.outcome = .file(file)
                return attachment
            }
            + missing.map { file in
                var attachment = Attachment(name: file.name)
                attachment.outcome = .missing(file)
                return attachment
            }
        return .send(turn: TurnID("t"), session: Talk.session, run: RunID("r1"), message: message)
    }

    private static func live() -> OpenClawConversation {
        let talk = Talk()
        talk.goLive()
        talk.clear()
        return talk
    }

    private static func loaded(_ files: MessageFile..., missing: [MissingFile] = []) -> FileLoads.Loaded {
        var loaded = FileLoads.Loaded(run: RunID("r1"))
        loaded.files = files.map { LoadedFile($0, Array(repeating: 7, count: $0.size)) }
        loaded.missing = missing
        return loaded
    }

    @Test("are read first, then they go in the frame as base64 with their names and types")
    func sent() {
        let talk = Self.live()
        talk.command(Self.message([Self.picture, Self.other]))
        #expect(talk.methods == [] && talk.loads == [[Self.picture, Self.other]])
        talk.load(Self.loaded(Self.picture, Self.other))
        #expect(
            talk.sent.last?.params
                == #"{"sessionKey":"agent:main:phone-1","message":"Look.","idempotencyKey":"r1","attachments":["#
                + #"{"mimeType":"image/png","fileName":"a.png","content":"BwcH"},"#
                + #"{"mimeType":"application/pdf","fileName":"b.pdf","content":"BwcHBw=="}]}"#)
        #expect(talk.observations == [])
        talk.load(Self.loaded(Self.picture))
        #expect(talk.methods.filter { $0 == "chat.send" }.count == 1, "it is asked already")
    }

    @Test("that are missing are named in the message")
    func missing() {
        let talk = Self.live()
        let gone = MissingFile.notFetched("c.txt", "no")
        talk.command(Self.message([Self.picture], missing: [gone]))
        talk.load(Self.loaded(Self.picture))
        let text = PromptText.noting([gone], behind: "Look.").replacing("\n", with: "\\n")
        #expect(talk.sent.last?.params.contains(text) == true)
        #expect(talk.observations == [])
    }

    @Test("that cannot be read keep the message back: the agent is not asked about what it does not see")
    func unread() {
        let talk = Self.live()
        talk.command(Self.message([Self.picture]))
        talk.cannotRead()
        #expect(talk.methods == [])
        #expect(talk.observations == [.sendAnswered(asked: RunID("r1"), .notSent(sentence: "Unread."))])
    }

    @Test("alone, and none of them taken, are no message")
    func alone() {
        let talk = Talk()
        talk.files = #","attachments":{"maxBytes":2}"#
        talk.goLive()
        talk.clear()
        talk.command(Self.message([Self.other], text: " "))
        #expect(talk.methods == [])
        #expect(talk.observations.last == .sendAnswered(asked: RunID("r1"), PicturePrompt.nothingLeft))
    }

    @Test("beyond what the gateway takes are left out before they are read", arguments: [5_000_001, 400_000])
    func limits(size: Int) {
        let talk = Self.live()
        let big = MessageFile(name: "big.bin", mimeType: "application/x", path: "/files/3", size: size)
        talk.command(Self.message([big]))
        #expect(talk.loads == [])
        #expect(talk.methods.last == "chat.send")
        guard case .filesLeftOut(_, let files)? = talk.observations.first else {
            Issue.record("nobody was told")
            return
        }
        #expect(files.map(\.name) == ["big.bin"])
        #expect(talk.sent.last?.params.contains("[Not attached: big.bin") == true)
    }

    @Test("advertised limits hold")
    func advertised() {
        let talk = Talk()
        talk.files = #","attachments":{"maxBytes":1000,"maxImageBytes":2}"#
        talk.goLive()
        talk.clear()
        talk.command(Self.message([Self.picture, Self.other]))
        #expect(talk.loads == [[Self.other]])
    }

    @Test("a message that is stopped while they are read never leaves")
    func stopped() {
        let talk = Self.live()
        talk.command(Self.message([Self.picture]))
        talk.command(.abort(session: Talk.session, run: RunID("r1")))
        #expect(talk.observations == [.sendAnswered(asked: RunID("r1"), .noRun)])
        talk.load(Self.loaded(Self.picture))
        #expect(talk.methods == [])
    }

    @Test("over a loss they are read again, and the key is the same")
    func lost() {
        let talk = Self.live()
        talk.command(Self.message([Self.picture]))
        talk.close(1006)
        talk.load(Self.loaded(Self.picture))
        #expect(talk.methods == [])
        talk.pass(5)
        talk.goLive()
        #expect(talk.loads.last == [Self.picture])
        talk.load(Self.loaded(Self.picture))
        #expect(talk.sent.last?.params.contains(#""idempotencyKey":"r1","attachments""#) == true)
        talk.close(1006)
        talk.clear()
        talk.pass(5)
        talk.goLive()
        #expect(talk.loads == [[Self.picture]], "it was asked and not answered: again, under its key")
    }

    @Test("a gateway that asks for a pause gets them when it is over, read once")
    func paused() {
        let talk = Self.live()
        talk.command(Self.message([Self.picture]))
        talk.load(Self.loaded(Self.picture))
        let error = #"{"code":"UNAVAILABLE","message":"busy","retryable":true,"retryAfterMs":3000}"#
        talk.answer("chat.send", nil, error: error)
        talk.clear()
        talk.pass(4)
        #expect(talk.loads == [[Self.picture]])
        talk.load(Self.loaded(Self.picture))
        #expect(talk.methods == ["chat.send"])
    }

    @Test(
        "of an earlier process are gone: the history decides, and nothing is sent without them",
        arguments: [true, false])
    func adopted(isThere: Bool) {
        let talk = Talk(era: .e4)
        // A gateway that still knows the key: without files the message would be sent again.
        talk.adopt(text: "Look.", hadFiles: true, secondsAgo: 5, .handedOver)
        talk.goLive()
        #expect(!talk.methods.contains("chat.send") && talk.methods.contains("chat.history"))
        talk.clear()
        let rows = isThere ? [Talk.row("user", "Look.", key: "r1")] : []
        let active = isThere ? #""r1""# : ""
        talk.answer("chat.history", Talk.history(rows, more: #","sessionInfo":{"activeRunIds":[\#(active)]}"#))
        #expect(!talk.methods.contains("chat.send"))
        let answers = talk.observations.compactMap { if case .sendAnswered(_, let answer) = $0 { answer } else { nil } }
        if isThere {
            #expect(answers == [.accepted(run: RunID("r1"))])
        } else {
            guard case .refused(let words)? = answers.first else {
                Issue.record("not refused: \(talk.observations)")
                return
            }
            #expect(words.contains("send it again"))
        }
    }
}
