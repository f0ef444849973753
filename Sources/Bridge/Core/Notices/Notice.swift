package import Vocabulary

/// The kinds of events that a notice reports.
package enum NoticeEvent: String, Hashable, Sendable, CaseIterable {
    /// A run failed, was lost, or its message never reached the agent.
    case failed
    /// An ask or a question of the agent's waits for a person.
    case waiting
    /// A run gives no sign of life.
    case stuck
    /// A run ended.
    case ended

    /// Services with five grades call 4 "high", and 3 is their default.
    var priority: Int {
        switch self {
        case .failed, .waiting: 4
        case .stuck, .ended: 3
        }
    }

    /// Quiet hours postpone these events, and drop the others.
    var outlastsQuiet: Bool { self == .failed || self == .waiting }
}

/// Words of a chat in the open. A sealed chat has none.
package struct NoticeWords: Hashable, Sendable {
    package var workspace: String?
    /// The first words of the message that began the run.
    package var chat: String?
    /// The ask or the question, on one line.
    package var wants: String?

    package init(workspace: String? = nil, chat: String? = nil, wants: String? = nil) {
        self.workspace = workspace
        self.chat = chat
        self.wants = wants
    }

    private static let chatLimit = 80
    private static let wantsLimit = 200
    /// Scalars of a long text that are read for one line.
    private static let lookedAt = 2_000

    package static func chat(_ text: String) -> String? { line(text, atMost: chatLimit) }
    static func wants(_ text: String) -> String? { line(text, atMost: wantsLimit) }

    /// A card's text is escaped already: only its blanks are joined.
    static func wants(ofCard text: String) -> String? {
        let pieces = text.unicodeScalars.split(whereSeparator: VisibleText.isBlank)
        return cut(pieces.map { String($0) }.joined(separator: " "), atMost: wantsLimit)
    }

    private static func line(_ text: String, atMost limit: Int) -> String? {
        cut(VisibleText.line(String(String.UnicodeScalarView(text.unicodeScalars.prefix(lookedAt)))), atMost: limit)
    }

    private static func cut(_ line: String, atMost limit: Int) -> String? {
        line.isEmpty ? nil : TextCut.marked(line, atMost: limit)
    }
}

/// One event of a notice.
package struct NoticeItem: Hashable, Sendable {
    /// An id that no other event has.
    package var id: String
    package var event: NoticeEvent
    package var turn: TurnID
    /// The name of the ask or the question that waits.
    package var matter: String?
    package var chat: SessionID
    /// Nil if the chat is sealed, or the notice was delivered.
    package var words: NoticeWords?
    package var isSealed: Bool
    /// The moment of the event, in milliseconds since 1970.
    package var wall: Int64

    package init(
        id: String, event: NoticeEvent, turn: TurnID, matter: String? = nil, chat: SessionID, words: NoticeWords?,
        isSealed: Bool, wall: Int64
    ) {
        self.id = id
        self.event = event
        self.turn = turn
        self.matter = matter
        self.chat = chat
        self.words = words
        self.isSealed = isSealed
        self.wall = wall
    }

    var key: WaitingName? { matter.map { WaitingName(turn: turn, matter: $0) } }

    mutating func seal() { (isSealed, words) = (true, nil) }
}

/// One message to the recipient, about one event, or about all that waited for the end of the quiet hours.
package struct Notice: Hashable, Sendable {
    package var id: String
    package var items: [NoticeItem]
    /// Failed tries.
    package var failures = 0
    /// The moment of the next try, or nil if the next chance will do.
    package var next: Instant?
    /// The notice waits for the end of the quiet hours.
    package var isHeld = false
    /// Delivered or dropped, and kept so that its event gets no second notice.
    package var isSettled = false

    package init(
        id: String, items: [NoticeItem], failures: Int = 0, next: Instant? = nil, isHeld: Bool = false,
        isSettled: Bool = false
    ) {
        self.id = id
        self.items = items
        self.isHeld = isHeld
        self.failures = failures
        self.next = next
        self.isSettled = isSettled
    }

    init(_ item: NoticeItem) { self.init(id: item.id, items: [item]) }

    /// The id of a gathering is made from the ids of its events.
    static func gathering(_ items: [NoticeItem]) -> Notice {
        items.count == 1
            ? Notice(items[0])
            : Notice(id: StableHash.text(of: "gathered " + items.map(\.id).joined(separator: " ")), items: items)
    }

    package var event: NoticeEvent {
        items.contains { $0.event == .waiting } ? .waiting : items.first?.event ?? .ended
    }
    package var isSealed: Bool { items.contains(where: \.isSealed) }
    package var chats: Set<SessionID> { Set(items.map(\.chat)) }
}

/// News of a notice, or of one try. Constant words and codes alone.
package enum NoticeNews: Hashable, Sendable {
    case told(id: String, NoticeEvent, tries: Int)
    case failed(id: String, NoticeEvent, reason: String, retryIn: Duration)
    case dropped(id: String, NoticeEvent, tries: Int, reason: String)
}

/// Counts since the process began.
package struct NoticeFigures: Hashable, Sendable {
    package var told = 0
    package var dropped = 0
    /// Notices that are not delivered yet.
    package var waiting = 0
}
