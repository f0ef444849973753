package import Vocabulary

// Messages as answers to questions (DESIGN.md#questions). A question of the chat that a person can have read takes the next message. So
// does the end of one that no person can have read yet, with a line that the message was too late.
extension Bridge {
    /// Routes the message of this turn to the question that it answers, if there is one, and past the queue. Decided as soon as the
    /// message can be read: while its files are fetched, a question may be asked that it does not answer. True if the message went to a
    /// question, or was too late for one.
    mutating func routeAnswer(_ id: TurnID, to recorded: QuestionID? = nil, at now: Instant) -> Bool {
        guard let turn = entries[id]?.turn, turn.mayAnswer, let message = turn.opening.message,
            !turn.opening.cameInTheOpen
        else { return false }
        let chat = entries.values.filter {
            $0.turn.opening.session == turn.opening.session && !$0.turn.agent.questions.all.isEmpty
        }.map(\.turn)
        if let known = chat.first(where: { $0.answer(of: id) != nil }), let asked = known.answer(of: id) {
            // The record of this turn was lost, that of the asker was not.
            leaveQueue(id, at: now)
            change(id, at: now) { $0.answers(asked.question.id, of: known.opening.id) }
            if asked.isOver { change(id, at: now) { $0.answerEnded(.taken(asked.words), at: now) } }
            return true
        }
        if let recorded, let asking = chat.first(where: { $0.hasOpen(recorded) }) {
            guard let question = asking.agent.questions[recorded]?.question else { return false }
            answer(question, of: asking.opening.id, with: message, from: id, at: now)
            return true
        }
        let asking = chat.filter { openQuestion(of: $0) != nil }
            .max { $0.opening.receivedAt < $1.opening.receivedAt }
        if let asking, let question = openQuestion(of: asking) {
            answer(question, of: asking.opening.id, with: message, from: id, at: now)
            return true
        }
        // An update may be long on its way: the relay keeps it while the bridge is away.
        let written = turn.opening.made?.instant ?? turn.opening.receivedAt
        let isLate =
            chat.contains(where: \.hasUnseenQuestionEnd)
            || chats.showedQuestion(in: turn.opening.session, at: written)
        guard isLate else { return false }
        leaveQueue(id, at: now)
        change(id, at: now) { $0.isNoAnswer(Sentences.answerTooLate, at: now) }
        return true
    }

    func openQuestion(of turn: Turn) -> Question? {
        turn.openQuestion(streamed: delivery.streamed(of: turn.opening.id))
    }

    private mutating func answer(
        _ question: Question, of asker: TurnID, with message: UserMessage, from id: TurnID, at now: Instant
    ) {
        leaveQueue(id, at: now)
        let reason = "the answer to a question is its text alone"
        change(id, at: now) { $0.filesLeftOut(message.attachments.map { .notPassedOn($0.plainName, reason) }) }
        switch AnswerReading(message.text, to: question) {
        case .misfit(let line): change(id, at: now) { $0.isNoAnswer(line, at: now) }
        case .answer(let answer, let words):
            change(id, at: now) { $0.answers(question.id, of: asker) }
            // Kept before the answer leaves: the next process must not take this message for one to the agent.
            if keeping.isJournaled { keep(id, .synced) }
            change(asker, at: now) { $0.answered(question.id, by: id, answer, words: words) }
        }
    }

    private mutating func leaveQueue(_ id: TurnID, at now: Instant) {
        if let session = entries[id]?.turn.opening.agentSession { agent.queues[session]?.left(id) }
    }

    /// A message that answers was stopped: it is taken back if it has not left.
    mutating func withdrawAnswer(_ question: QuestionID, of asker: TurnID, from id: TurnID, at now: Instant) {
        let isOwed = entries[asker]?.turn.answer(of: id)?.isOwed ?? true
        guard gate.withdraw(answerTo: question) || isOwed else { return }
        change(asker, at: now) { $0.answerTakenBack(question) }
        change(id, at: now) { $0.answerWithdrawn(at: now) }
    }

    /// After a restart: settles messages whose question did not get them, because only one of the two records was written.
    mutating func settleAnswers(at now: Instant) {
        for id in entries.keys.sorted() {
            guard let turn = entries[id]?.turn, case .answering(let question, let asker) = turn.phase else { continue }
            let asking = entries[asker]?.turn
            if asking?.answer(of: id)?.isOver == false { continue }
            if let text = turn.opening.message?.text, let asking, asking.hasOpen(question),
                let open = asking.agent.questions[question]?.question
            {
                if case .answer(let answer, let words) = AnswerReading(text, to: open) {
                    change(asker, at: now) { $0.answered(question, by: id, answer, words: words) }
                    continue
                }
            }
            let end = asking?.answer(of: id).map { AnswerEnd.taken($0.words) } ?? .tooLate
            change(id, at: now) { $0.answerEnded(end, at: now) }
        }
    }
}

extension Bridge {
    /// Whether the question is open, seen by a person or not.
    package func isOpen(_ question: QuestionID, in chat: SessionID) -> Bool {
        entries.values.contains { $0.turn.opening.session == chat && $0.turn.hasOpen(question) }
    }
}

extension Turn {
    fileprivate func hasOpen(_ question: QuestionID) -> Bool {
        outcome == nil && agent.questions[question]?.state == .open
    }

    /// The question that the message of `answerer` answers.
    func answer(of answerer: TurnID) -> QuestionLedger.Asked? {
        agent.questions.all.first { $0.answerer == answerer }
    }
}
