import AgentKit
import BridgeCore
import RelayRules
import Vocabulary

/// A world about the person's yes: agents that ask with tricks, cards that nobody answers, taps on old cards, and
/// Stops during an ask, with kills and lost links on both sides, in the open and sealed.
///
/// An ask has no card, an open card or an expired card. After the last of its `taps` the person allows every card.
///
/// `AskWorld+Judge` holds the promises of DESIGN.md#asks: the agent executes only what a card of that ask showed and
/// a person allowed by then, and once; a denial at the agent comes from a person; no card follows a Stop; an ask has
/// at most one open card; a sign of life brings an unanswered ask back at once; each message gets an answer.
///
/// Among 25 seeds in a row each agent has a long sealed ask and a long open one.
package final class AskWorld {
    /// The person's reaction to a card.
    enum Tap: Hashable {
        case allows(after: Duration)
        case denies(after: Duration)
        /// The card expires, and then the person does this.
        case expires(Sign)
        /// The person writes while the card is open, and taps later if need be.
        case says(Words)
    }

    enum Words: Hashable, CaseIterable {
        /// Names another way.
        case refuses
        /// Begins with a yes, and decides nothing.
        case agrees
        /// Arrives before a person could have read the card.
        case early
    }

    enum Sign: Hashable, CaseIterable {
        /// The person does something else, and the card returns by itself.
        case none
        case message
        case word
        /// The relay delivers a tap on the expired card once the next one is there.
        case lateYes
        case lateNo
        case stop
    }

    struct Ask {
        var text: String
        var chat: Int
        var at: Duration
        /// The agent's name for the ask, and its command.
        var approval: String
        var command: String
        var taps: [Tap]
        /// Cards of the ask, in the order of their arrival.
        var cards: [String] = []
        var stoppedAt: Instant?
        var stopTakenAt: Instant?
        /// Text of the chat when the person replied to a question.
        var question: String?
        var reply: String?
    }

    /// When the relay ends a card that shall expire, whatever the bridge asked for.
    static let cardLife = Duration.seconds(60)

    let world: LiveWorld
    let kind: WorldAgentKind
    /// Options of an extension of pi that offers "always".
    static let always = ["Always allow", "No"]
    var random: SeededGenerator
    var asks: [Ask] = []
    /// How much of the agent's executions and denials is judged.
    var judged = (executed: 0, denied: 0)
    /// End of the last trouble.
    var troubledUntil = Instant.zero
    var signs: [SignSeen] = []
    var written: [Written] = []
    /// Lifetime of an ask by the agent's clock, or nil if the agent waits without limit.
    private(set) var life: Duration?
    var cards: [String: (ask: Int, at: Instant)] = [:]
    var violations: [String] = []
    /// The bridge denies an ask without an answer after this time.
    let patience: Duration?
    private let isSealed: Bool
    var extra = 0
    /// Number of replies that the person took back before they were sent.
    var unwritten = 0

    /// `trace` receives everything that happens, in words.
    package static func run(seed: UInt64, trace: ((String) -> Void)? = nil) -> [String] {
        let world = AskWorld(seed)
        world.side.trace = trace
        trace?(
            "\(world.kind.rawValue), \(world.asks.map { "\($0.text) \($0.approval) \($0.taps) \($0.command.utf8.count)" })"
        )
        defer { world.world.end() }
        return world.play()
    }

    private init(_ seed: UInt64) {
        random = SeededGenerator(seed: seed &* 67 &+ 3)
        kind = WorldAgentKind.allCases[Int(seed % UInt64(WorldAgentKind.allCases.count))]
        let share = seed / UInt64(WorldAgentKind.allCases.count) % 5
        let isLong = share < 2
        isSealed = isLong ? share == 0 : random.happens(0.3)
        patience = random.happens(0.15) ? .seconds(400) : nil
        world = LiveWorld(random.pick(GatewayEra.allCases), scripts: [:], seed: seed)
        for number in 0..<Int.random(in: 1...3, using: &random) {
            asks.append(drawAsk(number, isLong: isLong && number == 0))
        }
        prepareAgent(seed)
        prepareRelay()
        drawWords(seed)
    }

    private func drawAsk(_ number: Int, isLong: Bool) -> Ask {
        var taps: [Tap] = []
        while random.happens(0.45), taps.count < 3 { taps.append(.expires(random.pick(Sign.allCases))) }
        let after = Duration.milliseconds(Int64.random(in: 300...20_000, using: &random))
        taps.append(!isLong && random.happens(0.25) ? .denies(after: after) : .allows(after: after))
        let name = "m\(number)x"
        let command =
            isLong ? AskTricks.long(name, using: &random) : AskTricks.command(name, using: &random)
        return Ask(
            text: "Question \(number)?", chat: Int.random(in: 0...1, using: &random),
            at: .milliseconds(Int64.random(in: 500...8_000, using: &random)), approval: "ask\(number)",
            command: command, taps: taps)
    }

    // MARK: The sides

    var side: WorldSide { world.sides[0] }

    private func prepareAgent(_ seed: UInt64) {
        side.uses(kind, double(seed), seed: seed)
        if let patience { side.bridge.turn.asks.patience = patience }
        side.bridge.turn.asks.whenAsked = .refuse
        side.bridge.turn.steersWords = kind != .openClaw
        for ask in asks {
            let call = "call-\(ask.approval)"
            side.gives(
                GatewayScript(
                    (40, .says("I ask. ")), (30, .callsTool(id: call, command: ask.command)),
                    (20, .asksApproval(id: ask.approval, command: ask.command)),
                    (100, .toolReturns(id: call, output: "done")),
                    (40, .says("It is over.")), (30, .finishes)), to: ask.text)
            side.gateway.places[ask.command] = drawPlace(ask.command)
        }
        if kind == .openClaw { life = .milliseconds(Int64(side.gateway.era.approvalLifeMilliseconds)) }
    }

    private func drawPlace(_ command: String) -> GatewayPlace {
        // A command that is both long and shown twice can only be denied.
        let isLong = command.utf8.count > 20_000
        let tricks: [GatewayTrick] = isLong ? [.unknownFields, .plugin, .another] : GatewayTrick.allCases
        var place = GatewayPlace()
        if random.happens(0.7) { place.trick = random.pick(tricks) }
        if random.happens(0.3) { (place.cwd, place.nodeId) = ("/srv/a\u{202E}b", "n1") }
        if !isLong, random.happens(0.2) { place.commandArgv = ["/srv/evil/sh", "-c", command] }
        return place
    }

    private func double(_ seed: UInt64) -> (any ScriptedAgent)? {
        switch kind {
        case .openClaw: return nil
        case .pi:
            var habits = ScriptedPi.Habits()
            habits.guards = random.pick([nil, ["Yes", "No"], Self.always])
            habits.asksForAnother = random.happens(0.4)
            return ScriptedPi(world.time, habits, seed: seed)
        case .oppi:
            var habits = ScriptedOppi.Habits()
            habits.dialect = random.pick(ScriptedOppi.Dialect.allCases)
            habits.approvalTimeout = random.pick([nil, nil, .seconds(900)])
            habits.ignoresStops = random.pick([0, 1])
            habits.tricks = random.happens(0.8) ? OppiTrick.allCases : []
            life = habits.approvalTimeout
            return ScriptedOppi(world.time, habits, seed: seed)
        case .codex:
            var habits = ScriptedCodex.Habits()
            habits.isNamed = random.happens(0.7)
            habits.tricks = random.happens(0.8) ? CodexTrick.allCases : []
            habits.ignoresStops = random.pick([0, 1])
            return ScriptedCodex(world.time, habits, seed: seed)
        case .claude: return ScriptedClaude(world.time, ScriptedClaude.Habits.drawn(using: &random), seed: seed)
        }
    }

    private func prepareRelay() {
        side.relay.cards.knowsLifetime = random.happens(0.8)
        side.decide = { [weak self] in self?.sees($0) }
        guard isSealed else { return }
        side.seals = true
        side.sealing.pairedAt = world.time.wallMilliseconds
        side.addsPhone()
    }

    // MARK: The course

    private func play() -> [String] {
        world.start()
        for ask in asks { write(ask.text, chat: ask.chat, after: ask.at) }
        drawTroubles()
        let end = Instant.zero + .seconds(3 * 3_600)
        while violations.count < 6, world.step(until: end), world.time.steps < 200_000 {
            watch()
            replyToQuestions()
            if world.time.now > .zero + .seconds(30), isDrained { break }
        }
        judge()
        return violations
    }

    /// In a sealed world every message is sealed.
    func write(_ text: String, chat: Int, after: Duration) {
        world.time.after(after) { [weak self] in self?.notes(text, chat: chat) }
        if isSealed {
            side.writesSealed(text, chat: chat, after: after)
        } else {
            side.writes(text, chat: chat, after: after)
        }
    }

    private var isDrained: Bool {
        world.isRunning && side.sent.count >= asks.count + extra - unwritten && world.openTurns == 0
            && side.relay.pendingUpdates().isEmpty && side.journal.openTurns.isEmpty && !side.agentIsBusy
    }

    private func drawTroubles() {
        for _ in 0..<Int.random(in: 0...4, using: &random) {
            let span: Int64 = random.pick([12_000, 120_000, 600_000])
            let at = Duration.milliseconds(Int64.random(in: 300...span, using: &random))
            let away = Duration.milliseconds(Int64.random(in: 0...random.pick([2_000, 90_000]), using: &random))
            let trouble = Int.random(in: 0..<4, using: &random)
            world.time.after(at) { [weak self] in
                guard let self else { return }
                isTroubled(for: away)
                switch trouble {
                case 0, 1: if world.isRunning { world.restarts(down: away) }
                case 2: side.cutAgent(away: away)
                default: side.cutRelay()
                }
                side.pump()
            }
        }
    }

    // MARK: The person

    /// Called for an open card at each look. Returns the tap.
    private func sees(_ card: PhoneApproval) -> (tap: String, scope: ApprovalScope, after: Duration)? {
        let first = cards[card.id] == nil
        guard let number = cards[card.id]?.ask ?? ask(of: card) else {
            violations.append("the card \(card.id) is of no message")
            return ("deny", ApprovalScope(), .zero)
        }
        if first {
            cards[card.id] = (number, world.time.now)
            asks[number].cards.append(card.id)
            judge(new: card, of: number)
        }
        let index = asks[number].cards.firstIndex(of: card.id) ?? 0
        switch asks[number].taps.indices.contains(index) ? asks[number].taps[index] : .allows(after: .seconds(2)) {
        case .allows(let after): return ("approve", ApprovalScope(), after)
        case .denies(let after): return ("deny", ApprovalScope(), after)
        case .expires(let sign):
            guard first else { return nil }
            later(sign, card, number)
            side.endsApprovals(reason: random.pick(["expired", "timeout", "card_expired"]), after: Self.cardLife) {
                $0.id == card.id
            }
            return nil
        case .says(let words):
            if first { says(words, about: number) }
            return (words == .refuses ? "deny" : "approve", ApprovalScope(), .seconds(60))
        }
    }

    /// Finds the ask by the card's name, or else by its message. A card that comes after the relay's window has
    /// another interaction.
    private func ask(of card: PhoneApproval) -> Int? {
        let base = Self.base(card.id)
        if let number = number(of: base) ?? cards.first(where: { Self.base($0.key) == base })?.value.ask {
            return number
        }
        // Codex puts turn and item in front of the name, and a count behind it for a second ask.
        let parts = base.split(separator: ":")
        if let number = asks.firstIndex(where: { parts.contains($0.approval[...]) }) { return number }
        let all = side.sent.filter { sent in asks.contains { $0.text == sent.text } }
        let sent = all.first { $0.interaction == card.interaction } ?? all.last { $0.session == card.session }
        return asks.firstIndex { $0.text == sent?.text }
    }

    private func later(_ sign: Sign, _ card: PhoneApproval, _ number: Int) {
        let pause = Duration.milliseconds(Int64.random(in: 2_000...400_000, using: &random))
        let chat = asks[number].chat
        switch sign {
        case .none: return
        case .message, .word, .lateYes, .lateNo:
            extra += 1
            let text = sign == .message ? "Are you there, \(extra)?" : "/bridge asks"
            side.gives(GatewayScript((20, .says("I am.")), (30, .finishes)), to: text)
            write(text, chat: chat, after: Self.cardLife + pause)
            world.time.after(Self.cardLife + pause) { [weak self] in
                self?.isThere(for: number, byWord: sign != .message)
            }
            switch sign {
            case .lateYes: repeatTap("approve", on: card, number)
            case .lateNo: repeatTap("deny", on: card, number)
            case .none, .message, .word, .stop: break
            }
        case .stop:
            // The Stop comes before the card's end or after it. Then the person looks for open asks.
            let after = random.happens(0.3) ? .seconds(5) : Self.cardLife + pause
            extra += 1
            world.time.after(after) { [weak self] in
                guard let self, asks[number].stoppedAt == nil else { return }
                switch random.pick(["", "away", "deaf", "deaf"]) {
                case "away": side.cutAgent(away: .seconds(40))
                case "deaf": side.agentIsDeaf(for: .seconds(20))
                default: break
                }
                isTroubled(for: .seconds(40))
                asks[number].stoppedAt = world.time.now
                side.stops(asks[number].text, after: .zero)
            }
            write("/bridge asks", chat: chat, after: after + .seconds(1))
        }
    }

    /// The relay delivers a late or second tap, on the card before the open one.
    private func repeatTap(_ tap: String, on card: PhoneApproval, _ number: Int) {
        let count = asks[number].cards.count
        world.time.after(.seconds(1)) { [weak self] in
            guard let self else { return }
            guard asks[number].cards.count > count else {
                if !isAnswered(asks[number].text) { repeatTap(tap, on: card, number) }
                return
            }
            _ = side.relay.pushUpdate(
                type: "approval.resolved", session: card.session, interaction: card.interaction,
                payload: Array(#"{"approval_id":"\#(card.id)","decision":"\#(tap)"}"#.utf8), at: side.moment)
            side.pump()
        }
    }
}
