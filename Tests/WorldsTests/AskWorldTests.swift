import Testing
import Vocabulary
import Worlds

@Suite("What a person says yes to, in worlds from seeds")
struct AskWorldTests {
    @Test("a seed breaks no promise", arguments: UInt64(1)...40)
    func seeds(seed: UInt64) {
        let violations = AskWorld.run(seed: seed)
        #expect(violations.isEmpty, "seed \(seed): \(violations.joined(separator: "; "))")
    }

    @Test(
        "planted faults are caught",
        arguments: [
            PlantedFault.expiryForwarded, .oldCardTaken, .programDropped, .fingerprintForgotten, .summaryShown,
            .cutAllowed, .askedAfterStop, .signOfLifeMissed, .earlierWordsRefuse, .wordsAllow, .wordsRefuseOldest,
            .wordsSentAgain,
        ])
    func planted(fault: PlantedFault) {
        let seen = (UInt64(1)...200).first { seed in
            // A seed that fails without the fault proves nothing.
            PlantedFault.$planted.withValue(fault) { !AskWorld.run(seed: seed).isEmpty }
                && AskWorld.run(seed: seed).isEmpty
        }
        #expect(seen != nil, "\(fault)")
    }
}
