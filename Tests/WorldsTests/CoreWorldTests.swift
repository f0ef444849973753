import Testing
import Vocabulary
import Worlds

@Suite("The simulation")
struct CoreWorldTests {
    @Test("a seed of random runs, faults and restarts breaks no promise", arguments: UInt64(1)...24)
    func seeds(seed: UInt64) {
        let result = CoreWorld.run(.random(seed: seed))
        #expect(result.violations.isEmpty, "seed \(seed): \(result.violations.joined(separator: "; "))")
        #expect(result.calls > 0)
    }

    @Test("the same seed gives the same run")
    func reproducible() {
        let first = CoreWorld.run(.random(seed: 12))
        let second = CoreWorld.run(.random(seed: 12))
        #expect(first.steps == second.steps)
        #expect(first.calls == second.calls)
        #expect(first.endWaits == second.endWaits)
    }

    /// Faults that are visible without links and a disk. `make sim` plants the others in whole worlds.
    private static let ofDecisions: [PlantedFault] = [
        .retryRecoalesces, .endBeforeLastDelta, .keyWithoutEpoch, .bucketTrustsRemaining, .snapshotAppended,
        .taskFinishedTwice, .placeholderNotAwaited, .laneStarves, .answeredTwice, .answeredAfterStop,
    ]

    @Test("every planted fault of the decisions is caught", arguments: ofDecisions)
    func planted(fault: PlantedFault) {
        let seeds = UInt64(1)...60
        let caught = seeds.first { seed in
            PlantedFault.$planted.withValue(fault) { !CoreWorld.run(.random(seed: seed)).violations.isEmpty }
        }
        #expect(caught != nil, "\(fault) was not caught by seeds \(seeds)")
    }
}

@Suite("Load on the relay's own buckets")
struct LoadTests {
    @Test(
        "runs at 10 tokens a second use the refill, are never refused, and do not delay the ends",
        arguments: [5, 20, 200])
    func steady(turns: Int) {
        let plan = Load.steady(turns: turns, seconds: turns == 200 ? 20 : 8)
        let loaded = CoreWorld.run(plan)
        #expect(loaded.violations.isEmpty, "\(loaded.violations.joined(separator: "; "))")
        if let use = Load.useOfRefill(loaded) { #expect(use >= 0.75) }
        let bare = CoreWorld.run(Load.withoutText(plan))
        #expect(loaded.endedAt.count == turns)
        #expect(Load.worstDelay(of: loaded, against: bare) <= .seconds(2))
    }

    @Test("under more messages than the bucket can carry, no end waits 5 seconds and no open 10")
    func overload() {
        let result = CoreWorld.run(Load.messages(perSecond: 6, seconds: 60))
        #expect(result.violations.isEmpty, "\(result.violations.joined(separator: "; "))")
        #expect(result.openWaits.count == 360)
        #expect(result.endWaits.max() ?? .zero < .seconds(5))
        #expect(result.openWaits.max() ?? .zero < .seconds(10))
    }
}
