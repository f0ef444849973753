import Vocabulary

/// How a chat is, in a line of the list of `/bridge status` (DESIGN.md#silence).
struct ChatStanding: Hashable, Sendable {
    /// Those that want a person first.
    enum Urgency: Int, Hashable, Comparable, Sendable {
        case asks, silent, works, waits

        static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    var urgency: Urgency
    var since: Instant
    /// The chat's first words, where the reader may have them.
    var place: String
    /// What it does and since when.
    var state: String
}

extension Bridge {
    /// Each chat with its most urgent turn. No word of a sealed chat leaves it: its key may be another one than the reader's.
    func standings(for reader: TurnOpening, at now: Instant) -> [ChatStanding] {
        var chats: [SessionID: ChatStanding] = [:]
        for (id, entry) in entries where id != reader.id {
            guard let standing = entry.turn.standing(for: reader.session, at: now) else { continue }
            let chat = entry.turn.opening.session
            if let known = chats[chat], (known.urgency, known.since) <= (standing.urgency, standing.since) { continue }
            chats[chat] = standing
        }
        return chats.sorted { ($0.value.urgency, $0.value.since, $0.key) < ($1.value.urgency, $1.value.since, $1.key) }
            .map(\.value)
    }
}

extension Turn {
    fileprivate func standing(for reader: SessionID, at now: Instant) -> ChatStanding? {
        switch phase {
        case .answering, .over, .closed: return nil
        case .awaitingKey, .fetching, .waiting, .handedOver, .running, .holding, .asking, .searching: break
        }
        let isOwn = opening.session == reader
        var wait = wait
        if opening.sealing.isSealed, !isOwn, case .tool(_, let began) = wait { wait = .tool("a tool", since: began) }
        let place = isOwn ? "this chat" : opening.sealing.isSealed ? "a sealed chat" : firstWords
        let silent = now - silence.heardAt
        let isSilent = wait.mayBeStuck && silent >= settings.quiet ?? .seconds(5 * 60)
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
        let state: String
        switch wait {
        case .unknown where phase == .awaitingKey: state = "waits for its key, for \(Self.span(now - since))"
        case .unknown where !isSilent: state = "works, for \(Self.span(now - since))"
        case .unknown where silence.isStuckTold: state = "still nothing, for \(Self.span(now - since))"
        case .unknown, .tool: state = words(of: wait, at: now)
        case .person, .run, .files, .link, .retry, .compaction:
            state = "\(words(of: wait, at: now)), for \(Self.span(now - since))"
        }
        return ChatStanding(urgency: urgency, since: since, place: place, state: state)
    }

    /// Of the message that runs: what the chat was called is known to the phone alone.
    private var firstWords: String {
        guard let message = opening.message else { return "a run that the agent began" }
        let words = message.text.split(whereSeparator: \.isWhitespace).prefix(8).joined(separator: " ")
        guard !words.isEmpty else { return "a message with files" }
        return "\u{201C}\(TextCut.marked(VisibleText.line(words), atMost: 60))\u{201D}"
    }
}
