package import Vocabulary

/// An ask or a question within its turn.
package struct WaitingName: Hashable, Sendable {
    package var turn: TurnID
    package var matter: String

    package init(turn: TurnID, matter: String) {
        self.turn = turn
        self.matter = matter
    }
}

/// An ask or a question that waits for a person.
package struct WaitingMatter: Hashable, Sendable {
    package var name: WaitingName
    package var chat: SessionID
    package var since: Instant
    package var words: NoticeWords
    package var isSealed: Bool

    package init(name: WaitingName, chat: SessionID, since: Instant, words: NoticeWords, isSealed: Bool) {
        self.name = name
        self.chat = chat
        self.since = since
        self.words = words
        self.isSealed = isSealed
    }
}

// Contents of notices.
extension Bridge {
    package func waitingMatters() -> [WaitingMatter] {
        entries.values.filter(\.turn.hasOpenAsks).flatMap { entry in
            entry.turn.waitingMatters(in: workspace(of: entry.turn.opening.session))
        }.sorted { ($0.since, $0.name.turn, $0.name.matter) < ($1.since, $1.name.turn, $1.name.matter) }
    }

    /// Openings of the open turns.
    package var openings: [TurnOpening] {
        entries.values.map(\.turn.opening).sorted { ($0.receivedAt, $0.id) < ($1.receivedAt, $1.id) }
    }

    /// Nil if the workspace has no name, or the agent has no workspaces.
    package func workspace(of chat: SessionID) -> String? {
        chats.homes[chat]?.workspace ?? settings.words.workspaces?.standard.name
    }

    package func chat(of interaction: InteractionID) -> SessionID? {
        entries.values.first { $0.turn.opening.isNamed(interaction) }?.turn.opening.session
    }

    package func chat(ofCard card: ApprovalID) -> SessionID? {
        entries.values.first { $0.turn.knows(card: card) }?.turn.opening.session
    }
}

extension Turn {
    fileprivate func waitingMatters(in workspace: String?) -> [WaitingMatter] {
        guard outcome == nil else { return [] }
        let chat = opening.sealing.isSealed ? nil : opening.message.flatMap { NoticeWords.chat($0.text) }
        let asks = approvals.order.compactMap { id -> WaitingMatter? in
            guard let approval = approvals.approvals[id], approval.state == .open else { return nil }
            let card = approval.cards.card
            return matter(
                "ask \(id)", since: approval.cards.life.askedAt,
                NoticeWords(
                    workspace: workspace, chat: chat, wants: NoticeWords.wants(ofCard: card.command ?? card.title)))
        }
        let questions = agent.questions.all.filter { $0.state == .open }.compactMap { asked in
            let question = asked.question
            return matter(
                "question \(question.id)", since: asked.life.askedAt,
                NoticeWords(
                    workspace: workspace, chat: chat,
                    wants: NoticeWords.wants(question.title) ?? NoticeWords.wants(question.message)))
        }
        return asks + questions
    }

    /// Nil if there is no moment: no phone has seen the question yet.
    private func matter(_ name: String, since: Instant?, _ words: NoticeWords) -> WaitingMatter? {
        since.map {
            WaitingMatter(
                name: WaitingName(turn: opening.id, matter: name), chat: opening.session, since: $0, words: words,
                isSealed: opening.sealing.isSealed)
        }
    }
}
