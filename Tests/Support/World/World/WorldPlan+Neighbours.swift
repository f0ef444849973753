import Vocabulary

// Processes that are asked to stop, and connections beside one in trouble.
extension WorldPlan {
    /// Themes that affect one connection and leave the process, its disk and its other connections alone.
    static let ofOneSide: [Theme] = [.agentLink, .relayLink, .answers, .pages, .refusals, .tokens, .pairing]

    /// Moves every trouble to the other side.
    mutating func leaveUntouched(_ side: Int) {
        untouched = side
        for index in troubles.indices where troubles[index].side == side { troubles[index].side = 1 - side }
        guard !messages.contains(where: { $0.side == side }), let last = messages.indices.last else { return }
        messages[last].side = side
        messages[last].chat = 20
    }

    mutating func drawShutdowns(using random: inout SeededGenerator) {
        let closes = random.happens(0.3)
        for _ in 0..<Int.random(in: 1...2, using: &random) {
            let at = Duration.milliseconds(Int64.random(in: 50...14_000, using: &random))
            let down = Duration.milliseconds(Int64.random(in: 1...3_000, using: &random))
            troubles.append(Trouble(at: at, side: 0, misfortune: .shutDown(closing: closes, down: down)))
        }
        quietAt = max(quietAt, .seconds(24))
    }

    /// The bridge ends running turns with a line when it is asked to stop.
    var closesTurns: Bool {
        troubles.contains { if case .shutDown(let closing, _) = $0.misfortune { closing } else { false } }
    }
}
