import BridgeService
import Vocabulary

// Troubles of an Oppi server that the bridge has no part in.
extension WorldPlan {
    /// A relay's code is judged without other troubles.
    mutating func drawOppi(using random: inout SeededGenerator) {
        guard !themes.contains(.codes) else { return }
        for side in agents.indices where agents[side] == .oppi && side != untouched {
            for number in 0..<random.pick([0, 1, 1, 2, 3, 4]) {
                let at = Duration.milliseconds(Int64.random(in: 300...16_000, using: &random))
                let trouble = oppiTrouble("private\(seed)x\(side)\(number)", using: &random)
                troubles.append(Trouble(at: at, side: side, misfortune: .oppi(trouble)))
                if case .prompt = trouble, random.happens(0.3) { mirrors[side] = .all }
            }
        }
    }

    /// Troubles during runs of the bridge. A separate generator keeps the draws above as they were.
    mutating func drawBesideRuns() {
        guard !themes.contains(.codes) else { return }
        var random = SeededGenerator(seed: seed ^ 0x6265_7369)
        for (number, message) in messages.enumerated() where agents[message.side] == .oppi {
            guard message.side != untouched, random.happens(0.25) else { continue }
            let at = message.at + .milliseconds(Int64.random(in: 100...3_000, using: &random))
            let trouble: OppiTrouble =
                random.happens(0.5)
                ? .asksElsewhere(name: "private\(seed)s\(number)") : .cuts(session: number)
            troubles.append(Trouble(at: at, side: message.side, misfortune: .oppi(trouble)))
        }
    }

    private func oppiTrouble(_ name: String, using random: inout SeededGenerator) -> OppiTrouble {
        let session = Int.random(in: 0..<3, using: &random)
        func moment(_ range: ClosedRange<Int64>) -> Duration { .milliseconds(Int64.random(in: range, using: &random)) }
        switch Int.random(in: 0..<15, using: &random) {
        case 0: return .ends(session: session)
        case 1: return .deletes(session: session)
        case 2: return .stops(session: session)
        case 3, 4: return .restarts(down: moment(1...6_000))
        case 5...7: return .cuts(session: session)
        case 8, 9: return .pages(moment(200...6_000))
        default: return .prompt(name: name, session: session)
        }
    }
}
