import Vocabulary

// Claude Code in a world, and the troubles of its turns.
extension WorldPlan {
    private static let undisturbed: Set<Theme> = [.codes, .neighbours, .sleep, .shutdowns, .tokens]

    /// A separate generator, so other seeds stay as they were. One world in five has Claude Code.
    mutating func drawClaude() -> Bool {
        var random = SeededGenerator(seed: seed ^ 0x636C_6175_6465)
        guard !themes.contains(.jobs), random.happens(0.2) else { return false }
        agentLimit = random.pick([8, 8, 2, 1])
        for side in agents.indices where side == 0 || random.happens(0.5) { agents[side] = .claude }
        guard themes.isDisjoint(with: Self.undisturbed) else { return true }
        // A session has one turn at a time, so messages with approvals may follow each other in a chat.
        for index in messages.indices where agents[messages[index].side] == .claude && sealing == nil {
            messages[index].chat = random.pick([0, 0, 1])
        }
        for _ in 0..<random.pick([0, 0, 1, 2, 3]) { drawDeath(using: &random) }
        for index in messages.indices where mayStop(index) {
            if random.happens(0.2) { drawStopOfAsk(index, using: &random) }
        }
        return true
    }

    private func mayStop(_ index: Int) -> Bool {
        let message = messages[index]
        return agents[message.side] == .claude && message.second == nil && message.stopsAfter == nil
            && !themes.contains(.plenty)
    }

    /// The person stops the message while it asks, or a moment before.
    private mutating func drawStopOfAsk(_ index: Int, using random: inout SeededGenerator) {
        messages[index].script = WorldScript(.approval, name: messages[index].script.name, using: &random)
        messages[index].decision?.after = .seconds(6)
        messages[index].stopsAfter = .milliseconds(Int64.random(in: 100...4_000, using: &random))
    }

    /// A death during a turn, of the bridge, which leaves its programs running, or of the programs.
    private mutating func drawDeath(using random: inout SeededGenerator) {
        let ours = messages.indices.filter { agents[messages[$0].side] == .claude }
        guard !ours.isEmpty else { return }
        let index = random.pick(ours)
        let message = messages[index]
        let after = Int64.random(in: 5...4_000, using: &random)
        let at = message.at + .milliseconds(after)
        // A Stop shortly before the death.
        if mayStop(index), random.happens(0.3) {
            messages[index].stopsAfter = .milliseconds(max(1, after - Int64.random(in: 1...300, using: &random)))
        }
        let away = Duration.milliseconds(Int64.random(in: 1...random.pick([50, 6_000]), using: &random))
        let misfortune: Misfortune = random.happens(0.7) ? .kill(down: away) : .cutGateway(away: away)
        troubles.append(Trouble(at: at, side: message.side, misfortune: misfortune))
    }
}
