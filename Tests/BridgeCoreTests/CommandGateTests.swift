import Testing
import Vocabulary

@testable import BridgeCore

@Suite("Commands that wait for their records")
struct CommandGateTests {
    private static func send(_ run: String, in session: String = "chat") -> AgentCommand {
        let message = UserMessage(
            id: MessageID("m-\(run)"), session: SessionID("ses_1"), interaction: InteractionID("int_\(run)"), text: run)
        return .send(turn: TurnID("int_\(run)"), session: AgentSession(session), run: RunID(run), message: message)
    }

    private static func left(_ gate: inout CommandGate) -> [String] {
        gate.takeKept().map { if case .send(_, _, let run, _) = $0.command { run.text } else { "other" } }
    }

    @Test("messages of a session leave in their order, whichever folder is found first; those of others need not wait")
    func inOrder() {
        var gate = CommandGate()
        let numbers = ["a", "b", "c"].map { gate.enter(Self.send($0), of: TurnID("int_\($0)")) }
        let other = gate.enter(Self.send("d", in: "another"), of: TurnID("int_d"))
        let decision = AgentCommand.lookUp(session: AgentSession("chat"), run: RunID("a"))
        let look = gate.enter(decision, of: TurnID("int_a"))
        gate.kept(numbers[1], in: nil)
        #expect(Self.left(&gate) == [])
        gate.kept(other, in: nil)
        gate.kept(look, in: nil)
        #expect(Self.left(&gate) == ["d", "other"])
        gate.kept(numbers[0], in: "/home/ada")
        #expect(Self.left(&gate) == ["a", "b"])
        gate.kept(numbers[0], in: nil)
        gate.kept(numbers[2], in: nil)
        #expect(Self.left(&gate) == ["c"])
    }

    @Test("a message that is taken back, or whose record cannot be written, holds up none behind it")
    func heldByNone() {
        var gate = CommandGate()
        let numbers = ["a", "b", "c"].map { gate.enter(Self.send($0), of: TurnID("int_\($0)")) }
        gate.kept(numbers[2], in: nil)
        let isTakenBack = gate.withdraw(run: RunID("a"))
        #expect(isTakenBack)
        #expect(Self.left(&gate) == [])
        let dropped = gate.dropped(numbers[1])
        #expect(dropped != nil)
        #expect(Self.left(&gate) == ["c"])
    }
}
