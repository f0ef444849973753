import Testing
import Vocabulary
import Worlds

@Suite("Runs of which nothing is heard, in worlds from seeds")
struct SilenceWorldTests {
    @Test("a seed breaks no promise", arguments: UInt64(1)...24)
    func seeds(seed: UInt64) {
        let violations = SilenceWorld.run(seed: seed)
        #expect(violations.isEmpty, "seed \(seed): \(violations.joined(separator: "; "))")
    }

    @Test("planted faults are caught", arguments: [PlantedFault.toolAlarmed])
    func planted(fault: PlantedFault) {
        let seen = (UInt64(1)...20).first { seed in
            PlantedFault.$planted.withValue(fault) { !SilenceWorld.run(seed: seed).isEmpty }
                && SilenceWorld.run(seed: seed).isEmpty
        }
        #expect(seen != nil, "\(fault)")
    }
}
