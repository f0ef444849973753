import BridgeCore
import Vocabulary

/// What a chat has of its own, as the journal keeps it: a setting of the connection.
enum HomeRecord {
    private static let version = 1
    private static let prefix = "home:"

    private struct Content: Codable {
        var version: Int
        var base: String
        var session: String
        var workspace: String?
    }

    static func isRecord(_ name: String) -> Bool { name.hasPrefix(prefix) }

    /// Nil: nothing is left of it.
    static func entry(of chat: SessionID, _ home: ChatHome?) -> JournalEntry {
        guard let home else { return .setting(name: prefix + chat.text, value: nil) }
        let content = Content(
            version: version, base: home.base.text, session: home.session.text, workspace: home.workspace)
        return .setting(name: prefix + chat.text, value: SettingRecord.bytes(of: content))
    }

    /// Nil for a setting that is something else, or cannot be read.
    static func home(name: String, value: [UInt8]) -> (chat: SessionID, home: ChatHome)? {
        guard name.hasPrefix(prefix), let content = SettingRecord.read(Content.self, value),
            content.version <= version
        else { return nil }
        let home = ChatHome(
            base: AgentSession(content.base), session: AgentSession(content.session), workspace: content.workspace)
        return (SessionID(String(name.dropFirst(prefix.count))), home)
    }
}
