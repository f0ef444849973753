import Testing
import Vocabulary

@testable import BridgeCore

/// Times in minutes. The quiet lasts 5, and after 20 the chat has a line.
@Suite("A turn of which nothing is heard")
struct TurnSilenceTests {
    private static let settings: TurnSettings = {
        var settings = TurnSettings()
        settings.quiet = .seconds(300)
        settings.stuck = .seconds(1_200)
        return settings
    }()

    private static func minute(_ minute: Double) -> Instant { .at(minute * 60) }

    /// Lines about the run until then, by minute: "6: the words", "7: over" at the end of its task, "20: stuck".
    private static func said(_ turn: inout Turn, until end: Double) -> [String] {
        var said: [String] = []
        while let due = turn.nextDeadline, due <= minute(end) {
            said += words(turn.deadlineHit(at: due), at: due)
        }
        return said
    }

    private static func words(_ orders: [TurnOrder], at now: Instant) -> [String] {
        let minute = Double((now - .zero).components.seconds) / 60
        let time = minute == minute.rounded() ? "\(Int(minute))" : "\(minute)"
        return orders.compactMap { order in
            switch order {
            case .post(.taskStarted(let start)): "\(time): \(start.label ?? "")"
            case .post(.taskProgress(let progress)): "\(time)… \(progress.label ?? "")"
            case .post(.taskEnded(let end)): "\(time): over \(end.label ?? "")"
            case .post(.text(let text)): "\(time): \(text)"
            case .post(.message(let message)): "\(time): message \(message.text)"
            case .stuck: "\(time): stuck"
            default: nil
            }
        }
    }

