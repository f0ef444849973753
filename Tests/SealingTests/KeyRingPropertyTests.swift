import Crypto
import Sealing
import Testing
import Vocabulary

@Suite("The ring of keys in any order of updates")
struct KeyRingPropertyTests {
    @Test(
        "nothing is sealed for a key or a device that no person chose, and no envelope is taken twice", arguments: 0..<8
    )
    func anyOrder(part: UInt64) throws {
        for seed in part * 40..<(part + 1) * 40 {
            let violation = try HostileRelay.firstViolation(seed: seed)
            #expect(violation == nil, "seed \(seed)")
        }
    }

    @Test("a ring with a fault is caught", arguments: PlantedFault.ofKeyRing)
    func planted(fault: PlantedFault) throws {
        try PlantedFault.$planted.withValue(fault) {
            let seed = try (UInt64(0)..<320).first { try HostileRelay.firstViolation(seed: $0) != nil }
            #expect(seed != nil)
        }
    }
}
