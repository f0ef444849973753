import Testing
import Vocabulary
import Worlds

@Suite("Whole worlds from seeds")
struct WorldTests {
    private static let mended: Set<WorldPlan.Theme> = [.kills, .agentLink, .relayLink]
    private static let calm: [UInt64] = (UInt64(1)...120).filter {
        WorldPlan.random(seed: $0).themes.isSubset(of: mended)
    }

    @Test("a seed breaks no promise", arguments: calm)
    func seeds(seed: UInt64) {
        let result = WorldRun.run(.random(seed: seed))
        #expect(result.violations.isEmpty, "seed \(seed): \(result.violations.joined(separator: "; "))")
        #expect(result.calls > 0)
    }

    @Test("the same seed gives the same world", arguments: [UInt64(3), 12, 28])
    func reproducible(seed: UInt64) {
        let first = WorldRun.run(.random(seed: seed))
        let second = WorldRun.run(.random(seed: seed))
        #expect(first.fingerprint == second.fingerprint)
        #expect(first.steps == second.steps)
    }

    @Test("all themes and all kinds of scripts are drawn")
    func drawn() {
        let plans = (UInt64(1)...300).map { WorldPlan.random(seed: $0) }
        #expect(Set(plans.flatMap(\.themes)) == Set(WorldPlan.Theme.allCases))
        #expect(Set(plans.flatMap(\.messages).map(\.script.kind)) == Set(WorldScript.Kind.allCases))
        #expect(Set(plans.flatMap(\.eras)) == Set(GatewayEra.allCases))
        #expect(Set(plans.flatMap(\.agents)) == Set(WorldAgentKind.allCases))
        let sealed = plans.compactMap(\.sealing)
        #expect(Set(sealed.flatMap(\.grants.values).map(Self.kind)).count == 5)
        #expect(sealed.contains { $0.strangerAt != nil } && sealed.contains { $0.rotatesAt != nil })
    }

    private static func kind(_ grant: SealingPlan.Grant) -> Int {
        switch grant {
        case .first: 0
        case .late: 1
        case .twice: 2
        case .wrongDevice: 3
        case .never: 4
        }
    }

    @Test(
        "a seed with another agent than OpenClaw breaks no promise",
        arguments: (UInt64(1)...110).filter { seed in
            !calm.contains(seed) && WorldPlan.random(seed: seed).agents.contains { $0 != .openClaw }
        })
    func otherAgents(seed: UInt64) {
        let result = WorldRun.run(.random(seed: seed))
        #expect(result.violations.isEmpty, "seed \(seed): \(result.violations.joined(separator: "; "))")
    }

    @Test(
        "faults with files are caught",
        arguments: [
            PlantedFault.filesLeftBehind, .filesHandedOverAgain, .promptBeforePictures, .sealedFilesForgotten,
        ])
    func plantedInFiles(fault: PlantedFault) {
        let caught = (UInt64(1)...2_000).first { seed in
            let plan = WorldPlan.random(seed: seed)
            guard !plan.files.isEmpty else { return false }
            return PlantedFault.$planted.withValue(fault) { !WorldRun.run(plan).violations.isEmpty }
        }
        #expect(caught != nil)
    }

    @Test("faults with pi are caught", arguments: [PlantedFault.promptResent, .deltaAfterEnd])
    func plantedInPi(fault: PlantedFault) {
        let seen = (UInt64(1)...200).filter { WorldPlan.random(seed: $0).agents.contains(.pi) }.first { seed in
            PlantedFault.$planted.withValue(fault) { !WorldRun.run(.random(seed: seed)).violations.isEmpty }
        }
        #expect(seen != nil, "no seed caught \(fault)")
    }

    /// The seeds begin with the first that catches the fault.
    @Test(
        "faults of the engine are caught with its agents",
        arguments: [
            (PlantedFault.promptRepeatedInDoubt, WorldAgentKind.pi, UInt64(11)),
            (.promptRepeatedInDoubt, .claude, 65), (.askAnsweredTwice, .pi, 1), (.askAnsweredTwice, .claude, 4),
            (.stopForgottenOverLoss, .pi, 172), (.chatsMixedUp, .pi, 6), (.chatsMixedUp, .claude, 2),
        ])
    func plantedInEngine(fault: PlantedFault, kind: WorldAgentKind, first: UInt64) {
        #expect(Self.catches(fault, kind, from: first), "no seed caught \(fault)")
    }

