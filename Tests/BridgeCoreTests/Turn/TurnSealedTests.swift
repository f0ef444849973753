import Testing
import Vocabulary

@testable import BridgeCore

@Suite("A sealed turn")
struct TurnSealedTests {
    private static let key = KeyName("k1")

    private static func opening(_ sealing: TurnSealing, refusal: MessageRefusal? = nil) -> TurnOpening {
        var opening = Make.opening
        opening.sealing = sealing
        opening.sealedText = "AQID"
        opening.refusal = refusal
        if sealing == .sealed(nil) || refusal != nil { opening.message?.text = "" }
        return opening
    }

    /// The message cannot be read yet, and the bubble is open.
    private static func awaiting() -> Turn {
        var turn = Turn(opening(.sealed(nil)))
        _ = turn.begin(at: .zero)
        _ = turn.reported(.delivered(.open, message: MessageID("b1")), at: .zero)
        return turn
    }

    /// The run has said this.
    private static func speaking(_ text: String) -> Turn {
        var turn = Turn(opening(.sealed(key)))
        _ = turn.begin(at: .zero)
        _ = turn.reported(.delivered(.open, message: MessageID("b1")), at: .zero)
        _ = turn.handOver(at: .zero)
        _ = turn.sendAnswered(.accepted(run: RunID("r1")), at: .zero)
        _ = turn.on(.text(.append(text)))
        return turn
    }

    private static func sentence(_ text: String, line: Int = 1) -> Post {
        .message(WholeMessage(part: .line(line), text: text, inTheOpen: true))
    }

    private static var lacksKey: PostRefusal {
        var refusal = PostRefusal(.other("key_gone"))
        refusal.lacksKey = true
        return refusal
    }

    @Test("opens its bubble at once, and hands nothing over before its key has come")
    func awaits() {
        var turn = Turn(Self.opening(.sealed(nil)))
        #expect(turn.begin(at: .zero) == [.post(.open)])
        #expect(turn.phase == .awaitingKey && turn.awaitsKey)
        #expect(turn.handOver(at: .zero) == [])
        #expect(turn.nextDeadline == .at(120))
        #expect(turn.on(.text(.append("not mine"))) == [.note(.eventAfterEnd)])
    }

    @Test("goes on under the key that came, with the text that it opened")
    func keyCame() {
        var turn = Self.awaiting()
        #expect(turn.keyCame(Self.key, .text("hello"), at: .at(5)) == [.useSealing(.sealed(Self.key))])
        #expect(turn.phase == .waiting && turn.nextDeadline == .at(1_740))
        let orders = turn.handOver(at: .at(5))
        guard case .command(.send(_, _, _, let message))? = orders.first else {
            Issue.record("\(orders)")
            return
        }
        #expect(message.text == "hello")
        #expect(turn.keyCame(KeyName("k2"), .text("another"), at: .at(6)) == [], "and under no other to its end")
        #expect(turn.opening.sealing == .sealed(Self.key))
    }

    @Test("a message that came in the open is handed over once the chat has a key again")
    func plainMessage() {
        var opening = Self.opening(.sealed(nil))
        opening.sealedText = nil
        opening.message?.text = "hello"
        var turn = Turn(opening)
        _ = turn.begin(at: .zero)
        _ = turn.reported(.delivered(.open, message: MessageID("b1")), at: .zero)
        #expect(turn.phase == .awaitingKey)
        #expect(turn.keyCame(Self.key, nil, at: .at(5)) == [.useSealing(.sealed(Self.key))])
        guard case .command(.send(_, _, _, let message))? = turn.handOver(at: .at(5)).first else {
            Issue.record("not handed over: \(turn.phase)")
            return
        }
        #expect(message.text == "hello")
    }

    @Test("a key that comes while the agent is away starts the wait for the agent")
    func keyCameAgentAway() {
        var turn = Self.awaiting()
        #expect(turn.agentLost(at: .zero) == [])
        _ = turn.keyCame(Self.key, .text("hello"), at: .at(5))
        #expect(turn.nextDeadline == .at(125))
        var back = Self.awaiting()
        _ = back.agentLost(at: .zero)
        _ = back.agentBack(at: .at(1))
        _ = back.keyCame(Self.key, .text("hello"), at: .at(5))
        #expect(back.phase == .waiting && back.nextDeadline == .at(1_740))
    }

