import Testing
import Vocabulary

@testable import BridgeCore

@Suite("When the record of a turn is kept")
struct BridgeRecordsTests {
    private static func signal(_ change: TextChange) -> RunSignal {
        RunSignal(run: RunID("r1"), session: nil, event: .text(change))
    }

    private static func isKept(_ orders: [BridgeOrder]) -> Bool {
        orders.contains { if case .keep = $0 { true } else { false } }
    }

    /// The placeholder has left and has no answer.
    private static func opening() -> Bridge {
        var bridge = Bridge(isJournaled: true)
        bridge.turnBegins(Make.opening, at: .zero)
        bridge.sendAnswered(.accepted(run: RunID("r1")), run: RunID("r1"), at: .zero)
        _ = bridge.takeOrders()
        return bridge
    }

    @Test("a message of the agent's that has ended does not wait for the next call; text that grows does")
    func segments() {
        var bridge = Self.opening()
        bridge.agentSays(Self.signal(.append("Let me look.")), at: .at(1))
        let grown = bridge.takeOrders()
        #expect(!Self.isKept(grown))
        bridge.agentSays(Self.signal(.segmentEnded("Let me look.")), at: .at(2))
        let ended = bridge.takeOrders()
        #expect(Self.isKept(ended))
    }

    /// Whether the next process knows that the agent accepted the message.
    private static func isAccepted(_ bridge: borrowing Bridge) -> Bool? {
        bridge.record(of: Make.opening.id).map { $0.stored.forwarded.isAccepted }
    }

    @Test("a message that is looked for is in doubt for the next process too, and for the one after that")
    func inDoubt() {
        var bridge = Bridge(isJournaled: true)
        bridge.turnBegins(Make.opening, at: .zero)
        for second in 1...3 {
            let isAccepted = Self.isAccepted(bridge)
            #expect(isAccepted == false, "process \(second)")
            guard let record = bridge.record(of: Make.opening.id) else { return }
            bridge = Bridge(agentPresent: false, isJournaled: true)
            bridge.restore(record.stored, deltas: [], at: .at(Double(second)))
            bridge.agentBack(at: .at(Double(second)))
        }
        bridge.sendAnswered(.accepted(run: Make.opening.run), run: Make.opening.run, at: .at(4))
        let isAccepted = Self.isAccepted(bridge)
        #expect(isAccepted == true)
    }

    @Test("what shows that the agent has it ends the doubt", arguments: [true, false])
    func noDoubt(isLookedUp: Bool) {
        var bridge = Bridge(isJournaled: true)
        bridge.turnBegins(Make.opening, at: .zero)
        bridge.agentLost(at: .at(1))
        bridge.agentBack(at: .at(2))
        if isLookedUp {
            bridge.lookedUp(.running(text: nil), of: Make.opening.run, at: .at(3))
        } else {
            bridge.agentSays(RunSignal(run: Make.opening.run, session: nil, event: .started), at: .at(3))
        }
        let isAccepted = Self.isAccepted(bridge)
        #expect(isAccepted == true)
    }
}