    @Test("a yes behind a Stop is caught in a world written by hand", arguments: [WorldAgentKind.pi, .claude])
    func plantedBehindStop(kind: WorldAgentKind) {
        // Under other seeds pi asks a question in place of a card.
        caught(.yesBehindStop, by: "left after the Stop", seeds: [1, 4]) { .stopBehindYes(kind, seed: $0) }
    }

    @Test("so is a Stop that is forgotten over a loss", arguments: [WorldAgentKind.pi, .claude])
    func plantedOverLoss(kind: WorldAgentKind) {
        caught(.stopForgottenOverLoss, by: "was begun twice", seeds: [1, 2]) { .lossBehindStop(kind, seed: $0) }
    }

    /// Whether a seed near the first one fails with the fault alone.
    private static func catches(_ fault: PlantedFault, _ kind: WorldAgentKind, from first: UInt64) -> Bool {
        (first...(first + 300)).contains { seed in
            // A seed that fails without the fault proves nothing.
            WorldPlan.random(seed: seed).agents.contains(kind)
                && PlantedFault.$planted.withValue(fault) { !WorldRun.run(.random(seed: seed)).violations.isEmpty }
                && WorldRun.run(.random(seed: seed)).violations.isEmpty
        }
    }

    /// Each seed draws its own habits of the agent and its own words.
    private func caught(
        _ fault: PlantedFault, by words: String, seeds: [UInt64], _ plan: (UInt64) -> WorldPlan
    ) {
        for seed in seeds {
            #expect(WorldRun.run(plan(seed)).violations == [])
            let violations = PlantedFault.$planted.withValue(fault) { WorldRun.run(plan(seed)).violations }
            #expect(violations.contains { $0.contains(words) }, "seed \(seed): \(violations)")
        }
    }

    /// The seeds begin near the first that catches the fault, because worlds are slow here. `make sim` begins with
    /// seed 1.
    @Test(
        "faults with Oppi are caught",
        arguments: [
            (PlantedFault.overflowTakenWhole, UInt64(211)), (.strangersPermission, 192), (.othersWordsTaken, 179),
            (.holeAppended, 437), (.retryNotShown, 34), (.answeredByValue, 211), (.placeKept, 708),
        ])
    func plantedInOppi(fault: PlantedFault, first: UInt64) {
        let seeds = (first...(first + 300)).filter { WorldPlan.random(seed: $0).agents.contains(.oppi) }
        let seen = seeds.first { seed in
            PlantedFault.$planted.withValue(fault) { !WorldRun.run(.random(seed: seed)).violations.isEmpty }
        }
        #expect(seen != nil, "no seed caught \(fault)")
    }

    @Test("a stop of Oppi's that is forgotten before its run begins is caught")
    func plantedInOppiStops() {
        let fault = PlantedFault.earlyStopForgotten
        let plans = (UInt64(1)...3_000).lazy.map { WorldPlan.random(seed: $0) }.filter { plan in
            let ours = plan.messages.filter { plan.agents[$0.side] == .oppi }
            return ours.contains { $0.stopsAfter != nil }
        }
        let seen = plans.prefix(60).first { plan in
            // A seed that fails without the fault proves nothing.
            PlantedFault.$planted.withValue(fault) { !WorldRun.run(plan).violations.isEmpty }
                && WorldRun.run(plan).violations.isEmpty
        }
        #expect(seen != nil, "no seed caught \(fault)")
    }

    @Test(
        "faults with Claude Code's own turns and helpers are caught",
        arguments: [(PlantedFault.helpersAskInTheTurn, UInt64(200)), (.ownTurnOutlivesProcess, 5)])
    func plantedInClaude(fault: PlantedFault, first: UInt64) {
        #expect(Self.catches(fault, .claude, from: first), "no seed caught \(fault)")
    }

    @Test(
        "faults with Codex are caught",
        arguments: [
            (PlantedFault.busyThreadSteered, UInt64(156)), (.approvalByNumber, 100), (.interruptedFromHistory, 91),
        ])
    func plantedInCodex(fault: PlantedFault, first: UInt64) {
        let seeds = (first...(first + 300)).filter { WorldPlan.random(seed: $0).agents.contains(.codex) }
        let seen = seeds.first { seed in
            PlantedFault.$planted.withValue(fault) { !WorldRun.run(.random(seed: seed)).violations.isEmpty }
        }
        #expect(seen != nil, "no seed caught \(fault)")
    }

