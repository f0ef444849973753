import BridgeModel
import BridgeTesting
import Glibc

// simulate-seeds [SEEDS] [FIRST]: runs so many seeds of the simulation, then shows that each planted fault is caught.
// Prints the seed of whatever fails, and exits 1.
let count = CommandLine.arguments.dropFirst().first.flatMap { UInt64($0) } ?? 200
let first = CommandLine.arguments.dropFirst(2).first.flatMap { UInt64($0) } ?? 1
var failed = 0
var calls = 0
for seed in first..<(first + count) {
    let result = Simulation.run(.random(seed: seed))
    calls += result.calls
    guard !result.violations.isEmpty else { continue }
    failed += 1
    print("seed \(seed):")
    for violation in result.violations.prefix(4) { print("  \(violation)") }
    if failed >= 10 { break }
}
print("\(count) seeds, \(calls) relay calls, \(failed) failed")
var missed = 0
#if PLANTED_FAULTS
    func caught(_ fault: PlantedFault, by seed: UInt64) -> String? {
        PlantedFault.$planted.withValue(fault) { Simulation.run(.random(seed: seed)).violations.first }
    }
    for fault in PlantedFault.allCases {
        let seeds = first..<(first + min(count, 200))
        if let seed = seeds.first(where: { caught(fault, by: $0) != nil }), let why = caught(fault, by: seed) {
            print("planted \(fault.rawValue): caught by seed \(seed) (\(why.prefix(140)))")
        } else {
            missed += 1
            print("planted \(fault.rawValue): NOT caught")
        }
    }
#else
    print("built without planted faults; make sim builds with them")
#endif
for turns in [5, 20, 200] {
    let plan = Load.steady(turns: turns, seconds: 20)
    let loaded = Simulation.run(plan)
    let bare = Simulation.run(Load.withoutText(plan))
    let use = Load.useOfRefill(loaded).map { "\(($0 * 100).rounded() / 100)" } ?? "text never waited"
    print("\(turns) turns: use of refill \(use), ends at most \(Load.worstDelay(of: loaded, against: bare)) later")
    print("  \(loaded.violations.prefix(2))")
}
let overload = Simulation.run(Load.messages(perSecond: 6, seconds: 60))
print(
    "6 messages a second: end waits \(overload.endWaits.max() ?? .zero), open waits \(overload.openWaits.max() ?? .zero)"
)
if failed + missed > 0 { fatalExit() }

func fatalExit() -> Never {
    print("FAILED")
    exit(1)
}
