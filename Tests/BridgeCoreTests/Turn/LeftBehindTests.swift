import BridgeModel
import Testing

@testable import BridgeCore

@Suite("What of a message cannot be carried to the agent")
struct LeftBehindTests {
    private static func opening(_ text: String, attachments: Int = 0, model: String? = nil, turn: String = "int_1")
        -> TurnOpening
    {
        var opening = Make.opening
        opening.id = TurnID(turn)
        opening.run = RunID("run-\(turn)")
        opening.agentSession = AgentSession("chat-\(turn)")
        opening.message?.text = text
        opening.message?.model = model
        opening.message?.attachments = (0..<attachments).map { Attachment(key: "u/\($0)", name: "\($0).png") }
        return opening
    }

    private static func turn(_ opening: TurnOpening) -> Turn {
        var turn = Turn(opening)
        _ = turn.begin(at: .zero)
        _ = turn.reported(.delivered(.open, message: MessageID("b1")), at: .zero)
        _ = turn.handOver(at: .zero)
        return turn
    }

    private static func end(of orders: [TurnOrder]) -> String? {
        for order in orders { if case .post(.end(let end)) = order { return end.text } }
        return nil
    }

    @Test(
        "is told in one line after the agent's text",
        arguments: [
            (1, nil, "The attached file was not passed on: the bridge cannot carry files yet."),
            (3, nil, "The 3 attached files were not passed on: the bridge cannot carry files yet."),
            (0, "big-1", "The model big-1 could not be set for the agent yet; its own model answered."),
            (
                1, "big-1",
                "The attached file was not passed on, and the model big-1 could not be set: the bridge cannot carry them yet."
            ),
        ] as [(Int, String?, String)])
    func line(attachments: Int, model: String?, line: String) {
        var turn = Self.turn(Self.opening("Look at this.", attachments: attachments, model: model))
        let orders = turn.on(.finished(RunEnd(text: "I see nothing.")), run: "run-int_1")
        #expect(Self.end(of: orders) == "I see nothing.\n\n\(line)")
    }

    @Test("nothing is told of a message that went whole")
    func whole() {
        var turn = Self.turn(Self.opening("Hello."))
        #expect(Self.end(of: turn.on(.finished(RunEnd(text: "Hi.")), run: "run-int_1")) == "Hi.")
    }

    @Test("the line stands beside what the bubble says of a stop or a failure")
    func beside() {
        let line = "The attached file was not passed on: the bridge cannot carry files yet."
        var stopped = Self.turn(Self.opening("Look.", attachments: 1))
        _ = stopped.stopRequested(at: .zero)
        #expect(Self.end(of: stopped.deadlineHit(at: .at(3))) == "\(Sentences.stopped)\n\n\(line)")
        var empty = Self.turn(Self.opening("Look.", attachments: 1))
        #expect(Self.end(of: empty.concludeEmpty(at: .zero)) == "\(Sentences.emptyAnswer)\n\n\(line)")
    }

    @Test("it is told once: with the end of the window, or with the end of the run")
    func once() {
        var turn = Self.turn(Self.opening("Look.", attachments: 1))
        _ = turn.on(.text(.append("I look.")), run: "run-int_1")
        let line = "The attached file was not passed on: the bridge cannot carry files yet."
        #expect(Self.end(of: turn.deadlineHit(at: .at(1_741))) == "I look.\n\n\(Sentences.windowClosed)\n\n\(line)")
        _ = turn.reported(.delivered(.end, message: nil), at: .at(1_741))
        #expect(
            turn.on(.finished(RunEnd(text: "I look. Done.")), run: "run-int_1", at: 1_800)
                .contains(.post(Make.whole(.late, " Done."))))
    }

    @Test("a message of files alone is answered at once, and never handed over", arguments: ["", " \n"])
    func filesAlone(text: String) {
        var turn = Turn(Self.opening(text, attachments: 2))
        let orders = turn.begin(at: .zero)
        #expect(orders.first == .post(.open))
        #expect(Self.end(of: orders) == Sentences.onlyAttachments)
        #expect(turn.handOver(at: .zero) == [])
        _ = turn.reported(.delivered(.open, message: MessageID("b1")), at: .zero)
        #expect(turn.reported(.delivered(.end, message: nil), at: .zero) == [.closed])
        var empty = Turn(Self.opening(text))
        #expect(Self.end(of: empty.begin(at: .zero)) == Sentences.emptyMessage)
    }

    @Test("the model of a chat is told of once, until it is another")
    func models() {
        var bridge = Bridge()
        func notice(_ turn: String, _ model: String?) -> String? {
            bridge.turnBegins(Self.opening("Hi.", model: model, turn: turn), at: .zero)
            return bridge.turn(TurnID(turn))?.bubble.notice
        }
        #expect(notice("t1", "big-1")?.contains("big-1") == true)
        #expect(notice("t2", "big-1") == nil)
        #expect(notice("t3", "big-2")?.contains("big-2") == true)
        #expect(notice("t4", nil) == nil)
        #expect(notice("t5", "big-2")?.contains("big-2") == true)
    }
}
