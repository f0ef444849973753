import Testing
import Vocabulary

@testable import BridgeCore

@Suite("A message with files, and what of a message the agent does not get")
struct TurnFilesTests {
    private static func opening(_ text: String, files: Int = 0, model: String? = nil, turn: String = "int_1")
        -> TurnOpening
    {
        var opening = Make.opening
        opening.id = TurnID(turn)
        opening.run = RunID("run-\(turn)")
        opening.agentSession = AgentSession("chat-\(turn)")
        opening.message?.text = text
        opening.message?.model = model
        opening.message?.attachments = (0..<files).map { Attachment(url: "https://u/\($0)", name: "\($0).png") }
        return opening
    }

    /// The message's files, of which the first `missing` could not be fetched.
    static func fetched(_ opening: TurnOpening, missing: Int = 0) -> [Attachment] {
        (opening.message?.attachments ?? []).enumerated().map { index, attachment in
            var attachment = attachment
            let name = attachment.plainName
            attachment.outcome =
                index < missing
                ? .missing(.notFetched(name, "the server answered 404"))
                : .file(MessageFile(name: name, mimeType: "image/png", path: "/files/\(index)", size: 7))
            return attachment
        }
    }

    /// The turn was handed over.
    private static func turn(_ opening: TurnOpening, missing: Int = 0) -> Turn {
        var turn = Turn(opening)
        _ = turn.begin(at: .zero)
        _ = turn.reported(.delivered(.open, message: MessageID("b1")), at: .zero)
        _ = turn.fetched(fetched(opening, missing: missing), at: .zero)
        _ = turn.handOver(at: .zero)
        return turn
    }

    private static func end(of orders: [TurnOrder]) -> String? {
        for order in orders { if case .post(.end(let end)) = order { return end.text } }
        return nil
    }

    private static let line = "0.png could not be fetched: the server answered 404."

    @Test("has its bubble at once, then its files are fetched, then it may be handed over")
    func inOrder() {
        let opening = Self.opening("Look.", files: 2)
        var turn = Turn(opening)
        #expect(turn.begin(at: .zero) == [.post(.open), .fetch(opening.message?.attachments ?? [])])
        #expect(turn.phase == .fetching && turn.isIncomplete && turn.holdsFiles)
        #expect(turn.handOver(at: .zero) == [])
        #expect(turn.fetched(Self.fetched(opening), at: .at(1)) == [])
        #expect(turn.phase == .waiting && !turn.isIncomplete && turn.holdsFiles)
        guard case .command(.send(_, _, _, let message))? = turn.handOver(at: .at(2)).first else {
            Issue.record("nothing was sent")
            return
        }
        #expect(message.files.map(\.name) == ["0.png", "1.png"] && message.missing.isEmpty)
        #expect(turn.holdsFiles, "the agent may ask for them again")
        _ = turn.sendAnswered(.accepted(run: opening.run), at: .at(3))
        #expect(!turn.holdsFiles)
    }

    @Test("takes the outcome of its files once, and only for as many as it asked for")
    func foreign() {
        let opening = Self.opening("Look.", files: 2)
        var turn = Turn(opening)
        _ = turn.begin(at: .zero)
        _ = turn.fetched([], at: .zero)
        #expect(turn.phase == .fetching)
        _ = turn.fetched(Self.fetched(opening), at: .zero)
        _ = turn.fetched(Self.fetched(opening, missing: 2), at: .zero)
        #expect(turn.opening.message?.files.count == 2)
    }

