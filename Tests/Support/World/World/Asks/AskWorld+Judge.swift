package import RelayRules
import Vocabulary

// Judges from outside: by the relay's cards, the person's taps, and the commands that the agent received and
// executed.
// Each is judged at its own moment, because a card that is allowed later is no yes.
extension AskWorld {
    /// Time in which a card may still arrive after the bridge took the Stop.
    private static let onItsWay = Duration.milliseconds(500)

    func watch() {
        noteStops()
        for executed in executed.dropFirst(judged.executed) { judge(executed) }
        for approval in denied.dropFirst(judged.denied) { judge(denial: approval) }
        judged = (executed.count, denied.count)
        judgeSigns()
    }

    /// Notes when the bridge acknowledged each Stop.
    private func noteStops() {
        for index in asks.indices where asks[index].stoppedAt != nil && asks[index].stopTakenAt == nil {
            let session = side.sent.first { $0.text == asks[index].text }?.session
            let isPending = side.relay.pendingUpdates().contains {
                $0.type == "session.cancelled" && $0.session == session
            }
            if !isPending { asks[index].stopTakenAt = world.time.now }
        }
    }

    func judge(new card: PhoneApproval, of number: Int) {
        let ask = asks[number]
        if let stop = ask.stopTakenAt, world.time.now > stop + Self.onItsWay {
            violations.append("\(card.id) was asked after the Stop of \(ask.text)")
        }
        // A card that returns is the same ask under its next number. An ask that the agent dropped may still have an
        // open card.
        let base = Self.base(card.id)
        let open = side.relay.pendingApprovals.filter { Self.base($0.id) == base }
        if open.count > 1 { violations.append("\(open.map(\.id)) are open at once") }
    }

    static func base(_ card: String) -> String {
        card.firstRange(of: "-ask-").map { String(card[..<$0.lowerBound]) } ?? card
    }

    func judge() {
        for card in side.shown.approvals {
            // A card that can only be denied is cut, perhaps within an escape.
            for scalar in Set(side.shown.unseen(on: card)) where scalar != "U+27E8" || !canOnlyBeDenied(card) {
                violations.append("\(card) hides \(scalar)")
            }
        }
        judgeWords()
        for sent in side.sent where !isAnswered(sent.text) { violations.append("\(sent.text) has no answer") }
        violations += side.agentBreaches.map { "agent: \($0)" }
        violations += side.relay.breaches.map { "relay: \($0.sentence)" }
    }

    private var executed: [AgentExecuted] { side.scripted?.executed ?? side.gateway.executed }
    private var denied: [String] {
        side.scripted.map { $0.decided.filter { !$0.isYes }.map(\.approval) } ?? side.denied
    }

    /// The ask that an agent's name means. A second ask under the same id belongs to the same ask of the script.
    func number(of approval: String) -> Int? {
        asks.firstIndex {
            approval == $0.approval || approval == "\($0.approval)-2" || approval == "plugin:\($0.approval)"
        }
    }

    /// Demands a card of this ask that shows everything and that a person has already allowed.
    private func judge(_ executed: AgentExecuted) {
        guard let number = number(of: executed.approval) else {
            return violations.append("\(executed.approval) was executed, and no message asked for it")
        }
        if self.executed.count(where: { $0.approval == executed.approval }) > 1 {
            violations.append("\(executed.approval) was executed more than once")
        }
        if isAskedInWords { return judge(executed, of: asks[number]) }
        let lies = asks[number].cards.map { side.shown.lies(executed.pieces, allowedBy: $0) }
        guard lies.allSatisfy({ !$0.isEmpty }) else { return }
        let why = lies.flatMap(\.self).map { $0.prefix(300) }.suffix(3)
        violations.append("\(executed.approval) was executed, and no card of it that was allowed shows it: \(why)")
    }

    /// Demands that the question in the chat showed everything, and that the person answered it with yes.
    private func judge(_ executed: AgentExecuted, of ask: Ask) {
        guard ask.reply == Self.always[0], let question = ask.question else {
            return violations.append(
                "\(executed.approval) is always allowed, and the person wrote \(ask.reply ?? "nothing")")
        }
        var shown = ShownBeforeYes()
        shown.asked(executed.approval, ShownBeforeYes.Card(message: question), in: "")
        shown.decided(executed.approval, "approve")
        violations += shown.lies(executed.pieces, allowedBy: executed.approval)
    }

    /// A denial at the agent needs a person who denied, pressed Stop, or let the ask's patience run out. A yes may
    /// count as a denial only if the title says so.
    private func judge(denial approval: String) {
        guard let number = number(of: approval) else { return }
        let ask = asks[number]
        // The bridge declines a question that is too long for the chat.
        guard ask.stoppedAt == nil, !isAskedInWords || ask.reply == Self.always[0] && ask.command.utf8.count < 10_000
        else {
            return
        }
        let since = side.sent.first { $0.text == ask.text }?.at ?? .zero
        if let patience, world.time.now >= since + patience { return }
        let isMeant = ask.cards.contains { card in
            side.shown.decision(on: card).map { !$0 || canOnlyBeDenied(card) } ?? false
        }
        if !isMeant, !isRefusedInWords(number) {
            violations.append("\(approval) was denied at the agent, and no person had denied it")
        }
    }

    /// The title says so.
    private func canOnlyBeDenied(_ card: String) -> Bool {
        side.shown.title(of: card)?.contains("only be denied") == true
    }

    /// Whether the message has a final answer, whatever that says.
    func isAnswered(_ text: String) -> Bool {
        guard let sent = side.sent.first(where: { $0.text == text }) else { return false }
        return side.relay.sessions.contains { session in
            session.id == sent.session
                && session.messages.contains { $0.role == .agent && $0.interaction == sent.interaction && $0.isFinal }
        }
    }
}

extension AgentExecuted {
    /// Pieces that the card must show.
    package var pieces: [ShownBeforeYes.Executed] {
        var pieces: [ShownBeforeYes.Executed] = []
        if let command { pieces.append(.content(Array(command.utf8))) }
        if let arguments { pieces.append(.arguments(arguments)) }
        if let folder { pieces.append(.folder(folder)) }
        for name in [node, opened].compactMap(\.self) { pieces.append(.name(name)) }
        for text in [content, path].compactMap(\.self) { pieces.append(.content(Array(text.utf8))) }
        return pieces + [input, permissions].compactMap(\.self).map { .input($0) }
    }
}
