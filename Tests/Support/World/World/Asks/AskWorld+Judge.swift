package import RelayRules
import Vocabulary

// What is judged, from outside: by what the relay was given, what the person tapped, and what the agent heard and executed. Each is judged
// in the moment in which it happens: a card that is allowed later is no yes.
extension AskWorld {
    /// A card that was on its way when the bridge took the Stop.
    private static let onItsWay = Duration.milliseconds(500)

    func watch() {
        noteStops()
        for executed in executed.dropFirst(judged.executed) { judge(executed) }
        for approval in denied.dropFirst(judged.denied) { judge(denial: approval) }
        judged = (executed.count, denied.count)
        judgeSigns()
    }

    /// When the bridge has acknowledged a Stop.
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
        // What asks again is the same ask under its next number; what the agent has left may have a card that is still open.
        let base = Self.base(card.id)
        let open = side.relay.pendingApprovals.filter { Self.base($0.id) == base }
        if open.count > 1 { violations.append("\(open.map(\.id)) are open at once") }
    }

    static func base(_ card: String) -> String {
        card.firstRange(of: "-ask-").map { String(card[..<$0.lowerBound]) } ?? card
    }

    func judge() {
        for card in side.shown.approvals {
            // What can only be denied is cut, if need be within an escape.
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

    /// Which ask an agent means: the one behind it under the same id is the same of the script.
    func number(of approval: String) -> Int? {
        asks.firstIndex {
            approval == $0.approval || approval == "\($0.approval)-2" || approval == "plugin:\($0.approval)"
        }
    }

    /// Some card of this ask which a person has allowed by now shows all of it.
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

    /// The chat had all of it in the question to which the person wrote a yes.
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

    /// The agent hears a denial only where a person denied, pressed Stop, or left the ask for as long as it is held; and a yes is a denial
    /// only where the title says so.
    private func judge(denial approval: String) {
        guard let number = number(of: approval) else { return }
        let ask = asks[number]
        // A question that is too long for the chat is declined.
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

    /// As its title says.
    private func canOnlyBeDenied(_ card: String) -> Bool {
        side.shown.title(of: card)?.contains("only be denied") == true
    }

    /// Whatever the answer is: nothing is opened for it.
    func isAnswered(_ text: String) -> Bool {
        guard let sent = side.sent.first(where: { $0.text == text }) else { return false }
        return side.relay.sessions.contains { session in
            session.id == sent.session
                && session.messages.contains { $0.role == .agent && $0.interaction == sent.interaction && $0.isFinal }
        }
    }
}

extension AgentExecuted {
    /// What of it has to be on the card.
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
