import Commands
import RelayRules
import Simulator
import Vocabulary

/// `--fault`, `--fault-rate` and `--fault-seed` of `simulate`.
struct PlannedFaults {
    private static let advice = "sophon-bridge simulate --fault help"

    private(set) var wantsHelp = false
    private var planned: [(kind: FaultKind, count: Int)] = []
    private var mix: FaultMix?

    init(_ command: ParsedCommand) throws(UsageError) {
        for text in command.lists["fault"] ?? [] {
            if text == "help" {
                wantsHelp = true
            } else {
                planned.append(try Self.fault(text))
            }
        }
        mix = try Self.mix(command)
    }

    func plan(on simulator: RelaySimulator) {
        for (kind, count) in planned { simulator.plan(kind, count: count) }
        if let mix { simulator.mixFaults(mix) }
    }

    static func list(to output: Output) {
        let width = FaultKind.names.map(\.count).max() ?? 0
        for kind in FaultKind.all {
            output.event(
                "fault_kind",
                [
                    ("kind", .string(kind.name)), ("strikes", .string(kind.target.rawValue)),
                    ("what", .string(kind.sentence)),
                ])
            let padding = String(repeating: " ", count: width - kind.name.count)
            output.line("\(kind.name)\(padding)  \(kind.target.rawValue): \(kind.sentence)")
        }
    }

    private static func fault(_ text: String) throws(UsageError) -> (FaultKind, Int) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard let kind = FaultKind.named(String(parts[0])) else {
            throw UsageError(
                "--fault \(text): there is no kind \(parts[0]), expected one of \(FaultKind.names.joined(separator: ", "))",
                try: advice)
        }
        guard parts.count == 2 else { return (kind, 1) }
        guard let count = Int(parts[1]), (1...100_000).contains(count) else {
            throw UsageError("--fault \(text): the count must be 1 to 100000", try: "--fault \(kind.name):3")
        }
        return (kind, count)
    }

    private static func mix(_ command: ParsedCommand) throws(UsageError) -> FaultMix? {
        let seedText = command.values["fault-seed"] ?? "1"
        guard let seed = UInt64(seedText) else {
            throw UsageError("--fault-seed \(seedText): expected a whole number", try: "--fault-seed 7")
        }
        guard let text = command.values["fault-rate"] else {
            guard command.values["fault-seed"] == nil else {
                throw UsageError("--fault-seed needs --fault-rate", try: "--fault-rate 0.05 --fault-seed \(seed)")
            }
            return nil
        }
        guard let rate = Double(text), (0...1).contains(rate) else {
            throw UsageError("--fault-rate \(text): expected a number from 0 to 1", try: "--fault-rate 0.05")
        }
        return FaultMix(seed: seed, rate: rate)
    }
}
