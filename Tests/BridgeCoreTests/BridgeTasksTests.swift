import Testing
import Vocabulary

@testable import BridgeCore

@Suite("Cards of tool calls whose ids come again")
struct BridgeTasksTests {
    @Test("a call id of a turn that is closed gets another card in the next turn")
    func afterTheEnd() {
        var bridge = Bridge()
        #expect(Self.play(1, in: &bridge) == ["call_0"])
        #expect(bridge.turn(TurnID("int_1")) == nil)
        let second = Self.play(2, in: &bridge)
        #expect(second.count == 1)
        #expect(second.first?.hasPrefix("call_0~") == true)
    }

    /// Plays a turn with one tool call to its end, ten seconds after the one before, when the buckets are full.
    /// Returns the names of its cards.
    private static func play(_ name: Int, in bridge: inout Bridge) -> [String] {
        let now = Instant.zero + .seconds(10 * Int64(name))
        let session = SessionID("ses_1")
        let run = RunID("r\(name)")
        let message = UserMessage(
            id: MessageID("m\(name)"), session: session, interaction: InteractionID("int_\(name)"), text: "hello")
        let opening = TurnOpening(
            id: TurnID("int_\(name)"), session: session, interaction: message.interaction,
            agentSession: AgentSession("chat"), run: run, message: message, receivedAt: now,
            windowEnds: now + .seconds(1_800))
        var cards: [String] = []
        bridge.turnBegins(opening, at: now)
        answerAll(&bridge, &cards, now)
        bridge.sendAnswered(.accepted(run: run), for: opening.id, at: now)
        let id = ToolCallID("call_0")
        for event in [
            RunEvent.tool(.started(ToolStart(call: id, name: "exec"))),
            .tool(.finished(ToolResult(call: id, status: .completed))), .finished(RunEnd(text: "Done.")),
        ] {
            bridge.agentSays(RunSignal(run: run, session: AgentSession("chat"), event: event), at: now)
        }
        answerAll(&bridge, &cards, now)
        return cards
    }

    /// The relay accepts everything.
    private static func answerAll(_ bridge: inout Bridge, _ cards: inout [String], _ now: Instant) {
        var random = SystemRandomNumberGenerator()
        while true {
            let orders = bridge.takeOrders()
            let attempts = orders.compactMap { if case .attempt(let attempt) = $0 { attempt } else { nil } }
            guard !attempts.isEmpty else { return }
            for attempt in attempts {
                if case .taskStarted(let start) = attempt.post { cards.append(start.task.text) }
                let answer = RelayAnswer(.delivered(RelayReceipt(message: MessageID("b"))))
                bridge.answered(attempt.call, with: answer, at: now, using: &random)
            }
        }
    }
}
