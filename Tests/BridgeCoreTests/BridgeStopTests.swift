import Testing
import Vocabulary

@testable import BridgeCore

@Suite("Commands that wait for the disk, and what a stop owes")
struct BridgeStopTests {
    private static let message = UserMessage(
        id: MessageID("m1"), session: SessionID("ses_1"), interaction: InteractionID("int_1"), text: "hello")
    private static let opening = TurnOpening(
        id: TurnID("int_1"), session: SessionID("ses_1"), interaction: InteractionID("int_1"),
        agentSession: AgentSession("chat"), run: RunID("r1"), message: message, receivedAt: .zero,
        windowEnds: .zero + .seconds(1_800))
    private static let send = AgentCommand.send(
        turn: TurnID("int_1"), session: AgentSession("chat"), run: RunID("r1"), message: message)
    private static let abort = AgentCommand.abort(session: AgentSession("chat"), run: RunID("r1"))
    private static let owed = Obligation.abort(session: AgentSession("chat"), run: RunID("r1"))
    private static func resolve(_ decision: ApprovalDecision) -> AgentCommand {
        .resolve(
            approval: ApprovalID("a1"), subject: .exec, decision: decision,
            shown: decision == .deny ? nil : AskFingerprint(of: request))
    }
    private static let request = ApprovalRequest(id: ApprovalID("a1"), subject: .exec, title: "Run", command: "ls")

    /// Commands and obligations that a test compares.
    private struct Heard: Equatable {
        var commands: [AgentCommand] = []
        var owed: [Obligation] = []
        var fulfilled: [Obligation] = []
    }

    private var numbers: [CommandNumber] = []

    private mutating func hear(_ bridge: inout Bridge) -> Heard {
        var heard = Heard()
        for order in bridge.takeOrders() {
            switch order {
            case .command(let command): heard.commands.append(command)
            case .commandToKeep(let number, _): numbers.append(number)
            case .owe(let obligation, _): heard.owed.append(obligation)
            case .fulfilled(let obligation): heard.fulfilled.append(obligation)
            default: break
            }
        }
        return heard
    }

    /// The message waits for its record, as `numbers.last`.
    private mutating func begun() -> Bridge {
        var bridge = Bridge(isJournaled: true)
        bridge.turnBegins(Self.opening, at: .zero)
        _ = hear(&bridge)
        return bridge
    }

    private mutating func running() -> Bridge {
        var bridge = begun()
        bridge.commandKept(numbers[0], at: .zero)
        bridge.sendAnswered(.accepted(run: RunID("r1")), run: RunID("r1"), at: .zero)
        _ = hear(&bridge)
        return bridge
    }

    private mutating func asking() -> Bridge {
        var bridge = running()
        bridge.agentSays(
            RunSignal(
                run: RunID("r1"), session: nil,
                event: .approvalRequested(
                    ApprovalRequest(id: ApprovalID("a1"), subject: .exec, title: "Run", command: "ls"))), at: .zero)
        _ = hear(&bridge)
        return bridge
    }

    private func stop(_ bridge: inout Bridge, at now: Instant = .zero + .seconds(1)) {
        bridge.stopped(session: SessionID("ses_1"), interaction: InteractionID("int_1"), at: now)
    }

    @Test("a message leaves when its record is written")
    mutating func leaves() {
        var bridge = begun()
        #expect(numbers.count == 1)
        bridge.commandKept(numbers[0], at: .zero)
        #expect(hear(&bridge) == Heard(commands: [Self.send]))
        bridge.commandKept(numbers[0], at: .zero)
        #expect(hear(&bridge) == Heard())
    }

    @Test("a stop takes back a message whose record is not written yet, and nothing is owed")
    mutating func takenBack() {
        var bridge = begun()
        stop(&bridge)
        #expect(hear(&bridge) == Heard())
        #expect(bridge.turn(TurnID("int_1"))?.outcome == .aborted)
        bridge.commandKept(numbers[0], at: .at(2))
        #expect(hear(&bridge) == Heard())
    }

