import BridgeCore
import Vocabulary

/// Journal record of a notice: a setting of the connection. An earlier program leaves it as it is.
enum NoticeRecord {
    private static let version = 1
    private static let prefix = "notice:"

    private struct Content: Codable {
        var version: Int
        var items: [Item]
        var failures: Int
        /// Moment of the next try, in milliseconds since 1970.
        var next: Int64?
        var isHeld: Bool
        var isSettled: Bool

        enum CodingKeys: String, CodingKey {
            case version, items, failures, next
            case isHeld = "held"
            case isSettled = "settled"
        }
    }

    private struct Item: Codable {
        var id: String
        var event: String
        var turn: String
        var matter: String?
        var chat: String
        var isSealed: Bool
        var wall: Int64
        var workspace: String?
        var words: String?
        var wants: String?
        var hasWords: Bool

        enum CodingKeys: String, CodingKey {
            case id, event, turn, matter, chat, wall, workspace, words, wants
            case isSealed = "sealed"
            case hasWords = "has_words"
        }
    }

    static func entry(of notice: Notice, at time: Notices.Time) -> JournalEntry {
        let items = notice.items.map { item in
            Item(
                id: item.id, event: item.event.rawValue, turn: item.turn.text, matter: item.matter,
                chat: item.chat.text, isSealed: item.isSealed, wall: item.wall, workspace: item.words?.workspace,
                words: item.words?.chat, wants: item.words?.wants, hasWords: item.words != nil)
        }
        let next = notice.next.map { time.wall + ($0 - time.instant).nanoseconds / 1_000_000 }
        let content = Content(
            version: version, items: items, failures: notice.failures, next: next, isHeld: notice.isHeld,
            isSettled: notice.isSettled)
        return .setting(name: prefix + notice.id, value: SettingRecord.bytes(of: content))
    }

    static func entry(forgetting id: String) -> JournalEntry { .setting(name: prefix + id, value: nil) }

    /// Stored notices, oldest first.
    static func restored(_ settings: [String: [UInt8]], at time: Notices.Time) -> [Notice] {
        let notices = settings.compactMap { name, value in notice(name: name, value: value, at: time) }
        let age = { (notice: Notice) in notice.items.map(\.wall).min() ?? 0 }
        return notices.sorted { (age($0), $0.id) < (age($1), $1.id) }
    }

    /// Nil if the setting is another one, or its record cannot be read.
    private static func notice(name: String, value: [UInt8], at time: Notices.Time) -> Notice? {
        guard name.hasPrefix(prefix), let content = SettingRecord.read(Content.self, value),
            content.version <= version
        else { return nil }
        let items = content.items.compactMap { item -> NoticeItem? in
            guard let event = NoticeEvent(rawValue: item.event) else { return nil }
            let words = NoticeWords(workspace: item.workspace, chat: item.words, wants: item.wants)
            return NoticeItem(
                id: item.id, event: event, turn: TurnID(item.turn), matter: item.matter, chat: SessionID(item.chat),
                words: item.hasWords ? words : nil, isSealed: item.isSealed, wall: item.wall)
        }
        guard items.count == content.items.count, !items.isEmpty else { return nil }
        // A wall clock that was set must not put a try off beyond the longest pause.
        let wait = content.next.map { min(max(0, $0.subtractingReportingOverflow(time.wall).partialValue), 600_000) }
        return Notice(
            id: String(name.dropFirst(prefix.count)), items: items, failures: max(0, content.failures),
            next: wait.map { time.instant + .milliseconds($0) }, isHeld: content.isHeld, isSettled: content.isSettled)
    }
}
