/// Random faults from a seed: each call, connection, update, message, grant, acknowledgement and approval meets one with the given probability.
///
/// Each kind of target has its own generator, and each chance takes two numbers from it even without a strike. So
/// the same seed gives the same faults for the same calls, in any order with the updates.
package struct FaultMix: Sendable {
    package let seed: UInt64
    package let rate: Double
    package let kinds: [FaultKind]

    private var generators: [FaultKind.Target: SplitMix] = [:]

    /// `rate` is from 0 to 1. Without kinds, the mix has those that a good bridge bears.
    package init(seed: UInt64, rate: Double, kinds: [FaultKind] = []) {
        self.seed = seed
        self.rate = rate
        self.kinds = kinds.isEmpty ? FaultKind.all.filter(\.isBearable) : kinds
        for (number, target) in FaultKind.Target.allCases.enumerated() {
            generators[target] = SplitMix(seed: seed &+ UInt64(number) &* SplitMix.step)
        }
    }

    mutating func drawForCall() -> Fault.Kind? {
        guard case .call(let fault)? = draw(.call) else { return nil }
        return fault
    }

    mutating func drawForSocket(_ target: FaultKind.Target) -> SocketFault.Kind? {
        guard case .socket(let fault)? = draw(target) else { return nil }
        return fault
    }

    private mutating func draw(_ target: FaultKind.Target) -> FaultKind.Plan? {
        let chance = generators[target]?.next() ?? 0
        let choice = generators[target]?.next() ?? 0
        let fitting = kinds.filter { $0.target == target }
        guard !fitting.isEmpty, Double(chance >> 11) * 0x1p-53 < rate else { return nil }
        return fitting[Int(choice % UInt64(fitting.count))].plan(Self.parameters)
    }

    /// Short waits: a mix has many faults, and their waits add up.
    private static var parameters: FaultParameters {
        var parameters = FaultParameters()
        parameters.milliseconds = 300
        parameters.retryAfterMilliseconds = 200
        return parameters
    }
}

extension Relay {
    package mutating func mixFaults(_ mix: FaultMix) { faults.use(mix) }
}
