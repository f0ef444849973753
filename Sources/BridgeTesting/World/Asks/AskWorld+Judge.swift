import BridgeModel
package import RelayRules

// What is judged, from outside: by what the relay was given, what the person tapped, and what the agent heard and executed.
extension AskWorld {
    /// A card that was on its way when the bridge took the Stop.
    private static let onItsWay = Duration.milliseconds(500)

    /// When the bridge has acknowledged a Stop.
    func watch() {
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

    private static func base(_ card: String) -> String {
        card.firstRange(of: "-ask-").map { String(card[..<$0.lowerBound]) } ?? card
    }

    func judge() {
        for executed in executed { judge(executed) }
        for number in asks.indices { judgeDenials(of: number) }
        for card in side.shown.approvals {
            // What can only be denied is cut, if need be within an escape.
            for scalar in Set(side.shown.unseen(on: card)) where scalar != "U+27E8" || !canOnlyBeDenied(card) {
                violations.append("\(card) hides \(scalar)")
            }
        }
        for sent in side.sent where answer(to: sent.text) == nil { violations.append("\(sent.text) has no answer") }
        violations += side.agentBreaches.map { "agent: \($0)" }
        violations += side.relay.breaches.map { "relay: \($0.sentence)" }
    }

    private var executed: [AgentExecuted] { side.scripted?.executed ?? side.gateway.executed }

    /// Of all that a person allowed, some card shows all of it.
    private func judge(_ executed: AgentExecuted) {
        let lies = side.shown.approvals.map { side.shown.lies(executed.pieces, allowedBy: $0) }
        guard lies.allSatisfy({ !$0.isEmpty }) else { return }
        let why = lies.flatMap(\.self).map { $0.prefix(300) }.suffix(3)
        violations.append("\(executed.approval) was executed, and no card that was allowed shows it: \(why)")
    }

    /// The agent hears a denial only where a person denied, pressed Stop, or left the ask for as long as it is held; and a yes is a denial
    /// only where the title says so.
    private func judgeDenials(of number: Int) {
        let ask = asks[number]
        let heard = side.scripted.map { $0.decided.filter { !$0.isYes }.map(\.approval) } ?? side.denied
        guard heard.contains(where: { $0 == ask.approval || $0 == "\(ask.approval)-2" }) else { return }
        guard ask.stoppedAt == nil, patience == nil, !ask.answers.contains(false) else { return }
        if ask.answers.isEmpty || !ask.cards.contains(where: canOnlyBeDenied) {
            violations.append("\(ask.approval) was denied at the agent, and the person said \(ask.answers)")
        }
    }

    /// As its title says.
    private func canOnlyBeDenied(_ card: String) -> Bool {
        side.shown.title(of: card)?.contains("only be denied") == true
    }

    func answer(to text: String) -> String? {
        guard let sent = side.sent.first(where: { $0.text == text }) else { return nil }
        return side.answers(to: sent).first { $0.isFinal }?.text
    }
}

extension AgentExecuted {
    /// What of it has to be on the card.
    package var pieces: [ShownBeforeYes.Executed] {
        var pieces: [ShownBeforeYes.Executed] = []
        if let command { pieces.append(.content(Array(command.utf8))) }
        if let arguments { pieces.append(.arguments(arguments)) }
        if let folder { pieces.append(.folder(folder)) }
        if let node { pieces.append(.name(node)) }
        for text in [content, path].compactMap(\.self) { pieces.append(.content(Array(text.utf8))) }
        return pieces + [input, permissions].compactMap(\.self).map { .input($0) }
    }
}
