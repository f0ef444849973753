import Testing
import Vocabulary

@testable import BridgeCore

@Suite("A turn on its way to the agent")
struct TurnTests {
    @Test("the bubble comes at once, the message when its place in the queue has come")
    func plain() {
        var turn = Turn(Make.opening)
        #expect(turn.begin(at: .zero) == [.post(.open)])
        #expect(turn.nextDeadline == .at(1_740))
        #expect(turn.reported(.delivered(.open, message: MessageID("b1")), at: .zero) == [])
        #expect(
            turn.handOver(at: .zero)
                == [
                    .command(
                        .send(
                            turn: TurnID("int_1"), session: AgentSession("chat"), run: RunID("r1"),
                            message: Make.message))
                ])
        #expect(turn.handOver(at: .zero) == [])
        #expect(turn.sendAnswered(.accepted(run: RunID("r1")), at: .zero) == [])
        #expect(turn.on(.started) == [])
        #expect(turn.on(.text(.append("Hi"))) == [.post(.text("Hi"))])
        #expect(turn.on(.finished(RunEnd(text: "Hi"))) == [Make.end("Hi", .stop), .agentFree])
        #expect(turn.nextDeadline == nil)
        #expect(turn.reported(.delivered(.end, message: nil), at: .zero) == [.closed])
        #expect(turn.outcome == .answered)
        #expect(turn.isClosed)
    }

    @Test("a run that no message began is followed, not sent")
    func mirrored() {
        var opening = Make.opening
        opening.message = nil
        opening.interaction = nil
        var turn = Turn(opening)
        #expect(turn.begin(at: .zero) == [.post(.open)])
        #expect(turn.handOver(at: .zero) == [])
        #expect(turn.on(.text(.append("cron"))) == [.post(.text("cron"))])
    }

    @Test("what is too old for a bubble is answered by a message alone")
    func expired() {
        var opening = Make.opening
        opening.windowEnds = .at(59)
        var turn = Turn(opening)
        #expect(turn.begin(at: .zero) == [.closeWindow, .note(.windowClosed)])
        #expect(turn.handOver(at: .zero).count == 1)
        #expect(turn.on(.text(.append("Hi"))) == [])
        #expect(turn.on(.tool(.started(ToolStart(call: ToolCallID("c1"), name: "exec")))) == [.note(.eventAfterEnd)])
        let usage = Usage(inputTokens: 1, outputTokens: 2)
        #expect(
            turn.on(.finished(RunEnd(text: "Hi there", usage: usage)))
                == [.post(Make.whole(.late, "Hi there", usage: usage)), .agentFree])
        #expect(turn.reported(.delivered(.message(.late), message: nil), at: .zero) == [.closed])
    }

    // MARK: Answers to the message

    @Test("a foreign run id is adopted")
    func foreign() {
        var turn = Make.waiting()
        _ = turn.handOver(at: .zero)
        #expect(turn.sendAnswered(.accepted(run: RunID("r9")), at: .zero) == [.note(.foreignRunAdopted)])
        #expect(turn.on(.text(.append("x")), run: "r9") == [.post(.text("x"))])
        #expect(turn.runs.all == [RunID("r1"), RunID("r9")])
    }

    @Test("a message that leaves again runs under a name of its own")
    func again() {
        var turn = Make.waiting()
        _ = turn.handOver(at: .zero)
        _ = turn.sendAnswered(.accepted(run: RunID("r1")), at: .zero)
        #expect(turn.sendAnswered(.leavesAgain(as: RunID("r2")), at: .zero) == [])
        #expect(turn.sendAnswered(.accepted(run: RunID("r2")), at: .zero) == [])
        #expect(turn.runs.open == [RunID("r2")])
        #expect(!turn.isInRunOfOthers)
        #expect(turn.on(.text(.append("x")), run: "r2") == [.post(.text("x"))])
        guard case .command(.abort(_, let run, _))? = turn.stopRequested(at: .zero).dropFirst().first else {
            Issue.record("not stopped")
            return
        }
        #expect(run == RunID("r2"))
    }

    @Test("what joins an older run ends with a line")
    func joined() {
        var turn = Make.running()
        #expect(turn.joinedOlder(at: .zero) == [Make.end(Sentences.joined), .agentFree])
        #expect(turn.joinedOlder(at: .zero) == [])
    }

    @Test(
        "a message that begins no run ends with a sentence",
        arguments: [
            (SendAnswer.noRun, Sentences.noRun, TurnOutcome.answered),
            (.refused(message: "no key"), Sentences.refused("no key"), .failed),
            (.notSent(sentence: "Make room."), "Make room.", .failed),
        ])
    func refused(answer: SendAnswer, sentence: String, outcome: TurnOutcome) {
        var turn = Make.waiting()
        _ = turn.handOver(at: .zero)
        #expect(turn.sendAnswered(answer, at: .zero) == [Make.end(sentence), .agentFree])
        #expect(turn.outcome == outcome)
    }

    @Test("events that overtake the answer count")
    func early() {
        var turn = Make.waiting()
        _ = turn.handOver(at: .zero)
        #expect(turn.on(.text(.append("Hi"))) == [.post(.text("Hi"))])
        #expect(turn.sendAnswered(.accepted(run: RunID("r1")), at: .zero) == [])
        #expect(turn.on(.text(.append("!"))) == [.post(.text("!"))])
    }

    // MARK: The agent is unreachable

    @Test("a message that was not sent waits two minutes, and is never sent later")
    func neverSent() {
        var turn = Make.waiting()
        #expect(turn.agentLost(at: .at(10)) == [])
        #expect(turn.agentLost(at: .at(100)) == [])
        #expect(turn.nextDeadline == .at(130))
        #expect(turn.deadlineHit(at: .at(130)) == [Make.end(Sentences.agentAway(nil)), .agentFree])
        #expect(turn.outcome == .neverSent)
        #expect(turn.agentBack(at: .at(131)) == [])
        #expect(turn.handOver(at: .at(131)) == [])
    }

    @Test("an agent that is back in time gets the message")
    func backInTime() {
        var turn = Make.waiting()
        _ = turn.agentLost(at: .at(10))
        _ = turn.agentBack(at: .at(100))
        #expect(turn.nextDeadline == .at(1_740))
        #expect(turn.handOver(at: .at(100)).count == 1)
    }

    @Test("a run whose link was lost is looked for after 1 s, then every 3 s, up to 30 s")
    func searched() {
        var turn = Make.speaking("Hello")
        #expect(turn.agentLost(at: .at(10)) == [])
        #expect(turn.nextDeadline == .at(1_740))
        #expect(turn.agentBack(at: .at(300)) == [])
        var looks: [Double] = []
        while turn.outcome == nil, let deadline = turn.nextDeadline {
            if turn.deadlineHit(at: deadline) == [Make.lookUp] { looks.append((deadline - .zero).seconds) }
            #expect(turn.lookedUp(.unknown, at: deadline) == [])
        }
        #expect(looks == [301, 304, 307, 310, 313, 316, 319, 322, 325, 328])
        #expect(turn.outcome == .lost)
    }

    @Test("a lost run ends with what was streamed and a line")
    func lost() {
        var turn = Make.speaking("Hello")
        _ = turn.agentLost(at: .at(10))
        _ = turn.agentBack(at: .at(20))
        for second in 21..<60 { _ = turn.deadlineHit(at: .at(Double(second))) }
        #expect(turn.bubble.sentEnd?.text == "Hello\n\n" + Sentences.agentLost)
    }

    @Test("a run that goes on is followed, and only what is missing is sent")
    func followed() {
        var turn = Make.speaking("Hello")
        _ = turn.agentLost(at: .at(10))
        _ = turn.agentBack(at: .at(20))
        #expect(turn.on(.text(.append(" lost")), at: 20) == [])
        #expect(turn.on(.text(.snapshot("Hello wor")), at: 21) == [.post(.text(" wor"))])
        #expect(turn.on(.text(.append("ld")), at: 22) == [.post(.text("ld"))])
        #expect(turn.deadlineHit(at: .at(60)) == [])
    }

    @Test("what the look-up knows more is sent")
    func lookUpText() {
        var turn = Make.speaking("Hello")
        _ = turn.agentLost(at: .at(10))
        _ = turn.agentBack(at: .at(20))
        #expect(turn.deadlineHit(at: .at(21)) == [Make.lookUp])
        #expect(turn.lookedUp(.running(text: "Hello wor"), at: .at(21)) == [.post(.text(" wor"))])
        #expect(turn.on(.text(.append("ld")), at: 22) == [.post(.text("ld"))])
        #expect(turn.nextDeadline == .at(1_740))
    }

    @Test("a message that its agent has not taken yet is not counted as taken, and is not given up")
    func waits() {
        var turn = Make.waiting()
        _ = turn.handOver(at: .at(1))
        _ = turn.agentLost(at: .at(10))
        _ = turn.agentBack(at: .at(20))
        #expect(turn.deadlineHit(at: .at(21)) == [Make.lookUp])
        #expect(turn.lookedUp(.waits, at: .at(21)) == [])
        #expect(turn.phase == .handedOver)
        #expect(turn.deadlineHit(at: .at(60)) == [])
        #expect(turn.sendAnswered(.accepted(run: turn.opening.run), at: .at(61)) == [])
        #expect(turn.phase == .running)
    }

    @Test("a run that ended meanwhile ends the bubble")
    func endedMeanwhile() {
        var turn = Make.speaking("Hello")
        _ = turn.agentLost(at: .at(10))
        _ = turn.agentBack(at: .at(20))
        _ = turn.deadlineHit(at: .at(21))
        #expect(
            turn.lookedUp(.ended(RunEnd(text: "Hello world")), at: .at(21)) == [
                Make.end("Hello world", .stop), .agentFree,
            ])
    }

    @Test("a run that failed meanwhile ends with the text and a line")
    func failedMeanwhile() {
        var turn = Make.speaking("Hello")
        _ = turn.agentLost(at: .at(10))
        _ = turn.agentBack(at: .at(20))
        let failure = RunFailure(kind: .rateLimit, message: "429")
        #expect(
            turn.lookedUp(.failed(failure), at: .at(21)) == [
                Make.end("Hello\n\n" + Sentences.failed(failure)), .agentFree,
            ])
    }

    @Test("an answer to a look-up that nobody waits for changes nothing")
    func strayLookUp() {
        var turn = Make.speaking("Hello")
        #expect(turn.lookedUp(.ended(RunEnd(text: "other")), at: .zero) == [])
        #expect(turn.lookedUp(.unknown, at: .zero) == [])
    }
}
