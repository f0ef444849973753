import Testing
import Vocabulary

@testable import BridgeCore

@Suite("Tools that are ended from outside, and installations that go")
struct BridgeEndsTests {
    private static let abort = AgentCommand.abort(session: AgentSession("chat"), run: RunID("r1"))
    /// No person pressed Stop.
    private static let leave = AgentCommand.abort(session: AgentSession("chat"), run: RunID("r1"), reach: .ownRuns)

    /// One tool is open, after some text.
    private static func bridge(mirrored: Bool = false) -> Bridge {
        var bridge = Bridge()
        var opening = Make.opening
        if mirrored { opening.message = nil }
        bridge.turnBegins(opening, at: .zero)
        bridge.agentSays(signal(.started), at: .zero)
        bridge.agentSays(signal(.text(.append("Let me look."))), at: .zero)
        bridge.agentSays(signal(.tool(.started(ToolStart(call: ToolCallID("c1"), name: "exec")))), at: .zero)
        _ = bridge.takeOrders()
        return bridge
    }

    private static func signal(_ event: RunEvent) -> RunSignal {
        RunSignal(run: RunID("r1"), session: nil, event: event)
    }

    private static func commands(_ bridge: inout Bridge) -> [AgentCommand] {
        bridge.takeOrders().compactMap { if case .command(let command) = $0 { command } else { nil } }
    }

    @Test("a reason of the relay's own ends no run of another client, and a person's Stop does")
    func reach() {
        var bridge = Self.bridge(mirrored: true)
        bridge.stopped(session: Make.opening.session, interaction: nil, reach: .ownRuns, at: .at(1))
        #expect(Self.commands(&bridge) == [])
        bridge.stopped(session: Make.opening.session, interaction: nil, reach: .everyRun, at: .at(2))
        #expect(Self.commands(&bridge) == [Self.abort])
        var own = Self.bridge()
        own.stopped(session: Make.opening.session, interaction: nil, reach: .ownRuns, at: .at(1))
        #expect(Self.commands(&own) == [Self.leave])
    }

    @Test(
        "a Stop that is delivered again spares a run of another client that began after it", arguments: [true, false])
    func repeatedStop(saysWhen: Bool) {
        var bridge = Bridge()
        var opening = Make.opening
        (opening.message, opening.receivedAt) = (nil, .at(100))
        bridge.turnBegins(opening, at: .at(100))
        bridge.agentSays(Self.signal(.started), at: .at(100))
        _ = bridge.takeOrders()
        let made = saysWhen ? RelayMoment(wallMilliseconds: 50_000, instant: .at(50)) : nil
        bridge.stopped(session: opening.session, interaction: nil, made: made, heard: .at(50), at: .at(101))
        #expect(Self.commands(&bridge) == [])
        bridge.stopped(session: opening.session, interaction: nil, heard: .at(102), at: .at(102))
        #expect(Self.commands(&bridge) == [Self.abort])
    }

    @Test(
        "a tool that is cancelled stops its run, and the bubble says why",
        arguments: ["user_cancelled", "deadline_exceeded"])
    func tool(reason: String) throws {
        var bridge = Self.bridge()
        bridge.taskStopped(TaskID("c1"), reason: reason, at: .at(1))
        #expect(Self.commands(&bridge) == [Self.leave])
        let turn = bridge.turn(TurnID("int_1"))
        #expect(turn?.hasOpen(TaskID("c1")) == false)
        bridge.agentSays(Self.signal(.finished(RunEnd(text: "Let me look.", reason: .aborted))), at: .at(2))
        let sent = bridge.turn(TurnID("int_1"))?.bubble.sentEnd
        let end = try #require(sent)
        #expect(end.text.hasPrefix("Let me look."))
        #expect(
            end.text.contains(reason == "user_cancelled" ? "cancelled on the phone" : "longer than the relay allows"))
        #expect(end.finishReason == nil)
    }

    @Test("a card that is over, or is none of ours, changes nothing")
    func unknown() {
        var bridge = Self.bridge()
        bridge.taskStopped(TaskID("c9"), reason: nil, at: .at(1))
        #expect(Self.commands(&bridge) == [])
        bridge.agentSays(
            Self.signal(.tool(.finished(ToolResult(call: ToolCallID("c1"), status: .completed)))), at: .at(2))
        bridge.taskStopped(TaskID("c1"), reason: nil, at: .at(3))
        #expect(Self.commands(&bridge) == [])
        #expect(bridge.turn(TurnID("int_1"))?.outcome == nil)
    }

    @Test("a run that the bridge did not begin goes on: only its card is over")
    func mirrored() {
        var bridge = Self.bridge(mirrored: true)
        bridge.taskStopped(TaskID("c1"), reason: "user_cancelled", at: .at(1))
        #expect(Self.commands(&bridge) == [])
        #expect(bridge.turn(TurnID("int_1"))?.hasOpen(TaskID("c1")) == false)
        #expect(bridge.turn(TurnID("int_1"))?.outcome == nil)
    }

    @Test("a card that was renamed for the relay is known by that name")
    func renamed() {
        var bridge = Bridge()
        bridge.remember(tasks: [(TaskID("c1"), TurnID("earlier"))])
        bridge.turnBegins(Make.opening, at: .zero)
        bridge.agentSays(Self.signal(.tool(.started(ToolStart(call: ToolCallID("c1"), name: "exec")))), at: .zero)
        _ = bridge.takeOrders()
        bridge.taskStopped(TaskID("c1"), reason: nil, at: .at(1))
        #expect(Self.commands(&bridge) == [], "that is the card of the earlier turn")
        let name = bridge.entries[TurnID("int_1")]?.renamed[TaskID("c1")] ?? TaskID("?")
        bridge.taskStopped(name, reason: nil, at: .at(1))
        #expect(Self.commands(&bridge) == [Self.leave])
    }

    @Test(
        "with its installation every run of ours ends, its approvals are denied, and what served its chats is released")
    func revoked() {
        var bridge = Self.bridge()
        bridge.agentSays(Self.signal(.approvalRequested(Make.request())), at: .zero)
        _ = bridge.takeOrders()
        bridge.installationRevoked(at: .at(1))
        let commands = Self.commands(&bridge)
        #expect(commands.contains(Self.leave))
        #expect(commands.contains(.resolve(approval: ApprovalID("a1"), subject: .exec, decision: .deny)))
        #expect(commands.last == .release(session: AgentSession("chat"), isDeleted: true))
        #expect(bridge.openTurns == 0)
    }

    @Test("an end without words keeps its reason", arguments: [RunEnd.Reason.length, .contentFilter])
    func emptyEnd(reason: RunEnd.Reason) {
        var turn = Make.running()
        _ = turn.on(.finished(RunEnd(text: "", reason: reason)))
        let expected: EndOfTurn.FinishReason = reason == .length ? .length : .contentFilter
        var direct = Make.running()
        let orders = direct.settle(RunEnd(reason: reason), of: RunID("r1"), at: .zero, mayAsk: false)
        #expect(orders.contains(Make.end(Sentences.emptyAnswer, expected)))
    }
}
