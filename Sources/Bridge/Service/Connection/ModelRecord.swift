import BridgeCore
import Vocabulary

/// The chosen model of a chat, as the journal keeps it: a setting of the connection.
enum ModelRecord {
    private static let prefix = "model:"

    private struct Content: Codable {
        var version = 1
        var name: String?
        var fallback: String?
        var original: String?
        var said: String?
        var level: String?
        var levelBefore: String?

        enum CodingKeys: String, CodingKey {
            case version, name, fallback, original, said, level
            case levelBefore = "level_before"
        }
    }

    static func isRecord(_ name: String) -> Bool { name.hasPrefix(prefix) }

    /// An entry with nil deletes the record.
    static func entry(of session: SessionID, _ chosen: ChosenModel?) -> JournalEntry {
        let content = chosen.map {
            Content(
                name: $0.name, fallback: $0.fallback, original: $0.original, said: $0.said,
                level: $0.level?.level.rawValue, levelBefore: $0.level?.original)
        }
        return .setting(name: prefix + session.text, value: content.map { SettingRecord.bytes(of: $0) })
    }

    static func restored(_ settings: [String: [UInt8]]) -> [SessionID: ChosenModel] {
        var models: [SessionID: ChosenModel] = [:]
        for (name, value) in settings where name.hasPrefix(prefix) {
            guard let content = SettingRecord.read(Content.self, value), content.version <= 1 else {
                continue
            }
            models[SessionID(String(name.dropFirst(prefix.count)))] = ChosenModel(
                content.name, fallback: content.fallback, original: content.original, said: content.said,
                level: content.level.flatMap { ThoughtLevel(rawValue: $0) }.map {
                    ChosenLevel($0, original: content.levelBefore)
                })
        }
        return models
    }
}
