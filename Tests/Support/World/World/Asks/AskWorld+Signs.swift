import RelayRules
import Vocabulary

// Signs of life: the person's messages while an ask has no card, and the card that must follow.
extension AskWorld {
    /// A sign of life in the chat of an ask whose card expired.
    struct SignSeen {
        var ask: Int
        var at: Instant
        /// Number of the ask's cards at that moment.
        var cards: Int
    }

    /// Longest time until the card must be there.
    private static let wait = Duration.seconds(30)
    /// Delays until an expired card returns by itself, by the number of cards so far (DESIGN.md#asks).
    private static let returns = [Duration.seconds(300), .seconds(900), .seconds(3_600)]
    /// Shortest time between two cards that messages bring back.
    private static let pause = Duration.seconds(300)

    /// Links and processes need some time to reconnect after a trouble.
    func isTroubled(for span: Duration) { troubledUntil = max(troubledUntil, world.time.now + span + .seconds(60)) }

    /// The person writes a message or `/bridge asks`. Unless a card may come by itself in the meantime, one must come
    /// soon.
    func isThere(for number: Int, byWord: Bool) {
        let (ask, now) = (asks[number], world.time.now)
        guard let sent = side.sent.first(where: { $0.text == ask.text }), ask.stoppedAt == nil, now >= troubledUntil,
            let newest = ask.cards.last, let shownAt = cards[newest]?.at,
            !side.relay.pendingApprovals.contains(where: { ask.cards.contains($0.id) }), !isAnswered(ask.text),
            side.shown.decision(on: newest) == nil, byWord || ask.cards.count == 1 || shownAt + Self.pause <= now
        else { return }
        let closedAt = shownAt + Self.cardLife
        let comesBy =
            Self.returns.indices.contains(ask.cards.count - 1) ? closedAt + Self.returns[ask.cards.count - 1] : nil
        let ends = [life.map { sent.at + $0 - .seconds(30) }, patience.map { sent.at + $0 }, comesBy].compactMap(\.self)
        guard closedAt + .seconds(1) <= now, ends.allSatisfy({ now + Self.wait < $0 }) else { return }
        signs.append(SignSeen(ask: number, at: now, cards: ask.cards.count))
    }

    func judgeSigns() {
        let due = signs.filter { $0.at + Self.wait <= world.time.now }
        guard !due.isEmpty else { return }
        signs.removeAll { $0.at + Self.wait <= world.time.now }
        for sign in due where sign.at >= troubledUntil {
            let ask = asks[sign.ask]
            guard ask.stoppedAt == nil, ask.cards.count == sign.cards, !isAnswered(ask.text) else { continue }
            violations.append("\(ask.text) has no card \(Self.wait) after a sign of life")
        }
    }

    // MARK: Questions

    /// An option that says "always" is no plain yes, so the chat asks in words.
    var isAskedInWords: Bool { pi?.habits.guards == Self.always }
    private var pi: ScriptedPi? { side.scripted as? ScriptedPi }

    /// Replies once the phone shows the question, and reads again if the bubble has changed meanwhile.
    func replyToQuestions() {
        guard isAskedInWords, let open = pi?.processes.values.compactMap({ $0.run?.dialog }), !open.isEmpty else {
            return
        }
        for number in asks.indices where asks[number].reply == nil && open.contains(asks[number].approval) {
            guard let text = question(of: asks[number]) else { continue }
            let reply = random.pick(Self.always)
            (asks[number].question, asks[number].reply) = (text, reply)
            extra += 1
            side.gives(GatewayScript((20, .says("It is late.")), (30, .finishes)), to: reply)
            world.time.after(.seconds(2)) { [weak self] in
                guard let self else { return }
                if question(of: asks[number]) == text {
                    write(reply, chat: asks[number].chat, after: .zero)
                } else {
                    unwritten += 1
                    (asks[number].question, asks[number].reply) = (nil, nil)
                }
            }
        }
    }

    /// The bubble's text if it ends with a question.
    private func question(of ask: Ask) -> String? {
        guard let sent = side.sent.first(where: { $0.text == ask.text }),
            let text = side.answers(to: sent).map({ $0.isFinal ? $0.text : $0.streamed }).last,
            text.contains("1. \(Self.always[0])"), text.hasSuffix("/skip declines.")
        else { return nil }
        return text
    }
}
