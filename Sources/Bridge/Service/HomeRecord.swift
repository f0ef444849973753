import BridgeCore
import Vocabulary

/// Journal record of a chat's own session and workspace: a setting of the connection.
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

    /// An entry with nil deletes the record.
    static func entry(of chat: SessionID, _ home: ChatHome?) -> JournalEntry {
        guard let home else { return .setting(name: prefix + chat.text, value: nil) }
        let content = Content(
            version: version, base: home.base.text, session: home.session.text, workspace: home.workspace)
        return .setting(name: prefix + chat.text, value: SettingRecord.bytes(of: content))
    }

    /// Nil if the setting is another one, or its record cannot be read.
    static func home(name: String, value: [UInt8]) -> (chat: SessionID, home: ChatHome)? {
        guard name.hasPrefix(prefix), let content = SettingRecord.read(Content.self, value),
            content.version <= version
        else { return nil }
        let home = ChatHome(
            base: AgentSession(content.base), session: AgentSession(content.session), workspace: content.workspace)
        return (SessionID(String(name.dropFirst(prefix.count))), home)
    }
}
