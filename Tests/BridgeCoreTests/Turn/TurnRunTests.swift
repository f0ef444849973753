import Testing
import Vocabulary

@testable import BridgeCore

@Suite("A turn while its run goes on")
struct TurnRunTests {
    private let call = ToolCallID("c1")
    private let started = TurnOrder.post(
        .taskStarted(TaskStart(task: TaskID("c1"), kind: "exec", label: "exec")))

    @Test("snapshots that trim and extend stream each byte once, white space with what follows it")
    func snapshots() {
        var turn = Make.running()
        #expect(turn.on(.text(.snapshot("now.\n\n"))) == [.post(.text("now."))])
        #expect(turn.on(.text(.snapshot("now."))) == [])
        #expect(turn.on(.text(.snapshot("now.\n\nThen"))) == [.post(.text("\n\nThen"))])
        #expect(turn.on(.text(.snapshot("other"))) == [.note(.previewPaused)])
        #expect(turn.on(.text(.snapshot("others"))) == [])
        #expect(turn.on(.finished(RunEnd())) == [Make.end("others", .stop), .agentFree])
    }

    @Test("what was said before a tool is sent before its card, and a new segment after a blank line")
    func segments() {
        var turn = Make.running()
        #expect(turn.on(.text(.append("I look"))) == [.post(.text("I look"))])
        #expect(turn.on(.text(.segmentEnded("I look."))) == [.post(.text("."))])
        #expect(turn.on(.tool(.started(ToolStart(call: call, name: "exec")))) == [started])
        #expect(turn.on(.tool(.finished(ToolResult(call: call, status: .completed)))) == [Make.taskEnded(.completed)])
        #expect(turn.on(.tool(.finished(ToolResult(call: call, channel: .item, status: .failed)))) == [])
        #expect(turn.on(.text(.append("Found"))) == [.post(.text("\n\nFound"))])
        #expect(turn.on(.finished(RunEnd())) == [Make.end("I look.\n\nFound", .stop), .agentFree])
    }

    @Test("a tool that ends without a start is counted")
    func orphan() {
        var turn = Make.running()
        #expect(turn.on(.tool(.finished(ToolResult(call: call, status: .completed)))) == [.note(.toolWithoutStart)])
    }

    @Test("after a retry nothing of the failed attempt is in the end, and its cards are finished")
    func retried() {
        var turn = Make.speaking("failed attempt")
        _ = turn.on(.tool(.started(ToolStart(call: call, name: "exec"))))
        #expect(turn.on(.retrying(reason: "overloaded"), at: 1) == [])
        #expect(turn.nextDeadline == .at(46))
        #expect(turn.on(.started, at: 2) == [Make.taskEnded(.failed)])
        #expect(turn.nextDeadline == .at(1_740))
        #expect(turn.on(.text(.append("second")), at: 3) == [.note(.previewPaused)])
        #expect(turn.on(.finished(RunEnd(text: "second")), at: 4) == [Make.end("second", .stop), .agentFree])
    }

    @Test("a repeated start is no new attempt")
    func startedTwice() {
        var turn = Make.speaking("text")
        #expect(turn.on(.started) == [])
        #expect(turn.on(.text(.append("!"))) == [.post(.text("!"))])
    }