    @Test("a file that is missing is named to the agent and in the bubble; the message goes all the same")
    func missing() {
        let opening = Self.opening("Look.", files: 2)
        var turn = Turn(opening)
        _ = turn.begin(at: .zero)
        _ = turn.fetched(Self.fetched(opening, missing: 1), at: .zero)
        guard case .command(.send(_, _, _, let message))? = turn.handOver(at: .zero).first else {
            Issue.record("nothing was sent")
            return
        }
        #expect(message.missing.map(\.sentence) == [Self.line] && message.files.map(\.name) == ["1.png"])
        #expect(
            Self.end(of: turn.on(.finished(RunEnd(text: "I see one.")), run: "run-int_1"))
                == "I see one.\n\n\(Self.line)")
    }

    @Test("what the agent does not take is named beside it")
    func leftOut() {
        var turn = Self.turn(Self.opening("Look.", files: 2), missing: 1)
        _ = turn.filesLeftOut([.notPassedOn("1.png", "it is too large")])
        #expect(
            Self.end(of: turn.on(.finished(RunEnd(text: "Hm.")), run: "run-int_1"))
                == "Hm.\n\n\(Self.line)\n1.png was not passed on: it is too large.")
    }

    @Test("of files alone is a message like any other", arguments: ["", " \n"])
    func filesAlone(text: String) {
        var turn = Self.turn(Self.opening(text, files: 1))
        #expect(turn.phase == .handedOver)
        #expect(Self.end(of: turn.on(.finished(RunEnd(text: "A fox.")), run: "run-int_1")) == "A fox.")
        var empty = Turn(Self.opening(text))
        #expect(Self.end(of: empty.begin(at: .zero)) == Sentences.emptyMessage)
    }

    @Test("of files alone that are all missing is no message: the person reads why", arguments: ["", " \n"])
    func nothingLeft(text: String) {
        let opening = Self.opening(text, files: 2)
        var turn = Turn(opening)
        _ = turn.begin(at: .zero)
        _ = turn.reported(.delivered(.open, message: MessageID("b1")), at: .zero)
        let orders = turn.fetched(Self.fetched(opening, missing: 2), at: .zero) + turn.handOver(at: .zero)
        #expect(turn.outcome == .neverSent)
        #expect(Self.end(of: orders)?.contains("0.png could not be fetched: the server answered 404.") == true)
        #expect(!orders.contains { if case .command = $0 { true } else { false } })
        var one = Turn(opening)
        _ = one.begin(at: .zero)
        _ = one.fetched(Self.fetched(opening, missing: 1), at: .zero)
        _ = one.handOver(at: .zero)
        #expect(one.phase == .handedOver)
    }

    @Test("goes without the files that do not come")
    func late() {
        let opening = Self.opening("Look.", files: 1)
        var turn = Turn(opening)
        _ = turn.begin(at: .zero)
        #expect(turn.nextDeadline == .at(660))
        _ = turn.deadlineHit(at: .at(660))
        #expect(turn.phase == .waiting && !turn.holdsFiles)
        #expect(turn.opening.message?.missing.map(\.sentence) == ["0.png could not be fetched: it took too long."])
    }

    @Test("waits for an agent that is away from when its files are there")
    func away() {
        let opening = Self.opening("Look.", files: 1)
        var turn = Turn(opening)
        _ = turn.begin(at: .zero)
        _ = turn.agentLost(at: .zero)
        _ = turn.fetched(Self.fetched(opening), at: .at(100))
        #expect(turn.deadlines.agent == .at(220))
        #expect(turn.agentBack(at: .at(110)) == [] && turn.deadlines.agent == nil)
        #expect(turn.phase == .waiting && turn.holdsFiles)
    }

    @Test("a stop ends it before the agent hears of it, whatever its files are at", arguments: [true, false])
    func stopped(areFetched: Bool) {
        let opening = Self.opening("Look.", files: 1)
        var turn = Turn(opening)
        _ = turn.begin(at: .zero)
        if areFetched { _ = turn.fetched(Self.fetched(opening), at: .zero) }
        #expect(Self.end(of: turn.stopRequested(at: .at(1))) == Sentences.stoppedWaiting)
        #expect(!turn.holdsFiles)
        #expect(turn.fetched(Self.fetched(opening), at: .at(2)) == [] && turn.handOver(at: .at(2)) == [])
    }

    @Test("that is sealed is fetched when it can be read")
    func sealed() {
        var opening = Self.opening("", files: 1)
        opening.sealing = .sealed(nil)
        opening.sealedText = "ct"
        var turn = Turn(opening)
        #expect(turn.begin(at: .zero) == [.post(.open)])
        let orders = turn.keyCame(KeyName("k1"), .text("Look."), at: .at(1))
        #expect(orders.last == .fetch(opening.message?.attachments ?? []))
        #expect(turn.phase == .fetching)
    }

    // MARK: One line

    @Test("nothing is told of a message that went whole", arguments: [0, 2])
    func whole(files: Int) {
        var turn = Self.turn(Self.opening("Hello.", files: files))
        #expect(Self.end(of: turn.on(.finished(RunEnd(text: "Hi.")), run: "run-int_1")) == "Hi.")
    }

    @Test("the line stands beside what the bubble says of a stop or a failure")
    func beside() {
        var stopped = Self.turn(Self.opening("Look.", files: 1), missing: 1)
        _ = stopped.stopRequested(at: .zero)
        #expect(Self.end(of: stopped.deadlineHit(at: .at(3))) == "\(Sentences.stopped)\n\n\(Self.line)")
        var empty = Self.turn(Self.opening("Look.", files: 1), missing: 1)
        #expect(Self.end(of: empty.concludeEmpty(at: .zero)) == "\(Sentences.emptyAnswer)\n\n\(Self.line)")
    }

    @Test("it is told once: with the end of the window, or with the end of the run")
    func once() {
        var turn = Self.turn(Self.opening("Look.", files: 1), missing: 1)
        _ = turn.on(.text(.append("I look.")), run: "run-int_1")
        #expect(
            Self.end(of: turn.deadlineHit(at: .at(1_741))) == "I look.\n\n\(Sentences.windowClosed)\n\n\(Self.line)")
        _ = turn.reported(.delivered(.end, message: nil), at: .at(1_741))
        #expect(
            turn.on(.finished(RunEnd(text: "I look. Done.")), run: "run-int_1", at: 1_800)
                .contains(.post(Make.whole(.late, " Done."))))
    }
}
