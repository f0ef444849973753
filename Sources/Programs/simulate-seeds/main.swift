import Glibc
import Vocabulary
import Worlds

// simulate-seeds trace SEED prints everything that passes in one world. simulate-seeds choices SEED does so in that seed's world of models and
// ends, simulate-seeds asks SEED in its world of asks, simulate-seeds silence SEED in its world of silent runs.
// simulate-seeds [SEEDS] [FIRST] runs so many seeds of the decisions alone and of whole worlds. Prints the seed of each failure, and exits 1.
//
// scripts/simulate runs it on all processors, in parts: `seeds FIRST COUNT STRIDE`, `planted NAME FIRST COUNT`, `load`. The number of each seed
// is printed before it runs, so that a seed that ends the process is known too. At the end of `seeds` there is a line for each habit of the
// outside: in how many seeds it happened, how often, and how many open asks, Stops and prompts it met.
//
// Sets and dictionaries have an order of their own in each process unless this variable is set; a seed must run the same everywhere.
if getenv("SWIFT_DETERMINISTIC_HASHING") == nil {
    setenv("SWIFT_DETERMINISTIC_HASHING", "1", 1)
    execv("/proc/self/exe", CommandLine.unsafeArgv)
}

/// Writes unbuffered: the last line names the seed that ended the process.
func say(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    var sent = 0
    while sent < bytes.count {
        let count = bytes[sent...].withUnsafeBytes { write(1, $0.baseAddress, $0.count) }
        guard count > 0 else { exit(ExitCode.unexpected.rawValue) }
        sent += count
    }
}

struct SeedTally {
    var calls = 0
    var failed = 0
    /// Fingerprint of all worlds: another run of the same seeds has the same.
    var fingerprint: UInt64 = 0
    /// Habits of all worlds, and the number of seeds in which each happened.
    var habits: [String: HabitTally.Entry] = [:]
    var seedsOfHabits: [String: Int] = [:]

    mutating func add(_ world: [String: HabitTally.Entry]) {
        HabitTally.add(world, to: &habits)
        for habit in world.keys { seedsOfHabits[habit, default: 0] += 1 }
    }

    /// One line for each habit: seeds, times, and how many open asks, Stops and prompts it met.
    func tellHabits() {
        for (habit, entry) in habits.sorted(by: { $0.key < $1.key }) {
            let met = entry.met
            let figures = [seedsOfHabits[habit] ?? 0, entry.times, met.asks, met.stops, met.prompts]
            say("habit \(figures.map(String.init).joined(separator: " ")) \(habit)")
        }
    }
}

/// Runs the decisions alone and the whole world, one after the other.
func run(_ seed: UInt64, _ tally: inout SeedTally) {
    guard isChosen(seed) else { return }
    let plan = WorldPlan.random(seed: seed)
    say("seed \(seed)")
    let core = CoreWorld.run(.random(seed: seed))
    let world = WorldRun.run(plan)
    tally.calls += core.calls + world.calls
    tally.add(world.habits)
    tally.fingerprint = tally.fingerprint &* 31 &+ world.fingerprint
    let violations =
        core.violations.map { "core: \($0)" } + world.violations.map { "world: \($0)" }
        + ChoiceWorld.run(seed: seed).map { "choices: \($0)" } + AskWorld.run(seed: seed).map { "asks: \($0)" }
        + SilenceWorld.run(seed: seed).map { "silence: \($0)" }
    guard !violations.isEmpty else { return }
    tally.failed += 1
    say("FAILED seed \(seed) (\(plan.summary))")
    for violation in violations.prefix(6) { say("  \(violation)") }
}

func seeds(_ first: UInt64, _ count: UInt64, _ stride: UInt64) -> SeedTally {
    var tally = SeedTally()
    for number in 0..<count { run(first + number * stride, &tally) }
    tally.tellHabits()
    say("tally \(count) \(tally.calls) \(tally.failed) \(String(tally.fingerprint, radix: 16))")
    return tally
}

#if PLANTED_FAULTS
    func firstViolation(_ seed: UInt64) -> String? {
        CoreWorld.run(.random(seed: seed)).violations.first ?? WorldRun.run(.random(seed: seed)).violations.first
            ?? ChoiceWorld.run(seed: seed).first ?? AskWorld.run(seed: seed).first ?? SilenceWorld.run(seed: seed).first
    }

    /// Prints the first seed that catches the fault.
    func planted(_ fault: PlantedFault, _ first: UInt64, _ count: UInt64) -> Bool {
        for seed in first..<(first + count) where isChosen(seed) {
            say("seed \(seed)")
            // A seed that fails without the fault proves nothing.
            guard let why = PlantedFault.$planted.withValue(fault, operation: { firstViolation(seed) }),
                firstViolation(seed) == nil
            else { continue }
            say("planted \(fault.rawValue): caught by seed \(seed) (\(why.prefix(160)))")
            return true
        }
        say("planted \(fault.rawValue): NOT caught")
        return false
    }
#endif

func load() {
    for turns in [5, 20, 200] {
        let plan = Load.steady(turns: turns, seconds: 20)
        let loaded = CoreWorld.run(plan)
        let bare = CoreWorld.run(Load.withoutText(plan))
        let use = Load.useOfRefill(loaded).map { "\(($0 * 100).rounded() / 100)" } ?? "text never waited"
        say("\(turns) turns: use of refill \(use), ends at most \(Load.worstDelay(of: loaded, against: bare)) later")
        say("  \(loaded.violations.prefix(2))")
    }
    let overload = CoreWorld.run(Load.messages(perSecond: 6, seconds: 60))
    let (end, open) = (overload.endWaits.max() ?? .zero, overload.openWaits.max() ?? .zero)
    say("6 messages a second: end waits \(end), open waits \(open)")
}

/// Name such as `Codex`: run those seeds alone whose first side has it.
let onlyAgent = getenv("ONLY_AGENT").map { String(cString: $0) }
func isChosen(_ seed: UInt64) -> Bool {
    onlyAgent.map { WorldPlan.random(seed: seed).summary.hasPrefix($0) } ?? true
}

let arguments = Array(CommandLine.arguments.dropFirst())
func number(_ index: Int, _ other: UInt64) -> UInt64 {
    arguments.indices.contains(index) ? UInt64(arguments[index]) ?? other : other
}

var isGood = true
switch arguments.first {
case "seeds": isGood = seeds(number(1, 1), number(2, 100), number(3, 1)).failed == 0
case "load": load()
case "trace": WorldRun.run(.random(seed: number(1, 1)), trace: say).violations.forEach(say)
case "choices": ChoiceWorld.run(seed: number(1, 1), trace: say).forEach(say)
case "asks": AskWorld.run(seed: number(1, 1), trace: say).forEach(say)
case "silence": SilenceWorld.run(seed: number(1, 1), trace: say).forEach(say)
case "faults":
    #if PLANTED_FAULTS
        for fault in PlantedFault.ofWorlds { say(fault.rawValue) }
    #endif
case "planted":
    #if PLANTED_FAULTS
        let fault = PlantedFault.allCases.first { $0.rawValue == arguments.dropFirst().first }
        isGood = fault.map { planted($0, number(2, 1), number(3, 200)) } ?? false
    #else
        isGood = false
        say("built without planted faults; make sim builds with them")
    #endif
default: isGood = seeds(number(1, 1), number(0, 1), 1).failed == 0
}
exit((isGood ? ExitCode.clean : .unexpected).rawValue)
