import BridgeService
import RelayRules
import Vocabulary

// Habits of the relay, and levels of thought. Each has a separate generator after all others, so the draws above stay
// as they were.
extension WorldPlan {
    static let otherReasons = ["navigation_away", "unheard_of"]

    mutating func drawRelayHabits() {
        drawClocks()
        drawReasons()
        drawCancellations()
        drawRemoval()
        drawRefusedQuestion()
        drawLevels()
        drawEarlyStops()
        messages.sort { $0.at < $1.at }
    }

    /// One machine in three has another clock than its relay.
    private mutating func drawClocks() {
        var random = SeededGenerator(seed: seed ^ 0x636C_6F63)
        clocksAhead = agents.map { _ in
            let minutes: Int64 = random.pick([2, 10, 35, 60])
            let isBehind = random.happens(0.3)
            return random.happens(0.33) ? .seconds((isBehind ? -60 : 60) * minutes) : .zero
        }
    }

    /// Half of the Stops have a reason other than the person.
    private mutating func drawReasons() {
        var random = SeededGenerator(seed: seed ^ 0x7265_6173)
        for index in messages.indices where messages[index].stopsAfter != nil && random.happens(0.5) {
            messages[index].stopReason = random.pick(Self.otherReasons)
        }
    }

    /// The relay cancels chats that show runs of others, while those run.
    private mutating func drawCancellations() {
        var random = SeededGenerator(seed: seed ^ 0x6361_6E63)
        guard themes.isDisjoint(with: [.sleep, .codes]) else { return }
        func isShown(_ trouble: Trouble) -> Bool {
            switch trouble.misfortune {
            case .foreignRun, .privateRun, .oppi(.prompt), .oppi(.asksElsewhere), .codex(.prompt):
                mirrors[trouble.side] == .all
            case .job: mirrors[trouble.side] != .none
            default: false
            }
        }
        let runs = troubles.filter(isShown).map { ($0.at, $0.side) } + jobs.map { ($0.at, $0.side) }
        for (at, side) in runs where random.happens(0.6) {
            for _ in 0..<random.pick([1, 2, 3]) {
                let later = Duration.milliseconds(Int64.random(in: 60...900, using: &random))
                let reason = random.pick(Self.otherReasons)
                troubles.append(Trouble(at: at + later, side: side, misfortune: .relayCancels(reason: reason)))
            }
        }
    }

    /// A call learns that the installation was removed, in a world without other troubles.
    private mutating func drawRemoval() {
        var random = SeededGenerator(seed: seed ^ 0x7265_6D6F)
        guard code == nil, themes.isSubset(of: [.stops, .plenty, .foreign]), untouched == nil, random.happens(0.3),
            let first = messages.first
        else { return }
        themes = []
        troubles = []
        mirrors = mirrors.map { _ in .none }
        for index in messages.indices { (messages[index].stopsAfter, messages[index].stopReason) = (nil, nil) }
        if random.happens(0.6), let index = messages.firstIndex(where: { $0.side == first.side }) {
            messages[index].script = WorldScript(
                random.pick([.approval, .approval, .detached, .long]), name: messages[index].script.name, using: &random
            )
            messages[index].second = nil
            messages[index].chat = 21
        }
        let status = random.pick([403, 410])
        code = WorldCode.removal(status, by: random.pick(Self.methods.dropLast()))
        let at = first.at + .milliseconds(Int64.random(in: 50...5_000, using: &random))
        let refusal = Fault.Kind.refused(status: status, code: "installation_revoked")
        troubles.append(
            Trouble(at: at, side: first.side, misfortune: .call(Fault(refusal, method: code?.method))))
        troubles.append(Trouble(at: .seconds(18), side: first.side, misfortune: .anotherToken))
        quietAt = max(quietAt, .seconds(26))
    }

    /// The relay's content filter refuses the question of this message. The person writes in the same chat while the
    /// run waits.
    private mutating func drawRefusedQuestion() {
        var random = SeededGenerator(seed: seed ^ 0x3435_3171)
        let others: Set<Theme> = [.codes, .jobs, .sleep, .neighbours, .shutdowns, .numbers, .disk, .tokens, .kills]
        guard themes.isDisjoint(with: others), code == nil, sealing == nil, random.happens(0.55),
            let side = agents.indices.first(where: { agents[$0] != .openClaw })
        else { return }
        themes.insert(.refusals)
        var message = Message(
            at: .milliseconds(Int64.random(in: 100...6_000, using: &random)), side: side, chat: 40,
            script: WorldScript(.approval, name: "m\(seed)q0", using: &random))
        message.decision = Decision(tap: "approve", after: .milliseconds(Int64.random(in: 50...900, using: &random)))
        messages.append(message)
        refusedQuestions[message.script.approval] = .milliseconds(Int64.random(in: 40...900, using: &random))
    }

    /// Levels for agents whose doubles know them. A sealed message carries its level elsewhere.
    private mutating func drawLevels() {
        var random = SeededGenerator(seed: seed ^ 0x6C65_7665)
        guard sealing == nil, random.happens(0.4) else { return }
        for index in messages.indices where [.pi, .codex, .claude].contains(agents[messages[index].side]) {
            guard random.happens(0.5), files[messages[index].text] == nil else { continue }
            messages[index].level = random.pick(["extended", "max", "default"])
        }
    }

    /// A Stop before the run's loop has begun.
    private mutating func drawEarlyStops() {
        var random = SeededGenerator(seed: seed ^ 0x6561_726C)
        let calm: Set<Theme> = [.stops, .plenty, .foreign, .answers, .relayLink]
        guard themes.isSubset(of: calm), code == nil else { return }
        for index in messages.indices where [.pi, .claude].contains(agents[messages[index].side]) {
            guard random.happens(0.6) else { continue }
            guard messages[index].second == nil, files[messages[index].text] == nil else { continue }
            // A long run shows whether it continues despite the Stop.
            messages[index].script = WorldScript(.long, name: messages[index].script.name, using: &random)
            (messages[index].stopsAfter, messages[index].stopsAtPrompt) = (.zero, true)
        }
    }
}
