import BridgeModel
import Testing

@testable import BridgeCore

@Suite("When the record of a turn is kept")
struct BridgeRecordsTests {
    private static func signal(_ change: TextChange) -> RunSignal {
        RunSignal(run: RunID("r1"), session: nil, event: .text(change))
    }

    private static func isKept(_ orders: [BridgeOrder]) -> Bool {
        orders.contains { if case .keep = $0 { true } else { false } }
    }

    /// Its placeholder has left and is not answered.
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
}
