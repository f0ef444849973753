import RelayRules
import Vocabulary

// Words of the person while a card is open (DESIGN.md#words-refuse): the ask that they may refuse, and that the agent
// reads them once.
extension AskWorld {
    /// A message of the person, with the asks that it may refuse.
    struct Written {
        var text: String
        var at: Instant
        var refuses: Set<Int>
    }

    /// Time that a card must be readable before words count, minus the time of the relay's answer.
    private static let readingTime = Duration.milliseconds(1_500)
    /// Two cards that the relay received within this span may count as newest in either order.
    private static let sameTime = Duration.seconds(2)

    /// Separate draws, so the others stay as they are.
    func drawWords(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed &* 71 &+ 5)
        for index in asks.indices where random.happens(0.4) {
            let words = random.pick(Words.allCases)
            let place = Int.random(in: 0..<asks[index].taps.count, using: &random)
            asks[index].taps[place] = .says(words)
        }
    }

    func says(_ words: Words, about number: Int) {
        extra += 1
        let (text, after): (String, Duration) =
            switch words {
            case .refuses:
                ("Use another way for this, \(extra)", .milliseconds(Int64.random(in: 4_000...20_000, using: &random)))
            case .agrees: ("Yes, do all of it now, \(extra)", .seconds(5))
            case .early: ("Use some other way, \(extra)", .milliseconds(Int64.random(in: 0...1_200, using: &random)))
            }
        let isKilled = random.happens(0.5)
        side.gives(GatewayScript((20, .says("As you say.")), (isKilled ? 3_000 : 30, .finishes)), to: text)
        write(text, chat: asks[number].chat, after: after)
        guard isKilled else { return }
        // A kill between the denial and the words, together with them, or while the agent works on them.
        let kill = after + .milliseconds(Int64.random(in: 0...random.pick([600, 3_000]), using: &random))
        world.time.after(kill) { [weak self] in
            guard let self, world.isRunning else { return }
            isTroubled(for: .seconds(5))
            world.restarts(down: .seconds(2))
            side.pump()
        }
    }

    /// The person writes now: notes the asks that the words may refuse.
    func notes(_ text: String, chat: Int) {
        let now = world.time.now
        guard !text.hasPrefix("/"), !text.hasPrefix("Yes") else { return }
        let open = side.relay.pendingApprovals.compactMap { card in cards[card.id] }
            .filter { asks[$0.ask].chat == chat && $0.at + Self.readingTime <= now }
        guard let newest = open.map(\.at).max() else { return }
        let refuses = Set(open.filter { $0.at + Self.sameTime >= newest }.map(\.ask))
        written.append(Written(text: text, at: now, refuses: refuses))
    }

    /// The person's words may have refused the ask.
    func isRefusedInWords(_ number: Int) -> Bool { written.contains { $0.refuses.contains(number) } }

    func judgeWords() {
        for sent in side.sent {
            // A gateway has one run for all requests under one key.
            let times =
                kind == .openClaw
                ? side.begun(sent.text) : side.asked(about: sent).count { $0 == .prompt }
            // A text such as "No" appears in more than one chat.
            if times > side.sent.count(where: { $0.text == sent.text }) {
                violations.append("\(sent.text) was prompted twice")
            }
        }
    }
}
