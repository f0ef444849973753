import Testing
import Vocabulary

@testable import BridgeCore

@Suite("Whose runs a stop ends, where the agent names another run as the answer")
struct StopReachTests {
    private static let theirs = Obligation.abort(session: AgentSession("chat"), run: RunID("theirs"))

    private static func owed(_ reach: StopReach) -> Obligation {
        .abort(session: AgentSession("chat"), run: RunID("r1"), reach: reach)
    }

    private struct Heard: Equatable {
        var commands: [AgentCommand] = []
        var owed: [Obligation] = []
        var fulfilled: [Obligation] = []
    }

    private static func hear(_ bridge: inout Bridge) -> Heard {
        var heard = Heard()
        for order in bridge.takeOrders() {
            switch order {
            case .command(let command): heard.commands.append(command)
            case .owe(let obligation, _): heard.owed.append(obligation)
            case .fulfilled(let obligation): heard.fulfilled.append(obligation)
            default: break
            }
        }
        return heard
    }

    /// The message has left, and the agent has not answered.
    private static func sent() -> Bridge {
        var bridge = Bridge(isJournaled: true)
        bridge.turnBegins(Make.opening, at: .zero)
        for order in bridge.takeOrders() {
            if case .commandToKeep(let number, _) = order { bridge.commandKept(number, at: .zero) }
        }
        _ = bridge.takeOrders()
        return bridge
    }

    private static func stop(_ bridge: inout Bridge, _ reach: StopReach, at seconds: Double) {
        let opening = Make.opening
        bridge.stopped(session: opening.session, interaction: opening.interaction, reach: reach, at: .at(seconds))
    }

    private static func answer(_ bridge: inout Bridge, _ answer: SendAnswer) -> Heard {
        bridge.sendAnswered(answer, run: RunID("r1"), at: .at(9))
        return hear(&bridge)
    }

    @Test("a stop that no person pressed does not follow the message into a run of another client")
    func ownRuns() {
        var bridge = Self.sent()
        Self.stop(&bridge, .ownRuns, at: 1)
        let owed = Self.owed(.ownRuns)
        #expect(Self.hear(&bridge) == Heard(commands: [owed.command], owed: [owed]))
        #expect(Self.answer(&bridge, .accepted(run: RunID("theirs"))) == Heard(fulfilled: [owed]))
        Self.stop(&bridge, .everyRun, at: 10)
        #expect(Self.hear(&bridge).commands.contains(Self.theirs.command), "a person may still end it")
    }

    @Test("a person's Stop follows it")
    func everyRun() {
        var bridge = Self.sent()
        Self.stop(&bridge, .everyRun, at: 1)
        _ = Self.hear(&bridge)
        let heard = Self.answer(&bridge, .accepted(run: RunID("theirs")))
        #expect(heard.fulfilled == [Self.owed(.everyRun)])
        #expect(heard.owed == [Self.theirs])
        #expect(Set(heard.commands) == [Self.theirs.command])
    }

    @Test("a person's Stop behind another takes its place")
    func both() {
        var bridge = Self.sent()
        Self.stop(&bridge, .ownRuns, at: 1)
        _ = Self.hear(&bridge)
        Self.stop(&bridge, .everyRun, at: 2)
        let owed = Self.owed(.everyRun)
        #expect(Self.hear(&bridge) == Heard(commands: [owed.command], owed: [owed]))
        #expect(Self.answer(&bridge, .accepted(run: RunID("theirs"))).owed == [Self.theirs])
    }

    @Test(
        "the end of a chat, of an installation or of the bridge does not follow it either",
        arguments: ["chat", "archive", "installation", "bridge"])
    func turnIsOver(what: String) {
        var bridge = Self.sent()
        switch what {
        case "chat": bridge.ended(session: Make.opening.session, isDeleted: true, at: .at(1))
        case "archive": bridge.ended(session: Make.opening.session, isDeleted: false, at: .at(1))
        case "installation": bridge.installationRevoked(at: .at(1))
        default: bridge.closeAll(at: .at(1))
        }
        let owed = Self.owed(.ownRuns)
        #expect(Self.hear(&bridge).owed == [owed])
        #expect(Self.answer(&bridge, .accepted(run: RunID("theirs"))) == Heard(fulfilled: [owed]))
    }

