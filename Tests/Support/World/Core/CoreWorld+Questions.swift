import BridgeCore
import RelayRules
import Vocabulary

// A run that asks, the person's replies, and the judgement of both.
extension CoreWorld {
    /// One question, as the agent and the phone know it.
    struct Asked {
        var since: Instant?
        /// Answer that the agent received.
        var answer: QuestionAnswer?
        var isOver = false
        /// Replies of the person, by interaction.
        var replies: [String: String] = [:]
        /// Replies written after Stop, which are messages like any other.
        var afterStop: Set<TurnID> = []
    }

    private static let hint = "Reply with the number of one option. /skip declines."

    // MARK: The agent

    /// The agent continues once it has an answer or its patience ends.
    func waitsForAnswer(_ index: Int) -> Bool {
        guard let asking = plan.messages[index].script.asking, let asked = asked[index] else { return false }
        return asked.answer == nil && now - (asked.since ?? now) < asking.patience
    }

    mutating func answers(_ question: QuestionID, _ answer: QuestionAnswer) {
        let known = plan.messages.indices.first { plan.messages[$0].script.asking?.question.id == question }
        guard let index = known, let asking = plan.messages[index].script.asking else {
            return violation("\(question) was never asked")
        }
        if answer != .declined, progress[index]?.aborted == true { violation("\(question) was answered after a stop") }
        guard asked[index]?.answer == nil, asked[index]?.isOver == false else {
            if answer != .declined { violation("\(question) was answered twice") }
            return
        }
        if case .choices(let values) = answer, values != ["blue"] || asking.replies.allSatisfy({ $0.text == "/skip" }) {
            violation("\(question) was answered by \(values), which no person chose")
        }
        asked[index]?.answer = answer
        schedule(.questionConfirmed(index), after: .milliseconds(2))
    }

    mutating func confirm(_ index: Int, _ bridge: inout Bridge) {
        guard !agentIsAway, let asking = plan.messages[index].script.asking, asked[index]?.answer != nil else { return }
        asked[index]?.isOver = true
        settle(asking.question.id, .answered, index, &bridge)
    }

    /// The question ends by itself. An answered one is already confirmed.
    mutating func questionEnds(_ index: Int, _ bridge: inout Bridge) {
        guard let asking = plan.messages[index].script.asking, asked[index]?.isOver == false else { return }
        asked[index]?.isOver = true
        settle(asking.question.id, asked[index]?.answer == nil ? .expired : .answered, index, &bridge)
    }

    private mutating func settle(
        _ question: QuestionID, _ reason: QuestionSettlement.Reason, _ index: Int, _ bridge: inout Bridge
    ) {
        guard let run = progress[index]?.run else { return }
        let signal = RunSignal(
            run: run, session: AgentSession("chat-\(plan.messages[index].chat)"),
            event: .questionSettled(QuestionSettlement(id: question, reason)))
        bridge.agentSays(signal, at: now)
    }

    mutating func ask(_ index: Int) {
        guard asked[index] == nil else { return }
        asked[index] = Asked(since: now)
        if plan.messages[index].script.asking?.replies.isEmpty == false { schedule(.replies(index, 0), after: .zero) }
    }

    /// Over a new link the agent repeats open questions, and the settlement of those answered meanwhile.
    mutating func askAgain(_ index: Int, _ bridge: inout Bridge) {
        guard let asking = plan.messages[index].script.asking, let known = asked[index], let run = progress[index]?.run,
            progress[index]?.aborted == false
        else { return }
        if known.answer != nil {
            settle(asking.question.id, .answered, index, &bridge)
            asked[index]?.isOver = true
        } else if !known.isOver {
            let signal = RunSignal(
                run: run, session: AgentSession("chat-\(plan.messages[index].chat)"), event: .asked(asking.question))
            bridge.agentSays(signal, at: now)
        }
    }

    // MARK: The person

    /// Whether the phone shows the whole question, or nil once the bubble has ended.
    private func phoneShows(_ question: Question, _ known: Progress) -> Bool? {
        let bubble = bubble(known.session, known.interaction)
        guard bubble?.isFinal != true else { return nil }
        return bubble?.streamed.contains(question.title) == true && bubble?.streamed.hasSuffix(Self.hint) == true
    }