    @Test("an agent that says nothing after a failed attempt is asked")
    func retrySilent() {
        var turn = Make.speaking("text")
        _ = turn.on(.retrying(reason: "overloaded"))
        #expect(turn.deadlineHit(at: .at(45)) == [Make.lookUp])
        let failure = RunFailure(kind: .timeout, message: "slow")
        #expect(
            turn.lookedUp(.failed(failure), at: .at(46)) == [
                Make.end("text\n\n" + Sentences.failed(failure)), .agentFree,
            ])
    }

    @Test("the preview stops at the bubble's limit")
    func limit() {
        var settings = TurnSettings()
        settings.bubbleLimit = 5
        var turn = Make.running(settings)
        #expect(turn.on(.text(.append("12345678"))) == [.post(.text("12345")), .note(.previewLimitReached)])
        #expect(turn.on(.text(.append("9"))) == [])
    }

    // MARK: Empty ends

    @Test("an empty end asks the history first")
    func empty() {
        var turn = Make.running()
        #expect(turn.on(.finished(RunEnd()), at: 1) == [Make.lookUp])
        #expect(
            turn.lookedUp(.ended(RunEnd(text: "from history")), at: .at(2)) == [
                Make.end("from history", .stop), .agentFree,
            ])
    }

    @Test(
        "an end that is empty in the history too has a line",
        arguments: [RunLookup.unknown, .ended(RunEnd())])
    func emptyAfterAll(lookup: RunLookup) {
        var turn = Make.running()
        _ = turn.on(.finished(RunEnd()))
        #expect(turn.lookedUp(lookup, at: .at(2)) == [Make.end(Sentences.emptyAnswer), .agentFree])
    }

    @Test("a history that does not answer is not awaited for long")
    func emptyUnanswered() {
        var turn = Make.running()
        _ = turn.on(.finished(RunEnd()), at: 1)
        #expect(turn.deadlineHit(at: .at(6)) == [Make.end(Sentences.emptyAnswer), .agentFree])
    }

    @Test("a link lost while the history is asked leaves the question for later")
    func emptyAndLost() {
        var turn = Make.running()
        _ = turn.on(.finished(RunEnd()), at: 1)
        _ = turn.agentLost(at: .at(2))
        #expect(turn.deadlineHit(at: .at(60)) == [])
        _ = turn.agentBack(at: .at(70))
        #expect(turn.deadlineHit(at: .at(71)) == [Make.lookUp])
        #expect(
            turn.lookedUp(.ended(RunEnd(text: "Hi")), at: .at(71)) == [Make.end("Hi", .stop), .agentFree])
    }

    @Test("a text with a hole in it asks the history before it counts")
    func hole() {
        var turn = Make.speaking("one ")
        _ = turn.agentLost(at: .at(1))
        _ = turn.agentBack(at: .at(2))
        _ = turn.on(.started, at: 2)
        #expect(turn.on(.text(.append("three")), at: 3) == [])
        #expect(turn.on(.finished(RunEnd()), at: 4) == [Make.lookUp])
        #expect(
            turn.lookedUp(.ended(RunEnd(text: "one two three")), at: .at(5)) == [
                Make.end("one two three", .stop), .agentFree,
            ])
    }

    @Test("after a restart, white space that was not streamed yet is the history's")
    func holeAfterSpace() {
        var turn = Make.running()
        _ = turn.on(.text(.segment("One ")))
        turn.resume(after: "One", settings: TurnSettings())
        _ = turn.on(.text(.segment("Two")))
        let rows = ["One ", "Two"].map { RunEnd.Row($0, beginsParagraph: true) }
        #expect(turn.on(.finished(RunEnd(rows: rows))).contains(Make.end("One \n\nTwo", .stop)))
    }

    @Test("a run that fails behind two restarts in a row ends with what was streamed")
    func twoRestarts() {
        var turn = Make.running()
        _ = turn.on(.text(.snapshot("One two")))
        turn.resume(after: "One two", settings: TurnSettings())
        turn.resume(after: "One two", settings: TurnSettings())
        let orders = turn.on(.failed(RunFailure(kind: .rateLimit, message: "too many")))
        let said = orders.compactMap { order in
            if case .post(.end(let end)) = order { end.text } else { nil }
        }
        #expect(said.count == 1 && said[0].hasPrefix("One two\n\n"))
    }

    @Test("what comes after the end is counted and changes nothing")
    func afterEnd() {
        var turn = Make.speaking("Hi")
        _ = turn.on(.finished(RunEnd(text: "Hi")))
        for event in [
            RunEvent.started, .text(.append("more")), .finished(RunEnd(text: "other")),
            .failed(RunFailure(message: "x")), .tool(.started(ToolStart(call: call, name: "exec"))),
            .approvalRequested(Make.request()),
        ] {
            #expect(turn.on(event) == [.note(.eventAfterEnd)])
        }
    }
}
