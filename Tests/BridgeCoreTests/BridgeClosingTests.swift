import Testing
import Vocabulary

@testable import BridgeCore

@Suite("Messages at the end of the process")
struct BridgeClosingTests {
    private struct Heard {
        var sent: [RunID] = []
        var waiting: [CommandNumber] = []
        var kept: [TurnRecord] = []
        var fulfilled: [Obligation] = []
    }

    private static func hear(_ bridge: inout Bridge) -> Heard {
        var heard = Heard()
        for order in bridge.takeOrders() {
            switch order {
            case .command(.send(_, _, let run, _)): heard.sent.append(run)
            case .commandToKeep(let number, _): heard.waiting.append(number)
            case .keep(let kept, _): heard.kept.append(kept.record)
            case .fulfilled(let obligation): heard.fulfilled.append(obligation)
            default: break
            }
        }
        return heard
    }

    /// The next process hands the message over once.
    private static func expectNext(_ record: TurnRecord?) throws {
        let record = try #require(record)
        #expect(record.turn.phase == .waiting)
        var next = Bridge(agentPresent: false, isJournaled: true)
        next.restore(record, deltas: [], at: .at(20))
        next.agentBack(at: .at(21))
        let heard = hear(&next)
        #expect(heard.waiting.count == 1)
        for number in heard.waiting { next.commandKept(number, at: .at(21)) }
        #expect(hear(&next).sent == [RunID("r1")])
    }

    @Test("a message whose record is written when the process ends is the next one's")
    func recordIsWritten() throws {
        var bridge = Bridge(isJournaled: true)
        bridge.turnBegins(Make.opening, at: .zero)
        let numbers = Self.hear(&bridge).waiting
        bridge.handsOverNoMore()
        for number in numbers { bridge.commandKept(number, at: .at(1)) }
        let heard = Self.hear(&bridge)
        #expect(heard.sent == [] && numbers.count == 1)
        try Self.expectNext(heard.kept.last)
        let queue = bridge.agent.queues[Make.opening.agentSession]
        #expect(queue?.firstWaiting == Make.opening.id && queue?.active == nil)
    }

    @Test("one that the closing link did not take, too, and those behind it stay behind it")
    func linkCloses() throws {
        var bridge = Bridge(isJournaled: true)
        bridge.turnBegins(Make.opening, at: .zero)
        for number in Self.hear(&bridge).waiting { bridge.commandKept(number, at: .zero) }
        #expect(Self.hear(&bridge).sent == [RunID("r1")])
        bridge.sendAnswered(.neverLeft, run: RunID("r1"), at: .at(1))
        let heard = Self.hear(&bridge)
        #expect(heard.waiting == [], "nothing is handed over any more")
        try Self.expectNext(heard.kept.last)
    }

    @Test("one whose wait for a place had a card is the next one's, too")
    func waitedWithCard() throws {
        var bridge = Bridge(isJournaled: true)
        bridge.turnBegins(Make.opening, at: .zero)
        for number in Self.hear(&bridge).waiting { bridge.commandKept(number, at: .zero) }
        let card = ToolCallID("place-r1")
        for event in [
            ToolEvent.started(ToolStart(call: card, name: "wait", title: "Waiting for a place")),
            .finished(ToolResult(call: card, name: "wait", status: .completed)),
        ] {
            let signal = RunSignal(run: RunID("r1"), session: Make.opening.agentSession, event: .tool(event))
            bridge.agentSays(signal, at: .at(1))
        }
        bridge.sendAnswered(.neverLeft, run: RunID("r1"), at: .at(2))
        try Self.expectNext(Self.hear(&bridge).kept.last)
    }

    @Test("a message that begins while the process ends waits")
    func beginsLate() {
        var bridge = Bridge(isJournaled: true)
        bridge.handsOverNoMore()
        bridge.turnBegins(Make.opening, at: .zero)
        #expect(Self.hear(&bridge).waiting == [])
        let phase = bridge.turn(Make.opening.id)?.phase
        #expect(phase == .waiting)
    }

    @Test("one that was stopped and did not leave is over, and its stop is owed no more")
    func stopped() {
        var bridge = Bridge(isJournaled: true)
        bridge.turnBegins(Make.opening, at: .zero)
        for number in Self.hear(&bridge).waiting { bridge.commandKept(number, at: .zero) }
        bridge.stopped(session: Make.opening.session, interaction: nil, at: .at(1))
        _ = Self.hear(&bridge)
        bridge.sendAnswered(.neverLeft, run: RunID("r1"), at: .at(1))
        #expect(Self.hear(&bridge).fulfilled == [.abort(session: Make.opening.agentSession, run: RunID("r1"))])
        let outcome = bridge.turn(Make.opening.id)?.outcome
        #expect(outcome == .aborted)
    }

    @Test("what is noted of a message is noted once, although it is handed over twice")
    func notice() {
        var turn = Make.waiting()
        _ = turn.handOver(at: .zero, line: "The model is fixed.")
        _ = turn.neverLeft()
        #expect(turn.phase == .waiting)
        _ = turn.handOver(at: .at(9), line: "The model is fixed.")
        #expect(turn.bubble.notice == "The model is fixed.")
    }
}