    @Test("a message whose record could not be written ends its turn with the reason")
    mutating func notWritten() {
        var bridge = begun()
        bridge.commandNotKept(numbers[0], sentence: "The disk is full.", at: .zero)
        #expect(hear(&bridge) == Heard())
        #expect(bridge.turn(TurnID("int_1"))?.outcome == .failed)
    }

    @Test("a stop is said at once, and owed until the agent has answered it")
    mutating func owes() {
        var bridge = running()
        stop(&bridge)
        #expect(hear(&bridge) == Heard(commands: [Self.abort], owed: [Self.owed]))
        bridge.agentLost(at: .at(2))
        bridge.agentBack(at: .at(9))
        #expect(hear(&bridge) == Heard(commands: [Self.abort]))
        bridge.abortAnswered(RunID("r1"), at: .at(10))
        bridge.abortAnswered(RunID("r1"), at: .at(11))
        #expect(hear(&bridge) == Heard(fulfilled: [Self.owed]))
        bridge.agentBack(at: .at(12))
        #expect(hear(&bridge).commands.contains(Self.abort) == false)
    }

    @Test("the end of the run is an answer, too", arguments: [true, false])
    mutating func runEnds(_ isLookedUp: Bool) {
        var bridge = running()
        stop(&bridge)
        _ = hear(&bridge)
        if isLookedUp {
            bridge.lookedUp(.unknown, of: RunID("r1"), at: .at(2))
            #expect(hear(&bridge).fulfilled == [])
            bridge.lookedUp(.ended(RunEnd(text: "x")), of: RunID("r1"), at: .at(2))
        } else {
            let end = RunEvent.finished(RunEnd(text: "x", reason: .aborted))
            bridge.agentSays(RunSignal(run: RunID("r1"), session: nil, event: end), at: .at(2))
        }
        #expect(hear(&bridge).fulfilled == [Self.owed])
    }

    @Test("an obligation that could not be written is written with the next chance")
    mutating func writtenLater() {
        var bridge = running()
        stop(&bridge)
        _ = hear(&bridge)
        bridge.wasNotKept(Self.owed)
        bridge.timePassed(at: .at(2))
        #expect(hear(&bridge).owed == [Self.owed])
    }

    @Test("what an earlier process owed is said when the agent is there, for 24 hours")
    mutating func restored() {
        var bridge = Bridge(agentPresent: false, isJournaled: true)
        bridge.restore(Self.owed, since: .zero)
        #expect(bridge.nextWake == .zero + .seconds(86_400))
        bridge.agentBack(at: .at(86_399))
        #expect(hear(&bridge) == Heard(commands: [Self.abort]))
        bridge.timePassed(at: .at(86_400))
        #expect(hear(&bridge) == Heard(fulfilled: [Self.owed]))
        bridge.agentBack(at: .at(86_401))
        #expect(hear(&bridge) == Heard())
    }

    @Test("what a run asks that an earlier process's stop reaches is refused, and not shown for the next message")
    mutating func asksBehindStop() {
        var bridge = Bridge(agentPresent: false, isJournaled: true)
        bridge.restore(Self.owed, since: .zero)
        var next = Self.opening
        (next.id, next.interaction, next.run) = (TurnID("int_2"), InteractionID("int_2"), RunID("r2"))
        bridge.turnBegins(next, at: .at(1))
        bridge.agentBack(at: .at(2))
        #expect(hear(&bridge).commands.first == Self.abort)
        let asks = RunSignal(run: nil, session: AgentSession("chat"), event: .approvalRequested(Self.request))
        let isHeard = bridge.agentSays(asks, at: .at(2))
        #expect(isHeard)
        #expect(hear(&bridge).commands == [Self.resolve(.deny)])
        #expect(bridge.turn(TurnID("int_2"))?.approvals.isEmpty == true)
    }

    @Test("what the next run asks itself is its own")
    mutating func asksItself() {
        var bridge = running()
        bridge.restore(.abort(session: AgentSession("chat"), run: RunID("r0")), since: .zero)
        let asks = RunSignal(run: nil, session: AgentSession("chat"), event: .approvalRequested(Self.request))
        let isHeard = bridge.agentSays(asks, at: .at(2))
        #expect(isHeard)
        #expect(hear(&bridge).commands.isEmpty)
    }

