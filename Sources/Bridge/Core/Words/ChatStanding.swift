package import Vocabulary

/// The state of a chat, as a line in the list of `/bridge status` (DESIGN.md#silence).
struct ChatStanding: Hashable, Sendable {
    /// The sort order of chats: asks precede everything else.
    enum Urgency: Int, Hashable, Comparable, Sendable {
        case asks, silent, works, waits

        static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    var urgency: Urgency
    var since: Instant
    /// The chat's first words, if the reader may have them.
    var place: String
    /// The chat's activity, and since when.
    var state: String
}

/// The state of a chat without a word of it, for `status` and `top`.
package struct ChatFigure: Hashable, Sendable {
    package enum State: String, Hashable, Sendable {
        case asks, key, files, away, tool, retry, compaction, works, silent
        case behindRun = "behind_run"
    }

    /// The chat's session, or nil if the chat is sealed.
    package var chat: SessionID?
    package var state: State
    package var since: Instant

    package init(chat: SessionID?, state: State, since: Instant) {
        (self.chat, self.state, self.since) = (chat, state, since)
    }
}

/// The state of a turn.
private struct TurnStanding {
    var wait: RunWait
    var urgency: ChatStanding.Urgency
    var since: Instant
    var isSilent: Bool
}

extension Bridge {
    /// Each chat with its most urgent turn. No word of a sealed chat leaves it: the reader may have another key.
    func standings(for reader: TurnOpening, at now: Instant) -> [ChatStanding] {
        urgentTurns(besides: reader.id, at: now).map { $0.turn.words(of: $0.standing, for: reader.session, at: now) }
    }

    func chatFigures(at now: Instant) -> [ChatFigure] {
        urgentTurns(besides: nil, at: now).map { $0.turn.figure(of: $0.standing) }
    }

    private func urgentTurns(besides reader: TurnID?, at now: Instant) -> [(turn: Turn, standing: TurnStanding)] {
        var chats: [SessionID: (turn: TurnID, standing: TurnStanding)] = [:]
        for (id, entry) in entries where id != reader {
            guard let standing = entry.turn.standing(at: now) else { continue }
            let chat = entry.turn.opening.session
            if let known = chats[chat]?.standing,
                (known.urgency, known.since) <= (standing.urgency, standing.since)
            {
                continue
            }
            chats[chat] = (id, standing)
        }
        let sorted = chats.sorted {
            ($0.value.standing.urgency, $0.value.standing.since, $0.key)
                < ($1.value.standing.urgency, $1.value.standing.since, $1.key)
        }
        return sorted.compactMap { chat in
            entries[chat.value.turn].map { (turn: $0.turn, standing: chat.value.standing) }
        }
    }
}

extension Turn {
    /// The turn's standing, or nil in the phases that follow its run.
    fileprivate func standing(at now: Instant) -> TurnStanding? {
        switch phase {
        case .answering, .over, .closed: return nil
        case .awaitingKey, .fetching, .waiting, .handedOver, .running, .holding, .asking, .searching: break
        }
        let wait = wait
        let isSilent = wait.mayBeStuck && now - silence.heardAt >= settings.quiet ?? .seconds(5 * 60)
        let urgency: ChatStanding.Urgency =
            switch wait {
            case .person: .asks
            case .run, .files: .waits
            case .retry, .compaction, .unknown: isSilent ? .silent : .works
            case .link, .tool: .works
            }
        let since =
            switch wait {
            case .person: openAsks.map(\.since).min() ?? silence.heardAt
            case .tool(_, let began): began ?? silence.heardAt
            case .retry, .compaction, .unknown: isSilent ? silence.heardAt : opening.receivedAt
            case .run, .files, .link: opening.receivedAt
            }
        return TurnStanding(wait: wait, urgency: urgency, since: since, isSilent: isSilent)
    }

    fileprivate func figure(of standing: TurnStanding) -> ChatFigure {
        let state: ChatFigure.State =
            switch standing.wait {
            case .person: .asks
            case .run: .behindRun
            case .files: .files
            case .link: .away
            case .tool: .tool
            case .retry: .retry
            case .compaction: .compaction
            case .unknown where phase == .awaitingKey: .key
            case .unknown: standing.isSilent ? .silent : .works
            }
        return ChatFigure(
            chat: opening.sealing.isSealed ? nil : opening.session, state: state, since: standing.since)
    }

    fileprivate func words(of standing: TurnStanding, for reader: SessionID, at now: Instant) -> ChatStanding {
        let (since, isSilent) = (standing.since, standing.isSilent)
        let isOwn = opening.session == reader
        var wait = standing.wait
        if opening.sealing.isSealed, !isOwn, case .tool(_, let began) = wait { wait = .tool("a tool", since: began) }
        let place = isOwn ? "this chat" : opening.sealing.isSealed ? "a sealed chat" : firstWords
        let state: String
        switch wait {
        case .unknown where phase == .awaitingKey: state = "waits for its key, for \(Self.span(now - since))"
        case .unknown where !isSilent: state = "works, for \(Self.span(now - since))"
        case .unknown where silence.isStuckTold: state = "still nothing, for \(Self.span(now - since))"
        case .unknown, .tool: state = words(of: wait, at: now)
        case .person, .run, .files, .link, .retry, .compaction:
            state = "\(words(of: wait, at: now)), for \(Self.span(now - since))"
        }
        return ChatStanding(urgency: standing.urgency, since: since, place: place, state: state)
    }

    /// First words of the message that runs. The phone alone knows the name of the chat.
    private var firstWords: String {
        guard let message = opening.message else { return "a run that the agent began" }
        let words = message.text.split(whereSeparator: \.isWhitespace).prefix(8).joined(separator: " ")
        guard !words.isEmpty else { return "a message with files" }
        return "\u{201C}\(TextCut.marked(VisibleText.line(words), atMost: 60))\u{201D}"
    }
}