    @Test("the same message under another key is a run of ours")
    func leavesAgain() {
        var bridge = Self.sent()
        bridge.ended(session: Make.opening.session, isDeleted: true, at: .at(1))
        _ = Self.hear(&bridge)
        let again = Obligation.abort(session: AgentSession("chat"), run: RunID("r1.again"), reach: .ownRuns)
        #expect(
            Self.answer(&bridge, .leavesAgain(as: RunID("r1.again")))
                == Heard(commands: [again.command], owed: [again], fulfilled: [Self.owed(.ownRuns)]))
    }

    @Test("a Stop that overtook its message keeps its reach")
    func remembered() {
        var stops = RememberedStops()
        let opening = Make.opening
        stops.add(InteractionID("int_1"), .pressed(.ownRuns), at: .zero, memory: .seconds(60))
        #expect(stops.take(of: opening) == .pressed(.ownRuns))
    }

    @Test("a person's Stop is not forgotten for a reason of the relay's behind it")
    func rememberedBoth() {
        var stops = RememberedStops()
        stops.add(InteractionID("int_1"), .pressed(.everyRun), at: .zero, memory: .seconds(60))
        stops.add(InteractionID("int_1"), .pressed(.ownRuns), at: .zero, memory: .seconds(60))
        #expect(stops.take(of: Make.opening) == .pressed(.everyRun))
    }

    @Test("a Stop that is remembered already is widened, however many others are remembered")
    func rememberedFull() {
        var stops = RememberedStops()
        stops.add(InteractionID("int_1"), .pressed(.ownRuns), at: .zero, memory: .seconds(60))
        for number in 0..<RememberedStops.limit {
            stops.add(InteractionID("other\(number)"), .pressed(.ownRuns), at: .zero, memory: .seconds(60))
        }
        stops.add(InteractionID("int_1"), .chatDeleted, at: .zero, memory: .seconds(60))
        #expect(stops.take(of: Make.opening) == .chatDeleted)
    }

    @Test(
        "a Stop of the interaction leaves its second message alone, which was written later", arguments: [true, false])
    func secondMessage(isLater: Bool) {
        var bridge = Self.sent()
        let pressed = RelayMoment(wallMilliseconds: 10_000, instant: .at(10))
        var second = TurnOpening(
            id: TurnID("own"), session: Make.opening.session, interaction: Make.opening.interaction,
            agentSession: AgentSession("other"), run: RunID("r2"), message: Make.message, receivedAt: .at(12),
            windowEnds: .at(12))
        second.made = RelayMoment(wallMilliseconds: isLater ? 12_000 : 9_000, instant: .at(12))
        bridge.turnBegins(second, at: .at(12))
        let opening = Make.opening
        bridge.stopped(session: opening.session, interaction: opening.interaction, made: pressed, at: .at(13))
        let isOpen = bridge.turn(TurnID("own"))?.outcome == nil && bridge.turn(TurnID("own")) != nil
        #expect(isOpen == isLater)
        let first = bridge.turn(TurnID("int_1"))?.agent.isStopping
        #expect(first == true)
        bridge.stopped(session: nil, interaction: InteractionID("own"), made: pressed, at: .at(14))
        let isStopped = bridge.turn(TurnID("own"))?.outcome != nil || bridge.turn(TurnID("own")) == nil
        #expect(isStopped, "by its own name it is for that message, whatever the clocks say")
    }

    @Test(
        "a Stop of the whole chat that does not say when it was pressed stops nothing that came after it was heard first"
    )
    func heardAgain() {
        var bridge = Self.sent()
        func stop(_ bridge: inout Bridge, heard: Double) {
            bridge.stopped(session: Make.opening.session, interaction: nil, heard: .at(heard), at: .at(heard + 20))
        }
        stop(&bridge, heard: 1)
        let second = TurnOpening(
            id: TurnID("int_2"), session: Make.opening.session, interaction: InteractionID("int_2"),
            agentSession: AgentSession("other"), run: RunID("r2"), message: Make.message, receivedAt: .at(10),
            windowEnds: .at(1_800))
        bridge.turnBegins(second, at: .at(10))
        stop(&bridge, heard: 1)
        let isSpared = bridge.turn(TurnID("int_2"))?.agent.isStopping == false
        #expect(isSpared)
        stop(&bridge, heard: 30)
        let isStopped =
            bridge.turn(TurnID("int_2"))?.outcome != nil || bridge.turn(TurnID("int_2")) == nil
            || bridge.turn(TurnID("int_2"))?.agent.isStopping == true
        #expect(isStopped)
    }

    @Test("the next process owes no stop of a run that the stop did not reach")
    func restored() throws {
        var bridge = Self.sent()
        Self.stop(&bridge, .ownRuns, at: 1)
        bridge.sendAnswered(.accepted(run: RunID("theirs")), run: RunID("r1"), at: .at(2))
        let turn = bridge.turn(TurnID("int_1"))
        let aborts = try #require(turn).abortRuns(.ownRuns)
        #expect(aborts == [.command(Self.owed(.ownRuns).command)])
    }
}