    @Test("what an earlier process owed is said once, however old a wall clock makes it")
    mutating func restoredLate() {
        var bridge = Bridge(agentPresent: false, isJournaled: true)
        bridge.restore(Self.owed, since: .zero)
        bridge.timePassed(at: .at(172_800))
        #expect(hear(&bridge) == Heard())
        #expect(bridge.nextWake == nil, "it waits for the agent")
        bridge.agentBack(at: .at(172_801))
        #expect(hear(&bridge) == Heard(commands: [Self.abort], fulfilled: [Self.owed]))
        bridge.agentBack(at: .at(172_802))
        #expect(hear(&bridge) == Heard())
    }

    @Test("a run of another name takes the obligation over, also when its turn is closed")
    mutating func foreignRun() {
        var bridge = Bridge(isJournaled: true)
        bridge.restore(Self.owed, since: .zero)
        bridge.sendAnswered(.accepted(run: RunID("theirs")), run: RunID("r1"), at: .at(1))
        let theirs = Obligation.abort(session: AgentSession("chat"), run: RunID("theirs"))
        #expect(hear(&bridge) == Heard(commands: [theirs.command], owed: [theirs], fulfilled: [Self.owed]))
    }

    @Test("a stop of a message that went into the run of an older turn leaves that run alone")
    mutating func joinedRun() {
        var bridge = running()
        let late = Obligation.abort(session: AgentSession("chat"), run: RunID("r2"))
        bridge.restore(late, since: .zero)
        _ = hear(&bridge)
        bridge.sendAnswered(.accepted(run: RunID("r1")), run: RunID("r2"), at: .at(1))
        #expect(hear(&bridge) == Heard(fulfilled: [late]))
    }

    @Test("a message that never became a run owes nothing", arguments: [SendAnswer.noRun, .refused(message: "no")])
    mutating func neverRan(_ answer: SendAnswer) {
        var bridge = begun()
        bridge.commandKept(numbers[0], at: .zero)
        stop(&bridge)
        _ = hear(&bridge)
        bridge.sendAnswered(answer, run: RunID("r1"), at: .at(2))
        #expect(hear(&bridge).fulfilled == [Self.owed])
    }

    @Test("a yes whose record waits is taken back by a stop, and a no takes its place at once")
    mutating func yesTakenBack() {
        var bridge = asking()
        bridge.decided(ApprovalID("a1"), .approve, reason: nil, at: .at(1))
        #expect(hear(&bridge) == Heard())
        stop(&bridge, at: .at(2))
        let denial = Obligation.deny(ApprovalID("a1"), .exec)
        #expect(hear(&bridge) == Heard(commands: [Self.abort, Self.resolve(.deny)], owed: [Self.owed, denial]))
        bridge.commandKept(numbers[1], at: .at(3))
        #expect(hear(&bridge) == Heard())
        let settled = RunEvent.approvalSettled(ApprovalSettlement(id: ApprovalID("a1"), outcome: .decided(.deny)))
        bridge.agentSays(RunSignal(run: nil, session: nil, event: settled), at: .at(4))
        #expect(hear(&bridge).fulfilled == [denial])
    }

    @Test("a yes that has left and is not confirmed is denied by a stop")
    mutating func yesInFlight() {
        var bridge = asking()
        bridge.decided(ApprovalID("a1"), .approve, reason: nil, at: .at(1))
        _ = hear(&bridge)
        bridge.commandKept(numbers[1], at: .at(1))
        #expect(hear(&bridge) == Heard(commands: [Self.resolve(.approve)]))
        stop(&bridge, at: .at(2))
        #expect(hear(&bridge).commands == [Self.abort, Self.resolve(.deny)])
    }

    @Test("a person's no leaves although its turn is over by then")
    mutating func lateNo() {
        var bridge = asking()
        bridge.decided(ApprovalID("a1"), .deny, reason: nil, at: .at(1))
        _ = hear(&bridge)
        bridge.agentSays(
            RunSignal(run: RunID("r1"), session: nil, event: .finished(RunEnd(text: "Done."))), at: .at(2))
        _ = hear(&bridge)
        bridge.commandKept(numbers[1], at: .at(3))
        #expect(hear(&bridge) == Heard(commands: [Self.resolve(.deny)]))
    }