    @Test("an empty message under its key is answered like any other")
    func keyCameEmpty() {
        var turn = Self.awaiting()
        let orders = turn.keyCame(Self.key, .text(" "), at: .at(5))
        #expect(
            orders == [
                .useSealing(.sealed(Self.key)), Make.end(Sentences.emptyMessage), .agentFree,
            ])
    }

    @Test("a key that does not come ends it with the sealed empty text, and one sentence in the open")
    func keyMissing() {
        var turn = Self.awaiting()
        #expect(turn.deadlineHit(at: .at(119)) == [])
        #expect(
            turn.deadlineHit(at: .at(120)) == [
                .dropUnsealed, Make.end(""), .post(Self.sentence(Sentences.keyMissing)), .agentFree,
            ])
        #expect(turn.outcome == .neverSent)
        #expect(turn.keyCame(Self.key, .text("hello"), at: .at(121)) == [], "too late")
        #expect(turn.reported(.delivered(.end, message: nil), at: .at(121)) == [])
        #expect(turn.reported(.delivered(.message(.line(1)), message: nil), at: .at(121)) == [.closed])
    }

    @Test("a Stop while it awaits its key ends it in the same way, and a deleted chat without a word")
    func stopped() {
        var turn = Self.awaiting()
        #expect(
            turn.stopRequested(at: .at(3)) == [
                .note(.stopRequested), .dropUnsealed, Make.end(""), .post(Self.sentence(Sentences.stopped)), .agentFree,
            ])
        #expect(turn.outcome == .aborted)
        var deleted = Self.awaiting()
        #expect(deleted.chatEnded(isDeleted: true, at: .at(3)) == [.abandonLane, .agentFree, .closed])
        var ending = Self.awaiting()
        #expect(ending.bridgeStops(at: .at(3)).contains(.post(Self.sentence(Sentences.bridgeStopped))))
    }

    @Test("the relay's window may close first, also before it came")
    func window() {
        var turn = Turn(Self.opening(.sealed(nil)))
        turn.opening.windowEnds = .at(90)
        _ = turn.begin(at: .zero)
        #expect(turn.deadlineHit(at: .at(30)).contains(.post(Self.sentence(Sentences.keyMissing))))
        var late = Turn(Self.opening(.sealed(nil)))
        late.opening.windowEnds = .zero
        #expect(late.begin(at: .zero) == [.closeWindow, .note(.windowClosed)])
        #expect(late.deadlineHit(at: .at(120)) == [.post(Self.sentence(Sentences.keyMissing)), .agentFree])
    }

    @Test("a message that no key of the chat opens is answered sealed, and the agent never sees it")
    func unreadable() {
        var turn = Turn(Self.opening(.sealed(Self.key), refusal: .unreadable))
        #expect(
            turn.begin(at: .zero) == [.post(.open), Make.end(Sentences.notTaken(.unreadable)), .agentFree])
        #expect(turn.handOver(at: .zero) == [] && turn.outcome == .neverSent)
        var awaited = Self.awaiting()
        #expect(
            awaited.keyCame(Self.key, .unreadable, at: .at(2)) == [
                .useSealing(.sealed(Self.key)), Make.end(Sentences.notTaken(.unreadable)), .agentFree,
            ])
    }

    @Test(
        "a message that the configuration does not take is answered as its chat is, and without a key in the open",
        arguments: MessageRefusal.allCases)
    func refused(refusal: MessageRefusal) {
        let sentence = Sentences.notTaken(refusal)
        var open = Turn(Self.opening(.open, refusal: refusal))
        #expect(open.begin(at: .zero) == [.post(.open), Make.end(sentence), .agentFree])
        var keyless = Turn(Self.opening(.sealed(nil), refusal: refusal))
        #expect(
            keyless.begin(at: .zero) == [
                .post(.open), .dropUnsealed, Make.end(""), .post(Self.sentence(sentence)), .agentFree,
            ])
        #expect(!keyless.opening.isMirrored)
    }

    @Test("its bubble and its messages hold what a sealed field does")
    func limit() {
        var turn = Self.speaking("")
        let text = String(repeating: "word ", count: 20_000)
        let orders = turn.on(.finished(RunEnd(text: text)))
        let said = orders.compactMap { order -> String? in
            switch order {
            case .post(.end(let end)): end.text
            case .post(.message(let message)): message.inTheOpen ? nil : message.text
            default: nil
            }
        }
        #expect(said.joined() == text)
        #expect(said.map(\.utf8.count) == [48_000, 48_000, 4_000])
    }

    // MARK: The key is gone

    @Test("an end whose key is gone gives way to the empty text and a sentence, and its messages to nothing")
    func endWithoutKey() {
        var turn = Self.speaking("")
        _ = turn.on(.finished(RunEnd(text: String(repeating: "word ", count: 10_000))))
        #expect(
            turn.reported(.refused(.end, Self.lacksKey), at: .at(1)) == [
                .useSealing(.keyGone(Self.key)),
                .replace(
                    .end(EndOfTurn(text: "", form: 2)), followedBy: [Self.sentence(Sentences.keyGone)]),
            ])
        #expect(
            turn.reported(.refused(.message(.more(1)), Self.lacksKey), at: .at(1)) == [
                .useSealing(.keyGone(Self.key)), .skip,
            ])
        _ = turn.reported(.delivered(.end, message: nil), at: .at(1))
        #expect(turn.reported(.delivered(.message(.line(1)), message: nil), at: .at(1)) == [.closed])
    }

    @Test("where nothing can be sealed at all the end is left out, and it closes all the same")
    func endWithoutSealer() {
        var turn = Self.speaking("")
        _ = turn.on(.finished(RunEnd(text: "answer")))
        _ = turn.reported(.refused(.end, Self.lacksKey), at: .at(1))
        #expect(turn.reported(.refused(.end, Self.lacksKey), at: .at(1)).contains(.skip))
        #expect(turn.reported(.delivered(.message(.line(1)), message: nil), at: .at(1)) == [.closed])
    }

    @Test("of messages that follow a bubble the first gives way to the sentence, the others to nothing")
    func messagesWithoutKey() {
        var turn = Self.speaking("")
        _ = turn.reported(.windowClosed, at: .at(1))
        _ = turn.on(.finished(RunEnd(text: String(repeating: "word ", count: 10_000))))
        #expect(
            turn.reported(.refused(.message(.late), Self.lacksKey), at: .at(1)) == [
                .useSealing(.keyGone(Self.key)), .replace(Self.sentence(Sentences.keyGone)),
            ])
        #expect(turn.reported(.refused(.message(.more(1)), Self.lacksKey), at: .at(1)).last == .skip)
        #expect(turn.reported(.delivered(.message(.line(1)), message: nil), at: .at(1)) == [.closed])
    }

    @Test("an approval whose key is gone is denied, and the run ends with the sentence; cards end without a word")
    func approvalWithoutKey() {
        var turn = Self.speaking("Let me look.")
        _ = turn.on(.tool(.started(ToolStart(call: ToolCallID("c1"), name: "exec"))))
        _ = turn.on(.approvalRequested(Make.request()))
        let orders = turn.reported(.refused(.approval(ApprovalID("a1")), Self.lacksKey), at: .at(1))
        #expect(orders.prefix(2) == [.useSealing(.keyGone(Self.key)), .skip])
        #expect(orders.contains(Make.resolve(.deny)))
        #expect(turn.on(.text(.append(" And go on."))) == [])
        #expect(
            turn.on(.finished(RunEnd(text: "Let me look. And go on."))) == [
                Make.taskEnded(.completed), Make.end(""), .post(Self.sentence(Sentences.keyGone)), .agentFree,
            ])
    }

    @Test("a sentence that is not fixed never goes out without a key")
    func remedyWithoutKey() {
        var turn = Turn(Self.opening(.keyGone(Self.key)))
        _ = turn.begin(at: .zero)
        _ = turn.handOver(at: .zero)
        #expect(
            turn.sendAnswered(.refused(message: "secret"), at: .zero) == [
                Make.end(""), .post(Self.sentence(Sentences.keyGone)), .agentFree,
            ])
    }

    @Test("an empty end that the relay refuses goes once more under the next key, and then not again")
    func emptyEndRefused() {
        var turn = Self.awaiting()
        _ = turn.deadlineHit(at: .at(120))
        #expect(
            turn.reported(.refused(.end, PostRefusal(.idempotencyConflict)), at: .at(121)) == [
                .replace(.end(EndOfTurn(text: "", form: 2)))
            ])
        let refusal = PostRefusal(.invalidRequest, concernsText: true)
        #expect(turn.reported(.refused(.end, refusal), at: .at(121)) == [.skip])
        #expect(turn.reported(.delivered(.message(.line(1)), message: nil), at: .at(122)) == [.closed])
    }

    @Test("what was streamed and is not known any more leaves the whole text to the end")
    func restoredWithoutDeltas() {
        var turn = Self.speaking("One. ")
        turn.resume(after: nil, settings: TurnSettings())
        _ = turn.agentLost(at: .zero)
        _ = turn.agentBack(at: .zero)
        #expect(turn.on(.text(.append("Two."))) == [])
        #expect(turn.on(.finished(RunEnd(text: "One. Two."))).contains(Make.end("One. Two.", .stop)))
    }
}
