import Testing
import Vocabulary
import Worlds

@testable import BridgeCore

/// Any event at any time: the invariants must hold.
@Suite("A turn under any order of events")
struct TurnAnyOrderTests {
    @Test("keeps its promises, and closes once time moves on", arguments: UInt64(1)...2_000)
    func anyOrder(seed: UInt64) {
        var disorder = Disorder(seed: seed)
        disorder.run()
        #expect(
            disorder.faults.isEmpty, "seed \(seed): \(disorder.faults.joined(separator: "; "))\n\(disorder.history)")
    }

    @Test(
        "planted faults are caught",
        arguments: [PlantedFault.taskFinishedTwice, .snapshotAppended, .answeredTwice, .statusAfterText])
    func planted(fault: PlantedFault) {
        let caught = (UInt64(1)...10_000).first { seed in
            var disorder = Disorder(seed: seed)
            PlantedFault.$planted.withValue(fault) { disorder.run() }
            return !disorder.faults.isEmpty
        }
        #expect(caught != nil)
    }
}