    @Test("a stop that names a message by its own name is remembered until that message begins")
    mutating func named() {
        var bridge = Bridge(isJournaled: true)
        let name = InteractionID(StableHash.text(of: "m1"))
        bridge.stopped(session: SessionID("ses_1"), interaction: name, at: .zero)
        bridge.turnBegins(Self.opening, at: .at(1))
        #expect(hear(&bridge) == Heard())
        #expect(numbers.isEmpty)
        #expect(bridge.turn(TurnID("int_1"))?.outcome == .aborted)
    }

    private static func second(madeAt milliseconds: Int64) -> TurnOpening {
        var opening = second
        opening.made = RelayMoment(wallMilliseconds: milliseconds, instant: .zero)
        return opening
    }

    @Test(
        "a Stop of the whole chat that comes again does not stop what was written after it",
        arguments: [true, false])
    func again(isArchived: Bool) {
        var bridge = Bridge(isJournaled: true)
        let pressed = RelayMoment(wallMilliseconds: 10_000, instant: .zero)
        bridge.turnBegins(Self.opening, at: .zero)
        func stop(_ bridge: inout Bridge) {
            guard isArchived else {
                return bridge.stopped(session: SessionID("ses_1"), interaction: nil, made: pressed, at: .at(1))
            }
            bridge.ended(session: SessionID("ses_1"), isDeleted: false, made: pressed, at: .at(1))
        }
        stop(&bridge)
        #expect(bridge.turn(TurnID("int_1"))?.outcome != nil)
        bridge.turnBegins(Self.second(madeAt: 12_000), at: .at(2))
        stop(&bridge)
        #expect(bridge.turn(TurnID("int_2"))?.outcome == nil)
        bridge.stopped(session: SessionID("ses_1"), interaction: InteractionID("int_2"), made: pressed, at: .at(3))
        // A Stop that names the message is for it, whatever the clocks say.
        #expect(bridge.turn(TurnID("int_2"))?.outcome != nil)
    }

    @Test(
        "a Stop of the whole chat stops what was written before, and what does not say when",
        arguments: [0, 9_000, 10_900])
    func before(madeAt: Int64) {
        var bridge = Bridge(isJournaled: true)
        bridge.turnBegins(madeAt == 0 ? Self.second : Self.second(madeAt: madeAt), at: .zero)
        bridge.stopped(
            session: SessionID("ses_1"), interaction: nil,
            made: RelayMoment(wallMilliseconds: 10_000, instant: .zero), at: .at(1))
        #expect(bridge.turn(TurnID("int_2"))?.outcome != nil)
    }

    @Test("a Stop that names its interaction needs no session")
    func withoutSession() {
        var bridge = Bridge(isJournaled: true)
        bridge.turnBegins(Self.second, at: .zero)
        bridge.stopped(session: nil, interaction: InteractionID("int_1"), at: .at(1))
        #expect(bridge.turn(TurnID("int_2"))?.outcome == nil)
        bridge.stopped(session: nil, interaction: InteractionID("int_2"), at: .at(1))
        #expect(bridge.turn(TurnID("int_2"))?.outcome != nil)
        bridge.turnBegins(Self.opening, at: .at(2))
        #expect(bridge.turn(TurnID("int_1"))?.outcome != nil, "it was remembered")
    }

    @Test("there are only so many obligations, and each has its name")
    func limit() {
        var obligations = Obligations()
        for number in 0..<2 * Obligations.limit {
            obligations.add(.abort(session: AgentSession("s"), run: RunID("r\(number)")), since: .zero)
        }
        #expect(obligations.all.count == Obligations.limit)
        #expect(obligations.takeUnwritten().count == Obligations.limit)
        #expect(!obligations.hasUnwritten)
        #expect(obligations.fulfil("abort:r1") == .abort(session: AgentSession("s"), run: RunID("r1")))
        #expect(obligations.fulfil("abort:r1") == nil)
        #expect(obligations.takeExpired(at: .at(86_400)).count == Obligations.limit - 1)
        #expect(obligations.isEmpty)
        #expect(obligations.nextExpiry == nil)
    }

