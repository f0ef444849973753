import Vocabulary

// Questions that need more than yes or no (DESIGN.md#questions): the turn that asks, and the turn of the message that answers.
extension Turn {
    // MARK: The turn that asks

    /// The question that the chat's next message answers. `streamed`: bytes of the preview that were tried.
    func openQuestion(streamed: Int) -> Question? {
        outcome == nil && !agent.isStopping ? agent.questions.current(streamed: streamed) : nil
    }
    /// A question has ended, and the chat does not show it yet: a message that comes now may be meant as its answer.
    var hasUnseenQuestionEnd: Bool { agent.questions.hasUnseenEnd }

    mutating func asked(_ question: Question) -> [TurnOrder] {
        let replaced =
            agent.questions.isAnother(question)
            ? settled(QuestionSettlement(id: question.id, .cancelled), asksNext: false) : []
        return replaced + take(question)
    }

    private mutating func take(_ question: Question) -> [TurnOrder] {
        let canBeShown = QuestionText.whole(question) != nil && opening.sealing.canSpeak
        switch agent.questions.asked(question, canBeShown: canBeShown, stopping: agent.isStopping) {
        case .known: return []
        case .again(let answer): return [command(answer, to: question.id)]
        case .ask: return askNext()
        case .refuseSilently: return [command(.declined, to: question.id)]
        case .refuseVisibly:
            return decline(question)
        }
    }

    /// A question that cannot be shown must not block a run of ours. In another client's run it stays open for that client.
    private mutating func decline(_ question: Question) -> [TurnOrder] {
        if leavesAsks { return [.note(.questionRefused)] + say(Sentences.questionLeft(question.title)) }
        return [command(.declined, to: question.id), .note(.questionRefused)]
            + say(Sentences.questionImpossible(question.title))
    }

    func command(_ answer: QuestionAnswer, to question: QuestionID) -> TurnOrder {
        .command(
            .answer(
                question: question, session: opening.agentSession, answer: answer,
                shown: answer == .declined ? nil : agent.questions.shown(question)))
    }

    mutating func askNext() -> [TurnOrder] {
        guard outcome == nil, let next = agent.questions.next, let words = QuestionText.whole(next) else { return [] }
        guard opening.sealing.canSpeak else { return isNotShown(next.id) }
        let (orders, sight) = show(words)
        agent.questions.shown(next.id, sight)
        return orders
    }

    /// Streams the words into the bubble if they fit behind all that it shows, or sends a message of their own.
    mutating func show(_ words: String) -> (orders: [TurnOrder], sight: QuestionLedger.Sight) {
        let (notes, grown) = bubble.notes.adding(words, behind: text.whole)
        if !bubble.isOver, !text.isTorn, preview.mayGrow(to: grown) {
            bubble.notes = notes
            let orders = moved(.changed)
            return (orders, .text(through: preview.streamed.utf8.count))
        }
        guard opening.sealing.canSpeak, !isClosed else { return ([], .seen) }
        let part = outbox.names.nextPart()
        return ([post(.message(WholeMessage(part: part, text: words)))], .message(part))
    }

    /// A message of the chat answers the question. No order if the question has ended, or while the agent is away.
    mutating func answered(
        _ question: QuestionID, by answerer: TurnID, _ answer: QuestionAnswer, words: String
    ) -> [TurnOrder] {
        guard
            agent.questions.answered(question, by: answerer, answer, words, agentAway: agent.isAway)
        else { return [] }
        return agent.isAway ? [] : [command(answer, to: question)]
    }

    /// A Stop took the message back before the answer left.
    mutating func answerTakenBack(_ question: QuestionID) -> [TurnOrder] {
        agent.questions.takenBack(question)
        return []
    }

    mutating func settled(_ settlement: QuestionSettlement, asksNext: Bool = true) -> [TurnOrder] {
        let isConfirmed = settlement.reason == .answered
        guard outcome == nil, let before = agent.questions.settled(settlement.id, isConfirmed: isConfirmed) else {
            return []
        }
        var isOurs = isConfirmed
        if case .answered = before.state {} else { isOurs = false }
        var orders: [TurnOrder] = []
        if let answerer = before.answerer {
            orders.append(.answerEnded(answerer, isOurs ? .taken(before.words) : before.end(by: settlement.reason)))
        }
        // A person who pressed Stop needs no further line.
        guard !agent.isStopping else { return orders }
        let title = before.asking == .none ? before.question.title : nil
        let (shown, sight) = show(isOurs ? Sentences.answered(before.words) : Sentences.over(settlement, title: title))
        agent.questions.endShown(settlement.id, sight)
        return orders + shown + (asksNext ? askNext() : [])
    }

    /// Declines every open question at the agent.
    mutating func declineQuestions() -> [TurnOrder] {
        agent.questions.unsettled.flatMap { id in
            let answerer = agent.questions.settled(id)?.answerer
            return [command(.declined, to: id)] + (answerer.map { [.answerEnded($0, .stopped)] } ?? [])
        }
    }

    /// Ends the open questions with their run. `line`: the sentence about them, or nil if the chat has seen none.
    mutating func endQuestions() -> (orders: [TurnOrder], line: String?) {
        let open = agent.questions.unsettled.compactMap { agent.questions.settled($0) }
        let line = open.contains { $0.asking != .none } ? Sentences.questionEnded : nil
        let ends = open.compactMap { asked in asked.answerer.map { TurnOrder.answerEnded($0, asked.undelivered) } }
        return (ends, line)
    }

