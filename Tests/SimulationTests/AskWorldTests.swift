import BridgeModel
import BridgeTesting
import Testing

@Suite("What a person says yes to, in worlds from seeds")
struct AskWorldTests {
    @Test("a seed breaks no promise", arguments: UInt64(1)...40)
    func seeds(seed: UInt64) {
        let violations = AskWorld.run(seed: seed)
        #expect(violations.isEmpty, "seed \(seed): \(violations.joined(separator: "; "))")
    }

    /// From a seed near the first that catches it: `make sim` begins with the first.
    @Test(
        "planted faults are caught",
        arguments: [
            (PlantedFault.expiryForwarded, UInt64(1)), (.oldCardTaken, 1), (.programDropped, 8),
            (.fingerprintForgotten, 12),
            (.summaryShown, 34), (.cutAllowed, 50), (.askedAfterStop, 66),
        ])
    func planted(fault: PlantedFault, first: UInt64) {
        let seen = (first...(first + 40)).first { seed in
            PlantedFault.$planted.withValue(fault) { !AskWorld.run(seed: seed).isEmpty }
        }
        #expect(seen != nil, "\(fault)")
    }
}