    private static let second = TurnOpening(
        id: TurnID("int_2"), session: SessionID("ses_1"), interaction: InteractionID("int_2"),
        agentSession: AgentSession("chat"), run: RunID("r2"), message: message, receivedAt: .zero,
        windowEnds: .zero + .seconds(1_800))

    @Test("a question that a stop refuses is not asked again by the turn that follows")
    mutating func refusedQuestion() {
        var bridge = asking()
        bridge.agentLost(at: .zero)
        stop(&bridge)
        bridge.timePassed(at: .at(5))
        bridge.turnBegins(Self.second, at: .at(6))
        bridge.agentBack(at: .at(7))
        // The list of an early gateway first reports that the run waits for the approval.
        let paused = PausedCall(call: nil, approval: ApprovalID("a1"))
        bridge.agentSays(RunSignal(run: nil, session: AgentSession("chat"), event: .paused(paused)), at: .at(7))
        let isExpected = bridge.turn(TurnID("int_2"))?.expects(RunID("exec-approval-followup:a1"))
        #expect(isExpected == false)
        let request = RunSignal(
            run: nil, session: AgentSession("chat"),
            event: .approvalRequested(ApprovalRequest(id: ApprovalID("a1"), subject: .exec, title: "Run")))
        let isTaken = bridge.agentSays(request, at: .at(7))
        #expect(isTaken)
        let isAsked = bridge.turn(TurnID("int_2"))?.knows(ApprovalID("a1"))
        #expect(isAsked == false)
        let settled = ApprovalSettlement(id: ApprovalID("a1"), outcome: .decided(.deny))
        bridge.agentSays(RunSignal(run: nil, session: nil, event: .approvalSettled(settled)), at: .at(7))
        #expect(hear(&bridge).fulfilled == [.deny(ApprovalID("a1"), .exec)])
        let lines = bridge.turn(TurnID("int_2"))?.bubble.closingLines
        #expect(lines == [])
    }

    @Test("into a chat that was deleted before its message came nothing is written", arguments: [true, false])
    func chatEnded(_ isDeleted: Bool) {
        var bridge = Bridge(isJournaled: true)
        let names = [InteractionID("int_1")]
        bridge.ended(session: SessionID("ses_1"), isDeleted: isDeleted, coming: names, at: .zero)
        // The end of the chat follows its deletion.
        bridge.ended(session: SessionID("ses_1"), isDeleted: false, coming: names, at: .zero)
        bridge.turnBegins(Self.opening, at: .zero)
        let attempts = bridge.takeOrders().filter { if case .attempt = $0 { true } else { false } }
        #expect(attempts.isEmpty == isDeleted)
        let open = bridge.openTurns
        #expect(open == (isDeleted ? 0 : 1))
    }

    @Test("a Stop that overtook its message stops no later one of the interaction")
    func notLater() {
        func moment(_ seconds: Int64) -> RelayMoment {
            RelayMoment(wallMilliseconds: seconds * 1_000, instant: .at(Double(seconds)))
        }
        var bridge = Bridge(isJournaled: true)
        bridge.stopped(
            session: SessionID("ses_1"), interaction: InteractionID("int_1"), made: moment(10), at: .at(10))
        var later = Self.opening
        later.made = moment(60)
        bridge.turnBegins(later, at: .at(60))
        let isStopping = bridge.turn(later.id)?.agent.isStopping
        #expect(isStopping == false)
        var own = Self.opening
        own = TurnOpening(
            id: TurnID("own"), session: own.session, interaction: own.interaction, agentSession: AgentSession("other"),
            run: RunID("r2"), message: own.message, receivedAt: .at(61), windowEnds: .at(1_800), made: moment(9))
        bridge.turnBegins(own, at: .at(61))
        let isStopped = bridge.turn(TurnID("own"))?.outcome != nil || bridge.turn(TurnID("own")) == nil
        #expect(isStopped)
    }
}