    // MARK: Unanswered

    /// A deadline of an open question has come. `CardLife` applies as to an ask: the card is the question's appearance in the chat.
    mutating func isDue(_ question: QuestionID, _ due: CardLife.Due, at now: Instant) -> [TurnOrder] {
        switch due {
        case .cardIsOver:
            guard agent.questions.close(question, at: now) else { return [] }
            let isNews = agent.questions.tellsUnanswered(question)
            return [.note(.askUnanswered)] + (isNews ? show(Sentences.nobodyAnswered).orders : [])
        case .returns:
            if !agent.isAway { return [.wantsReminder(question)] }
            agent.questions.postpone(question, to: now + .seconds(300))
            return []
        case .givesUp:
            guard agent.questions.settled(question) != nil else { return [] }
            // The line about the end is due. Until the phone has it, a message counts as a late answer.
            let isOurs = !leavesAsks
            let (shown, sight) = show(isOurs ? Sentences.unansweredForGood : Sentences.questionStaysOpen)
            agent.questions.endShown(question, sight)
            return (isOurs ? [command(.declined, to: question)] : []) + shown + askNext()
        }
    }

    mutating func remind(of question: QuestionID, at now: Instant) -> [TurnOrder] {
        guard mayRemind(of: question) else { return [] }
        let part = outbox.names.nextPart()
        guard let known = agent.questions.comesBack(question, in: part, at: now), let words = QuestionText.whole(known)
        else { return [] }
        return [post(.message(WholeMessage(part: part, text: words)))]
    }

    func mayRemind(of question: QuestionID) -> Bool {
        mayAskAgain && opening.sealing.canSpeak && agent.questions.mayComeBack(question)
    }

    mutating func remindLater(of question: QuestionID, at moment: Instant) -> [TurnOrder] {
        agent.questions.postpone(question, to: moment)
        return []
    }

    // MARK: The relay's reports

    mutating func questionsAreSeen(_ name: PostName, at now: Instant) {
        switch name {
        case .text(let offset): agent.questions.streamed(through: offset, at: now)
        case .message(let part): agent.questions.delivered(part, at: now)
        case .end: agent.questions.bubbleEnded(at: now)
        case .open, .taskStarted, .taskProgress, .taskEnded, .approval: break
        }
    }

    /// The preview ended before it showed everything: the question goes out as a message.
    mutating func previewIsLost() -> [TurnOrder] {
        preview.stop()
        return outcome == nil ? textIsLost() : []
    }

    /// No post holds the bubble's text now. A question in it goes out as a message, or is declined if the turn cannot speak.
    mutating func textIsLost() -> [TurnOrder] {
        let open = agent.questions.lostText()
        guard outcome == nil, let question = open, let words = QuestionText.whole(question) else { return [] }
        guard opening.sealing.canSpeak else { return isNotShown(question.id) }
        let (orders, sight) = show(words)
        agent.questions.shown(question.id, sight)
        return orders
    }

    mutating func questionNotShown(_ name: PostName) -> [TurnOrder] {
        guard case .message(let part) = name, let asked = agent.questions.lost(part) else { return [] }
        return decline(asked.question) + askNext()
    }

    private mutating func isNotShown(_ question: QuestionID) -> [TurnOrder] {
        guard let asked = agent.questions.neverShown(question) else { return [] }
        return decline(asked.question) + askNext()
    }

    // MARK: The turn that answers

    /// The message has not gone to the agent. An answer needs none of its files.
    var mayAnswer: Bool { phase == .waiting || phase == .fetching }

    /// The message answers a question of `asker`, which passes the answer on: it leaves the queue.
    mutating func answers(_ question: QuestionID, of asker: TurnID) -> [TurnOrder] {
        guard mayAnswer else { return [] }
        phase = .answering(question, of: asker)
        deadlines.agent = nil
        deadlines.fetch = nil
        _ = agent.free()
        return []
    }

    mutating func answerEnded(_ end: AnswerEnd, at now: Instant) -> [TurnOrder] {
        guard case .answering = phase else { return [] }
        switch end {
        case .taken(let words): return conclude(.answered, line: Sentences.answered(words), at: now)
        case .tooLate: return conclude(.neverSent, line: Sentences.answerTooLate, at: now)
        case .mistaken(let words): return conclude(.neverSent, line: Sentences.mistaken(words), at: now)
        case .inDoubt: return conclude(.lost, line: Sentences.answerInDoubt, at: now)
        case .stopped: return conclude(.neverSent, line: Sentences.answerStopped, at: now)
        }
    }

    /// The message came after the question had ended, or says nothing that the agent could take.
    mutating func isNoAnswer(_ line: String, at now: Instant) -> [TurnOrder] {
        guard mayAnswer else { return [] }
        return [.note(.answerNotTaken)] + conclude(.neverSent, line: line, at: now)
    }

    /// The answer was taken back before it left.
    mutating func answerWithdrawn(at now: Instant) -> [TurnOrder] {
        guard case .answering = phase else { return [] }
        agent.isStopping = true
        return conclude(.aborted, at: now)
    }
}

/// Outcome of an answer, for the bubble of its message.
package enum AnswerEnd: Hashable, Sendable {
    /// The agent has taken the answer. Empty words decline the question.
    case taken(String)
    case tooLate
    /// The agent would have understood another option.
    case mistaken(String)
    /// The agent or this bridge went away before the answer was confirmed.
    case inDoubt
    /// A Stop came before the answer had left, or before the agent had confirmed it.
    case stopped
}