    @Test("the state does not say why: one task, with other words each minute, and one line in all")
    func silent() {
        var turn = Make.running(Self.settings)
        let said = Self.said(&turn, until: 22.5)
        #expect(said.first == "5: no sign of life for 5 min")
        #expect(said[1] == "6… no sign of life for 6 min")
        #expect(
            said.filter { $0.hasPrefix("20") } == [
                "20… no sign of life for 20 min", "20: \(Sentences.stillNothing)", "20: stuck",
            ])
        #expect(said.last == "22… no sign of life for 22 min")
        #expect(said.count == 18 + 2)
        // The run speaks again: the task ends, and no line follows.
        let orders = turn.on(.text(.append("Here.")), at: 22.6 * 60)
        #expect(Self.words(orders, at: Self.minute(23)).first == "23: over goes on")
        #expect(Self.said(&turn, until: 27).isEmpty)
        // Silent again: another task, and no second line.
        #expect(Self.said(&turn, until: 28).first?.hasSuffix("no sign of life for 5 min") == true)
        #expect(turn.silence.tasks == 2)
    }

    @Test("a tool says since when it runs, for as long as it does: no alarm and no line")
    func tool() {
        var turn = Make.running(Self.settings)
        _ = turn.on(
            .tool(.started(ToolStart(call: ToolCallID("c1"), name: "bash", title: "npm test"))), at: 60)
        let said = Self.said(&turn, until: 28)
        #expect(said.first == "6: npm test runs for 5 min" && said.last == "28… npm test runs for 27 min")
        #expect(!said.contains { $0.contains("no sign") || $0.contains("Still nothing") })
        _ = turn.on(.tool(.finished(ToolResult(call: ToolCallID("c1"), status: .completed))), at: 28 * 60)
        #expect(!turn.tellsStatus)
    }

    @Test("with a clock a tool has one line, which does not change")
    func clock() {
        var turn = Make.running(Self.settings)
        var settings = Self.settings
        settings.localTime = LocalTime(wallSeconds: 12 * 3_600 + 120, secondsEast: 0, zone: "", at: .zero)
        turn.use(settings)
        _ = turn.on(
            .tool(.started(ToolStart(call: ToolCallID("c1"), name: "bash", title: "npm test"))), at: 60)
        #expect(Self.said(&turn, until: 28) == ["6: npm test runs since 12:03"])
    }

    @Test("an open ask waits for the person, and the answer begins the silence anew")
    func asked() {
        var settings = Self.settings
        settings.asks.whenUnanswered = .hold
        var turn = Make.running(settings)
        _ = turn.on(.approvalRequested(Make.request()))
        _ = turn.cardTaken(ApprovalID("a1"), at: .zero)
        let said = Self.said(&turn, until: 21).filter { !$0.contains("message") }
        #expect(said.contains("5: waits for you"))
        #expect(!said.contains { $0.contains("no sign") || $0.contains("stuck") })
        #expect(Self.words(turn.isHeard(at: Self.minute(21)), at: Self.minute(21)) == ["21: over goes on"])
    }

    @Test("a message waits behind a run, and a lost link is named")
    func waits() {
        var waiting = Make.waiting(Self.settings)
        #expect(Self.said(&waiting, until: 25) == ["5: waits behind a run"])
        var away = Make.running(Self.settings)
        _ = away.agentLost(at: .at(1))
        #expect(Self.said(&away, until: 25) == ["5: the agent’s link is away"])
    }

    @Test("what the agent does aside of text is a sign of life, and a compaction is named")
    func alive() {
        var turn = Make.running(Self.settings)
        for minute in 1...15 {
            #expect(Self.said(&turn, until: Double(minute)).isEmpty)
            #expect(turn.on(.alive(.working), at: Double(minute) * 60) == [])
        }
        #expect(turn.on(.alive(.compacting), at: 900) == [])
        #expect(Self.said(&turn, until: 20) == ["20: the agent sums up the conversation"])
        #expect(Self.words(turn.on(.alive(.working), at: 1_201), at: .at(1_201)).count == 1)
    }

    @Test("an agent that cannot reach its model says so within half a minute, and its tries are no signs of life")
    func triesAgain() {
        var turn = Make.running(Self.settings)
        var said: [String] = []
        for second in stride(from: 60.0, through: 25 * 60, by: 20) {
            said += Self.said(&turn, until: second / 60)
            #expect(turn.on(.alive(.retrying), at: second) == [])
        }
        #expect(said == ["1.5: tries again", "20: \(Sentences.stillNothing)", "20: stuck"])
        let orders = turn.on(.alive(.working), at: 25.5 * 60)
        #expect(Self.words(orders, at: Self.minute(26)) == ["26: over goes on"])
        // The run's next words are its answer, and another silence is no retry.
        _ = turn.on(.text(.append("Here.")), at: 26 * 60)
        #expect(Self.said(&turn, until: 27).isEmpty)
    }

    @Test("tries that begin again say so once a minute at most")
    func triesOften() {
        var turn = Make.running(Self.settings)
        var said: [String] = []
        for second in stride(from: 60.0, through: 240, by: 40) {
            _ = turn.on(.alive(.retrying), at: second)
            said += Self.said(&turn, until: (second + 38) / 60)
            _ = turn.on(.text(.append("Here.")), at: second + 39)
        }
        // At 90, 170 and 250 seconds: at 130 and 210 the minute has not passed.
        #expect(said.count == 3 && said.allSatisfy { $0.hasSuffix(": tries again") }, "\(said)")
    }

    @Test("a model that is reached at the second try is not told of")
    func triesOnce() {
        var turn = Make.running(Self.settings)
        _ = turn.on(.alive(.retrying), at: 60)
        _ = turn.on(.text(.append("Here.")), at: 75)
        #expect(Self.said(&turn, until: 6).isEmpty)
    }

    @Test("with the end, the window and a Stop the task is over before the bubble", arguments: 0...2)
    func ends(way: Int) {
        var turn = Make.running(Self.settings)
        _ = Self.said(&turn, until: 7)
        let orders: [TurnOrder] =
            switch way {
            case 0: turn.on(.finished(RunEnd(text: "Done.")), at: 430)
            case 1: turn.deadlineHit(at: .at(1_740))
            default: turn.stopRequested(at: .at(430)) + turn.deadlineHit(at: .at(433))
            }
        let over = orders.firstIndex { if case .post(.taskEnded) = $0 { true } else { false } }
        let end = orders.firstIndex { if case .post(.end) = $0 { true } else { false } }
        #expect(over != nil && end != nil && over ?? 0 < end ?? 0)
        #expect(orders.count { if case .post(.taskEnded) = $0 { true } else { false } } == 1)
        #expect(!turn.tellsStatus)
        #expect(!Self.said(&turn, until: 60).contains { $0.contains("no sign") })
    }

    @Test("behind the window the line is a message, and there is no task")
    func late() {
        var settings = Self.settings
        settings.stuck = .seconds(40 * 60)
        var turn = Make.running(settings)
        let said = Self.said(&turn, until: 90)
        #expect(said.filter { $0.contains("message") } == ["40: message \(Sentences.stillNothing)"])
        #expect(said.last == "40: stuck")
    }

    @Test("a tool that outlives the bubble is no silence, and the line comes when it is over")
    func toolBehindTheWindow() {
        var turn = Make.running(Self.settings)
        let call = ToolCallID("c1")
        _ = turn.on(.tool(.started(ToolStart(call: call, name: "bash"))), at: 60)
        #expect(!Self.said(&turn, until: 60).contains { $0.contains("nothing") || $0.contains("stuck") })
        _ = turn.on(.tool(.finished(ToolResult(call: call, status: .completed))), at: 3_600)
        #expect(Self.said(&turn, until: 79.9).isEmpty)
        #expect(Self.said(&turn, until: 85).last?.hasSuffix("stuck") == true)
    }

    @Test("off is off", arguments: [true, false])
    func off(isQuiet: Bool) {
        var settings = Self.settings
        if isQuiet { settings.quiet = nil } else { settings.stuck = nil }
        var turn = Make.running(settings)
        let said = Self.said(&turn, until: 25)
        #expect(said.contains { $0.contains("no sign") } == !isQuiet)
        #expect(said.contains("20: stuck") == isQuiet)
    }

    @Test("a task that its bucket held back is tried again a little later, however often: its name was not used")
    func heldBack() throws {
        var turn = Make.running(Self.settings)
        _ = Self.said(&turn, until: 5)
        let first = try #require(turn.silence.told?.task)
        for round in 0..<110 {
            let now = Double(300 + 10 * round)
            #expect(turn.reported(.heldBack(.taskStarted(first)), at: .at(now)) == [])
            #expect(turn.nextDeadline == .at(now + 10))
            let orders = turn.deadlineHit(at: .at(now + 10))
            #expect(Self.words(orders, at: .at(now + 10)).contains { $0.contains("no sign of life") })
            #expect(turn.silence.told?.task == first && turn.silence.tasks == 1)
        }
    }

    @Test("words of a task that its bucket held back are said a little later, though they are the same by then")
    func wordsHeldBack() throws {
        var turn = Make.running(Self.settings)
        _ = turn.on(
            .tool(.started(ToolStart(call: ToolCallID("c1"), name: "bash", title: "npm test"))), at: 60)
        #expect(Self.said(&turn, until: 7).last == "7… npm test runs for 6 min")
        let task = try #require(turn.silence.told?.task)
        #expect(turn.reported(.heldBack(.taskProgress(task)), at: .at(420)) == [])
        #expect(Self.said(&turn, until: 7.5).count == 1)
    }

    @Test("a message beside a run of its session waits behind it, and is never stuck; the next one is")
    func besideRun() {
        var turn = Make.waiting(Self.settings)
        _ = turn.handOver(at: Make.start)
        turn.agent.isBesideRun = true
        let said = Self.said(&turn, until: 24)
        #expect(said == ["5: waits behind a run"])
        turn.agent.isBesideRun = false
        #expect(Self.said(&turn, until: 30).contains { $0.hasSuffix("stuck") })
    }

    @Test("a task that the relay refused is not finished")
    func refused() {
        var turn = Make.running(Self.settings)
        _ = Self.said(&turn, until: 5)
        _ = turn.reported(.dropped(.taskStarted(turn.silence.told?.task ?? TaskID("")), .invalidRequest), at: .at(300))
        let orders = turn.on(.finished(RunEnd(text: "Done.")), at: 310)
        #expect(!orders.contains { if case .post(.taskEnded) = $0 { true } else { false } })
    }

    @Test("in a sealed turn without its key nothing is said")
    func sealed() {
        var opening = Make.opening
        opening.sealing = .keyGone(KeyName("k1"))
        var turn = Turn(opening, settings: Self.settings)
        _ = turn.begin(at: .zero)
        _ = turn.handOver(at: .zero)
        #expect(!Self.said(&turn, until: 25).contains { $0.contains("no sign") || $0.contains("Still") })
    }

    @Test("a run of another client is not one to be stopped here")
    func others() {
        var opening = Make.opening
        opening.message = nil
        var turn = Turn(opening, settings: Self.settings)
        _ = turn.begin(at: .zero)
        _ = turn.on(.started)
        let said = Self.said(&turn, until: 20)
        #expect(said.contains("20: \(Sentences.stillNothingOfOthers)"))
    }
}
