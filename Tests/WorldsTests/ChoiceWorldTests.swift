import Testing
import Vocabulary
import Worlds

@Suite("Models, and ends of chats and tools, in worlds from seeds")
struct ChoiceWorldTests {
    @Test("a seed breaks no promise", arguments: UInt64(1)...80)
    func seeds(seed: UInt64) {
        let violations = ChoiceWorld.run(seed: seed)
        #expect(violations.isEmpty, "seed \(seed): \(violations.joined(separator: "; "))")
    }

    @Test(
        "planted faults are caught",
        arguments: [PlantedFault.modelAfterMessage, .choiceForgotten, .endedChatAnswered, .toolGoesOn])
    func planted(fault: PlantedFault) {
        let seen = (UInt64(1)...300).first { seed in
            PlantedFault.$planted.withValue(fault) { !ChoiceWorld.run(seed: seed).isEmpty }
        }
        #expect(seen != nil, "\(fault)")
    }
}