    @Test(
        "faults with OpenClaw are caught",
        arguments: [
            (PlantedFault.textFromChat, UInt64(1)), (.answerNotFound, 25), (.errorTakenForEnd, 27),
            (.livingRunGivenUp, 106), (.sentAgainThoughItRan, 1), (.foreignRunAdopted, 5), (.ownRunNotAdopted, 27),
        ])
    func plantedInOpenClaw(fault: PlantedFault, first: UInt64) {
        #expect(Self.catches(fault, .openClaw, from: first), "no seed caught \(fault)")
    }

    @Test(
        "faults in what the relay does by itself, and before pi takes a prompt, are caught",
        arguments: [
            (PlantedFault.removalUnheard, UInt64(4)), (.reasonIgnored, 1), (.clockIgnored, 10), (.compactingKilled, 16),
        ])
    func plantedBesideTheRelay(fault: PlantedFault, seed: UInt64) {
        #expect(WorldRun.run(.random(seed: seed)).violations.isEmpty)
        #expect(PlantedFault.$planted.withValue(fault) { !WorldRun.run(.random(seed: seed)).violations.isEmpty })
    }

    @Test("faults in questions, levels, early Stops and repeated asks are caught", arguments: Rare.allCases)
    func plantedInRareWorlds(rare: Rare) {
        let seeds = (rare.first...(rare.first + 200)).filter { rare.mayCatch(.random(seed: $0)) }
        let seen = seeds.first { seed in
            PlantedFault.$planted.withValue(rare.fault) { !WorldRun.run(.random(seed: seed)).violations.isEmpty }
                && WorldRun.run(.random(seed: seed)).violations.isEmpty
        }
        #expect(seen != nil, "none of \(seeds.count) seeds caught \(rare.fault)")
    }

    enum Rare: CaseIterable {
        case question, level, stop, ask

        var fault: PlantedFault {
            switch self {
            case .question: .refusedQuestionStays
            case .level: .effortVerbatim
            case .stop: .stopForgottenBeforeLoop
            case .ask: .askRepeatedUnknown
            }
        }

        /// Near the first seed that catches the fault.
        var first: UInt64 {
            switch self {
            case .question: 98
            case .level, .ask: 18
            case .stop: 26
            }
        }

        func mayCatch(_ plan: WorldPlan) -> Bool {
            switch self {
            case .question: !plan.refusedQuestions.isEmpty
            case .level: plan.agents.contains(.codex) && plan.messages.contains { $0.level != nil }
            case .stop: plan.agents.contains(.pi) && plan.messages.contains { $0.stopsAfter != nil }
            case .ask: plan.agents.contains(.codex) && plan.messages.contains { $0.script.kind == .approval }
            }
        }
    }

    @Test("habits are counted, with what they met")
    func habits() {
        let worlds = (UInt64(1)...40).map { WorldRun.run(.random(seed: $0)).habits }
        let clock = worlds.compactMap { $0["relay: has another clock than this machine"] }
        #expect(clock.count > 5 && clock.allSatisfy { $0.times > 0 })
        #expect(clock.contains { $0.met.prompts > 0 })
    }

    private static let sealed: [UInt64] = (UInt64(1)...150).filter { WorldPlan.random(seed: $0).sealing != nil }

    @Test("a seed with sealed chats breaks no promise", arguments: sealed)
    func sealedSeeds(seed: UInt64) {
        let result = WorldRun.run(.random(seed: seed))
        #expect(result.violations.isEmpty, "seed \(seed): \(result.violations.joined(separator: "; "))")
    }

    @Test(
        "faults in sealing are caught",
        arguments: [
            PlantedFault.sealedAgain, .endInTheOpen, .keyTakenInUse, .unpinnedGranted, .sealedWordsInNotice,
        ])
    func planted(fault: PlantedFault) {
        let sealed = (UInt64(1)...260).filter { WorldPlan.random(seed: $0).sealing != nil }
        let seen = sealed.first { seed in
            PlantedFault.$planted.withValue(fault) { !WorldRun.run(.random(seed: seed)).violations.isEmpty }
        }
        #expect(seen != nil, "no seed caught \(fault)")
    }
}