    private func bubble(_ session: String, _ interaction: String) -> PhoneMessage? {
        let messages = relay.sessions.first { $0.id == session }?.messages ?? []
        return messages.first { $0.role == .agent && $0.interaction == interaction }
    }

    mutating func reply(_ index: Int, _ number: Int, _ bridge: inout Bridge) {
        guard let asking = plan.messages[index].script.asking, let known = progress[index],
            asking.replies.indices.contains(number)
        else { return }
        // The person writes a second reply without looking again.
        if number == 0 {
            guard let isShown = phoneShows(asking.question, known) else { return }
            guard isShown else { return schedule(.replies(index, 0), after: .milliseconds(100)) }
        }
        let text = asking.replies[number].text
        guard number == 0 || phoneShows(asking.question, known) == true || asking.replies[0].text == "2" else { return }
        let sent = relay.userSends(text: text, session: known.session, at: moment)
        let interaction = InteractionID(sent.interaction)
        asked[index]?.replies[sent.interaction] = text
        repliesByTurn[TurnID(sent.interaction)] = index
        if known.stopped { asked[index]?.afterStop.insert(TurnID(sent.interaction)) }
        let opening = TurnOpening(
            id: TurnID(sent.interaction), session: SessionID(sent.session), interaction: interaction,
            agentSession: AgentSession("chat-\(plan.messages[index].chat)"), run: RunID("run-\(sent.interaction)"),
            message: UserMessage(
                id: MessageID(sent.message), session: SessionID(sent.session), interaction: interaction, text: text),
            receivedAt: now, windowEnds: now + .seconds(1_800))
        bridge.turnBegins(opening, at: now)
        if number == 0, let after = asking.stopsAfterReply { schedule(.stops(index), after: after) }
        guard number + 1 < asking.replies.count else { return }
        schedule(.replies(index, number + 1), after: asking.replies[number + 1].after)
    }

    /// A reply long after the question closed, or after Stop, is an ordinary message to the agent.
    mutating func takesReplyForMessage(_ turn: TurnID, _ run: RunID) {
        guard let index = repliesByTurn[turn] else { return }
        if asked[index]?.isOver == false, asked[index]?.afterStop.contains(turn) == false {
            violation("a reply to the question of message \(index) was handed over")
        }
        schedule(.endsReply(turn, run), after: .milliseconds(20))
    }

    // MARK: The judge

    mutating func judgeQuestion(_ index: Int, _ known: Progress) {
        guard let asking = plan.messages[index].script.asking, let asked = asked[index] else { return }
        let outcomes = asked.replies.keys.map { bubble(known.session, $0) }
        for (bubble, text) in zip(outcomes, asked.replies.values) where bubble?.isFinal != true {
            violation("the reply \(text) to message \(index) was never ended")
        }
        let taken = outcomes.filter { $0?.text.hasPrefix("Answered: ") == true }.count
        if taken > 1 { violation("message \(index) says twice that it was answered") }
        if taken == 1, asked.answer == nil { violation("message \(index) was never answered, and says so") }
        guard asking.replies.first?.text == "9", let first = asked.replies.first(where: { $0.value == "9" }),
            let said = bubble(known.session, first.key)?.text
        else { return }
        if said.hasPrefix("Answered") { violation("9 was taken for an option") }
    }

    /// Words of the end that the agent said. White space around a question comes from the bridge.
    func ownWords(of text: String, _ index: Int) -> [Substring] {
        guard let asking = plan.messages[index].script.asking else { return text.split(whereSeparator: \.isWhitespace) }
        let block = "\(asking.question.title)\n\n1. red\n2. blue\n3. none\n\n\(Self.hint)"
        let lines = [
            "Answered: blue", "The question was declined.", "The question was not answered in time.",
            "The question was answered elsewhere.", "The run ended before the question was answered.",
        ]
        let others = text.replacing(block, with: "").split(separator: "\n\n").filter { !lines.contains(String($0)) }
        return others.flatMap { $0.split(whereSeparator: \.isWhitespace) }
    }
}
